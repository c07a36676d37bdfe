"""Tier 1: looks for what no honest call holds, in every text of it, also where it is encoded; pure.

A few patterns block a call that runs or fetches, since no honest one holds them; else, and with
the others, the owner is asked. None lowers what another judge says.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from aouo.facts.languages import bundled
from aouo.facts.records import Sink
from aouo.guard.prepared import Allowed, Ask, Blocked, PreparedCall, Verdict, is_attended
from aouo.guard.targets import flat

_DEPTH, _LONGEST, _TEXTS = 3, 200_000, 400
_INVISIBLE = re.compile(
    r"[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{10,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){8,}")


@dataclass(frozen=True, slots=True)
class _Heuristic:
    """One pattern, and whether a call that holds it is blocked or only asked about."""

    name: str
    hints: tuple[str, ...]
    """Small letters of which a text has to hold some, before it is looked through."""
    pattern: re.Pattern[str]
    blocks: bool = False

    def stands_in(self, text: str, small: str) -> bool:
        """Whether a text, `small` in small letters, holds it."""
        return any(hint in small for hint in self.hints) and bool(self.pattern.search(text))


def _read() -> Iterator[_Heuristic]:
    for one in bundled("aouo.guard", "policies/heuristics.yml"):
        pattern = re.compile(one["pattern"], re.IGNORECASE)
        yield _Heuristic(one["name"], tuple(one["hints"]), pattern, one.get("blocks", False))


HEURISTICS = tuple(_read())
INVISIBLE = "letters that nobody sees"
_LOOKED_AT: frozenset[Sink] = frozenset({"persist", "tell", "spend", "destroy", "admit", "run"})
_REFUSED = "Blocked: this call holds {}. Do without it."


def judge(action: PreparedCall) -> Verdict:
    """Judge a call by its texts; a person's own is theirs, and a look is judged by the addresses
    that it fetches."""
    if action.by_person:
        return Allowed("said by the person")
    text = flat(action.payload) if action.sink in _LOOKED_AT or action.labels else ""
    raised = ""
    for one in (*action.visits, *decoded(text)):
        small = one.lower()
        for heuristic in HEURISTICS:
            if not heuristic.stands_in(one, small):
                continue
            if heuristic.blocks and (action.sink == "run" or one in action.visits):
                name = heuristic.name
                return Blocked(_REFUSED.format(name), f"heuristics: {name}", "heuristics")
            raised = raised or heuristic.name
    if not raised and _INVISIBLE.search(text):
        raised = INVISIBLE
    is_others = bool(action.labels) or not is_attended(action.facts.origin)
    if not raised or action.sink in ("look", "own") or not is_others:
        return Allowed("nothing that no honest call holds")
    return Ask(f"heuristics: {raised}", "", judge="heuristics", why="holds", tier=2)


def decoded(text: str) -> list[str]:
    """Return a text as it is, without letters that nobody sees, and what is encoded in it, up to
    three times over."""
    found, newest = dict.fromkeys([text[:_LONGEST]]), [text[:_LONGEST]]
    for _ in range(_DEPTH):
        newest = [one for each in newest for one in _once(each) if one and one not in found]
        found |= dict.fromkeys(newest[: _TEXTS - len(found)])
        if not newest or len(found) >= _TEXTS:
            break
    return list(found)


def _once(text: str) -> Iterator[str]:
    if not text.isascii():
        yield _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    if "%" in text:
        yield unquote(text)
    for match in _HEX.finditer(text):
        yield _legible(bytes.fromhex(match[0]))
    for match in _BASE64.finditer(text):
        word = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        with suppress(binascii.Error, ValueError):
            yield _legible(base64.b64decode(word + "=" * (-len(word) % 4)))


def _legible(content: bytes) -> str:
    """Return bytes as text, "" = they are none."""
    text = content.decode("utf-8", "replace")
    return text if text.count("\ufffd") * 10 <= len(text) else ""
