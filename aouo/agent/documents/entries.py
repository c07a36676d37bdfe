"""What is read of feeds and calendars: their entries, and how much of them was left out."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Literal

ENTRIES_MAX, _TITLE_MAX, _UID_MAX = 500, 300, 500
_MARKUP_MAX = 20_000
_TAG = re.compile(r"</?[a-zA-Z!][^>]{0,2000}>")


class NotAFeed(ValueError):
    """What came is neither a feed nor a calendar, or takes too long; says which."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was read: `starts` and `ends` are local, `2026-03-01 09:00`, a day alone if it
    has no time, "" = none."""

    uid: str
    title: str
    link: str = ""
    starts: str = ""
    ends: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """What an address sent, its newest or next entries.

    `left_out` more are older, or later, than `ENTRIES_MAX` entries. `unread` items or series were
    not understood, or not read to their end.
    """

    kind: Literal["feed", "calendar"]
    title: str
    entries: tuple[Entry, ...]
    left_out: int = 0
    unread: int = 0


def line(text: object) -> str:
    """Return a text as one short line."""
    return cut(" ".join(str(text).split()), _TITLE_MAX)


def plain(markup: object) -> str:
    """Return the words of HTML as one short line."""
    return line(html.unescape(_TAG.sub(" ", str(markup)[:_MARKUP_MAX])))


def name(*candidates: str) -> str:
    """Return the first text that is none of nothing, as the name of an entry."""
    return cut(next(filter(None, candidates), ""), _UID_MAX)


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
