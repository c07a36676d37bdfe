"""Applies a person's edit to the inbound that holds the edited message: pure rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from aouo.facts.events import Album, Attached, Command, Content, Inbound, Part, Text
from aouo.queue import bursts

Said: TypeAlias = Text | Command | Attached


def rewritten(inbound: Inbound, message_id: int, said: Said) -> Inbound | None:
    """Return `inbound` with `said` in the place of one of its messages; None = it cannot be there.

    A message that was joined with others keeps its kind: a command among texts would not be run,
    and an album holds files only.
    """
    content = _rewritten(inbound.content, message_id, said)
    return replace(inbound, content=content) if content else None


def _rewritten(content: Content, message_id: int, said: Said) -> Content | None:
    match content, said:
        case Text(parts=(_, *_) as parts), Text(text, about):
            new = Part(message_id, text, about)
            return bursts.joined(tuple(new if p.message_id == message_id else p for p in parts))
        case Text(parts=()) | Command(), _:
            return said
        case Attached(), Attached():
            return said
        case Album(items=items), Attached(item, _, command):
            known = any(one.message_id == message_id for one in items)
            new_items = tuple(item if one.message_id == message_id else one for one in items)
            own = command if len(items) == 1 else content.command
            return replace(content, items=new_items, command=own) if known else None
        case _:
            return None


def same(one: Content, other: Content) -> bool:
    """Whether both say the same: equal words, and the same files under whatever id."""
    return _said(one) == _said(other)


def files_differ(one: Content, other: Content) -> bool:
    return [unique for unique, _ in _files(one)] != [unique for unique, _ in _files(other)]


def words_of(inbound: Inbound, message_id: int) -> str:
    """Return the words or the caption of one of its messages, "" = it has none."""
    match inbound.content:
        case Text(text, _, parts):
            return next((part.text for part in parts if part.message_id == message_id), text)
        case Command(raw=raw):
            return raw
        case Attached(item):
            return item.caption
        case Album(items=items):
            return next((one.caption for one in items if one.message_id == message_id), "")
        case _:
            return ""


def _said(content: Content) -> object:
    match content:
        case Text(text):
            return text
        case Command(raw=raw):
            return raw
        case _:
            return _files(content)


def _files(content: Content) -> list[tuple[str, str]]:
    items = content.items if isinstance(content, Attached | Album) else ()
    return [(item.unique_id, item.caption) for item in items]
