"""What a tap on a button means: one row of a table for each kind of button, and its codec.

The data stands in messages of existing chats, so a row never changes its meaning. Telegram takes
1 to 64 bytes. Longer data, and data of a model that looks like our own, is stored in the row of
the message, and the button sends a `kept` reference to it.

Source: core.telegram.org/bots/api#inlinekeyboardbutton.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from aouo.facts.languages import bundled

_MAX_BYTES = 64


@dataclass(frozen=True, slots=True)
class _Form:
    """One kind of button: its data, with a place for each value.

    `bypasses`: the tap is done at once, also while a turn runs in its lane. `asks_once`: only the
    first tap counts; a second one is told so.
    """

    wire: str
    bypasses: bool = False
    asks_once: bool = False


def _form(wire: str, *, bypasses: bool = False, answers: bool = False) -> _Form:
    return _Form(wire, bypasses or answers, answers)


FORMS = {name: _form(**row) for name, row in bundled("aouo.facts", "taps.yml").items()}
_KINDS = {
    "{id}": "([0-9A-Za-z]{1,32})",  # a ULID in either case
    "{number}": "([0-9]{1,18})",  # a longer one fits into no column
    "{text}": "(.*)",
}
_PLACE = re.compile(r"(\{\w+\})")
_HEAD = re.compile(r"(?:nav:)?[a-z]+[_:]")
_RESERVED = ("nav:cron_", "nav:memory_", "nav:session_", "nav:summary_", "nav:unsummary_")
"""Prefixes without a row: of buttons of earlier times."""


@dataclass(frozen=True, slots=True)
class Tap:
    """What a button's data means: the name of a row of `FORMS`, and its values as they stand."""

    name: str
    values: tuple[str, ...] = ()

    @property
    def bypasses(self) -> bool:
        return FORMS[self.name].bypasses

    @property
    def asks_once(self) -> bool:
        return FORMS[self.name].asks_once


def encode(name: str, *values: object) -> str:
    """Return the data of a button; `decode` is the inverse.

    Raises:
        KeyError: there is no such row.
        ValueError: it takes another number of values.
    """
    head, *tails = _PLACE.split(FORMS[name].wire)[::2]
    return head + "".join(f"{value}{tail}" for value, tail in zip(values, tails, strict=True))


def decode(data: str) -> Tap:
    """Parse the data of any button; never raises."""
    for name, pattern in _patterns():
        if found := pattern.fullmatch(data):
            return Tap(name, found.groups())
    if not data or data.startswith(_heads()):
        return Tap("old", (data,))
    if data == "menu":
        return Tap("page", ("",))
    kind, found, key = data.partition(":")
    return Tap("page", (key,)) if kind == "nav" and found else Tap("text", (data,))


_LARGEST = 10**18 - 1


def number_in(text: str) -> int | None:
    """Return the number that a button's data or a command's word is, None = it is none; one that
    is larger than any column holds is the largest."""
    if not (text.isascii() and text.isdecimal()):
        return None
    return int(text) if len(text) <= 18 else _LARGEST


def fits(data: str) -> bool:
    return 0 < len(data.encode()) <= _MAX_BYTES


def _own() -> list[tuple[str, str]]:
    """Return (name, wire form) of the rows that a pattern tells apart."""
    last = ("page", "old", "text")
    return [(name, form.wire) for name, form in FORMS.items() if name not in last]


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    parted = ((name, _PLACE.split(wire)) for name, wire in _own())
    return [
        (name, re.compile("".join(_KINDS.get(part, part) for part in parts), re.DOTALL))
        for name, parts in parted
    ]


@cache
def _heads() -> tuple[str, ...]:
    """Return the prefixes of our data; no page id of a pack may begin with one."""
    heads = {found[0] for _, wire in _own() if (found := _HEAD.match(wire))}
    return (*heads, *_RESERVED)
