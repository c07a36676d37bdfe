"""What a tap on a button means: one row of a table for each kind of button, and its codec.

The data stands in messages of existing chats, so a row never changes its meaning. Telegram takes
1 to 64 bytes. Longer data, and data of a model that looks like our own, is stored in the row of
the message, and the button sends a `kept` reference to it.

Source: core.telegram.org/bots/api#inlinekeyboardbutton.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

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


def _answers(wire: str) -> _Form:
    """Return a button that answers a question or an offer."""
    return _Form(wire, bypasses=True, asks_once=True)


FORMS: Mapping[str, _Form] = MappingProxyType(
    {
        "pack": _Form("pack:{text}"),  # bind the conversation, as /use does
        "act": _Form("do:{text}"),  # an action of the pack that drew the message, no model
        "command": _Form("c:{text}"),  # a command line without its slash, as if it had been typed
        "choice": _answers("choice_{id}:{number}"),  # a gate, and an option from 0
        "approval": _answers("approval_{id}:{text}"),  # a gate, and the owner's answer
        "budget_raise": _answers("nav:budget_raise_{id}"),  # the turn that a budget stopped
        "budget_cheaper": _answers("nav:budget_cheaper_{id}"),
        "budget_stop": _answers("nav:budget_stop_{id}"),
        "edited": _answers("nav:edited_{number}"),  # the offer to answer an edited message
        "install_offer": _answers("nav:install_offer_{text}"),  # a pack that comes with aouo
        "install_yes": _answers("nav:install_{id}_yes"),  # the change that a card offered
        "install_no": _answers("nav:install_{id}_no"),
        "again": _answers("nav:again_{number}"),  # the delivery that may not have arrived
        "digest": _answers("nav:digest_{number}"),  # show all of what a digest told
        "data": _Form("nav:data_{id}_{text}", bypasses=True),  # whose data a pack uses here
        "person": _answers("nav:person_{id}_{text}"),  # somebody's id, and what they shall be
        "onboarding_skip": _Form("nav:onboarding_skip"),
        "kept": _Form("kept_{number}:{number}"),  # a delivery, and its button from 0, row by row
        "page": _Form("nav:{text}", bypasses=True),  # of the pack's menu, "" = the first one
        "old": _Form("{text}"),  # looks like ours and is none
        "text": _Form("{text}"),  # of a pack or a model: the tap becomes an inbound of its own
    }
)
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
