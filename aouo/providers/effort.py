"""Lowers or raises how much a model is asked to think to what its service takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from aouo.facts.languages import bundled

LADDER = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The values that services take, each some of them, from the least thought to the most."""

_FAMILIES: Mapping[str, Sequence[str]] = bundled("aouo.providers", "effort.yml")
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
    return next(
        (tuple(_FAMILIES[family]) for family in _FAMILIES if re.match(family, name)), LADDER
    )


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
