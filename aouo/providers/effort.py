"""Lowers or raises how much a model is asked to think to what its service takes."""

from __future__ import annotations

import re
from collections.abc import Sequence

LADDER = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The values that services take, each some of them, from the least thought to the most."""

_NO_LESS_THAN_LOW = LADDER[2:]
_FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    # developers.openai.com, changelog of 29 Sep 2026; dev.to/aihubmix/migrating-to-gpt-61-sol
    (r"gpt-6\.1-sol", _NO_LESS_THAN_LOW),
    # earendil-works/pi#9455 (10 Sep 2026); Argon and Neon: 18 Nov 2026
    (r"gemini-(?:3\.[78]|4)|gemini-[\d.]+-pro|gemini-flash-latest", ("low", "medium", "high")),
    # ai.google.dev/gemini-api/docs/thinking; maragudk/gai#369 (16 live probes, 2026)
    (r"gemini-3(?:\.[15])?-flash", ("minimal", "low", "medium", "high")),
    # mnfst/modelparams.dev#330 (2026)
    (r"grok-4\.6", ("low", "medium", "high", "xhigh")),
    # earendil-works/pi#3096 (2026)
    (r"mistral-small-(?:4|26)|mistral-medium-3[.-]5", ("none", "high")),
    # lobehub/lobe-chat#17267 (2026)
    (r"kimi-k3\.", ("low", "medium", "high", "max")),
    (r"kimi-k3", ("low", "high", "max")),
    # vercel/ai, @ai-sdk/anthropic 4.0.60 (22 Sep 2026): it always thinks
    (r"claude-opus-5[.-]5", _NO_LESS_THAN_LOW),
)
_LISTED = re.compile(
    r"(?:support\w*|allowed|valid|accepted|expected|permitted|must be|one of|either)\b(.*)",
    re.IGNORECASE | re.DOTALL,
)
_VALUE = re.compile(rf"\b(?:{'|'.join(LADDER)})\b", re.IGNORECASE)
_NAMED = re.compile(r"reasoning|thinking|effort", re.IGNORECASE)
_SIZES = ((0, "none"), (1_024, "low"), (8_192, "medium"))


def efforts_of(model: str) -> tuple[str, ...]:
    """Return the values that a model takes as far as its family is known, else all."""
    name = model.lower().rpartition("/")[2]
    return next((taken for family, taken in _FAMILIES if re.match(family, name)), LADDER)


def fitting(wish: str, taken: Sequence[str]) -> str:
    """Return the value to send for a wish: the lowest that is taken at or above it, else the
    highest. A number of tokens becomes the value of its size; a word of no ladder stays. "" = none.
    """
    if not wish or not taken:
        return ""
    if wish.removeprefix("-").isdecimal():
        tokens = int(wish)
        wish = "high" if tokens < 0 else next((w for most, w in _SIZES if tokens <= most), "high")
    if wish not in LADDER:
        return wish
    above = (one for one in taken if LADDER.index(one) >= LADDER.index(wish))
    return next(above, taken[-1])


def left_after(taken: Sequence[str], sent: str, refusal: str) -> tuple[str, ...]:
    """Return the values to go on with after one was refused: those that the refusal lists, else
    one step from either end of the ladder, else none."""
    listed = {
        value.lower() for tail in _LISTED.findall(refusal) for value in _VALUE.findall(tail)
    } - {sent}
    if listed - {"none"}:
        return tuple(one for one in LADDER if one in listed)
    if sent in LADDER[:2]:
        return tuple(one for one in taken if one not in LADDER[:2])
    if sent in LADDER[-2:]:
        return tuple(one for one in taken if one not in LADDER[-2:])
    return ()


def names_thinking(refusal: str) -> bool:
    """Whether a refusal that names no field is about thinking."""
    return bool(_NAMED.search(refusal))
