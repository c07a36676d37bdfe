"""Decides what is one message: albums, short texts, edits; pure rules, no timer.

A platform sends the items of an album one by one, and marks neither their number nor the last one.
So an album is complete when no item of it has come for a while; an item that comes later is an
album of its own, marked `late`.

A text opens a burst or joins the open one of its person in its lane; each new message restarts
the window. A long text closes the burst at once, because its writer has said it all; a text
as long as Telegram's limit is a paste that the client split, so more may follow. Files, places
and forwarded texts join the text before them, also a long one that no turn has yet.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil
from typing import TypeAlias

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Album, Attached, Command, Content, Inbound, Part, Shown, Text

COMPLETE_AFTER_S = 1.5


def gathers_album(inbound: Inbound) -> bool:
    """Whether further items may come; the page sends all of them at once."""
    return isinstance(inbound.content, Album) and inbound.address.platform != "web"


def joins_album(first: Inbound, then: Inbound) -> bool:
    """Whether `then` is another item of the album that gathers in `first`."""
    a, b = first.content, then.content
    return isinstance(a, Album) and isinstance(b, Album) and a.id == b.id


def join_album(first: Inbound, then: Inbound) -> Inbound:
    """Return one inbound of both, with the items of `first` before those of `then`."""
    a, b = first.content, then.content
    assert isinstance(a, Album)
    assert isinstance(b, Album)
    content = replace(
        a,
        items=a.items + b.items,
        about=a.about or b.about,  # each item of an album refers to the same message
        command=a.command or b.command,
    )
    return replace(
        first, content=content, message_id=then.message_id, title=first.title or then.title
    )


class Unclaimed:
    """Holds album items that are not addressed to us, as long as one that is may still come.

    Group talk that is not for us is never stored, so these items are held in memory only and are
    lost with the process; `forget_old` drops those too old to be part of an open album.
    """

    def __init__(self) -> None:
        self._items: list[tuple[datetime, Inbound]] = []

    def keep(self, inbound: Inbound, now: datetime) -> None:
        if gathers_album(inbound):
            self._items = [*self._items, (now, inbound)]

    def forget_old(self, now: datetime) -> None:
        since = now - timedelta(seconds=COMPLETE_AFTER_S)
        self._items = [(at, item) for at, item in self._items if at > since]

    def claim(self, inbound: Inbound) -> Inbound:
        """Return an item that is ours joined with the held items of its album."""
        for kept in [item for _, item in reversed(self._items) if _same(item, inbound)]:
            self._items = [(at, item) for at, item in self._items if item is not kept]
            inbound = replace(join_album(kept, inbound), addressed=True)
        return inbound


def _same(one: Inbound, other: Inbound) -> bool:
    """Whether both are items of the same album, by one person in one conversation."""
    return joins_album(one, other) and _place(one) == _place(other)


def _place(inbound: Inbound) -> tuple[ConversationAddress, str]:
    return inbound.address, inbound.person.id


def is_late(inbound: Inbound) -> Inbound:
    """Mark an item as late: its album is complete already."""
    assert isinstance(inbound.content, Album)
    return replace(inbound, content=replace(inbound.content, late=True))


_LONG_CHARS = 80
_PASTE_UNITS = 4_000


def joins_burst(first: Inbound, then: Inbound) -> bool:
    """Whether `then` may be said in one with what `first` began: texts in a row, and a text with
    the files, places and the like that its writer sends or forwards after it. A command parts
    them. On the page a message is as long as it was meant, so none waits for more."""
    begun, more = first.content, then.content
    if first.address.platform == "web":
        return False
    begins = isinstance(begun, Text) or (isinstance(begun, Album) and begun.parts)
    if isinstance(more, Attached | Album):
        return bool(begins) and not more.command and not more.items[0].is_pack
    return bool(begins) and isinstance(more, Text | Shown)


def gathers_burst(inbound: Inbound) -> bool:
    """Whether a burst begins with this: anything but a text closes it or joins it."""
    return isinstance(inbound.content, Text) and inbound.address.platform != "web"


def belongs_to_last(inbound: Inbound) -> bool:
    """Whether it also joins a text that is complete, but not asked yet: what a comment is about
    comes right behind it, however long the comment is."""
    content = inbound.content
    return isinstance(content, Attached | Album | Shown) or (
        isinstance(content, Text) and bool(content.theirs)
    )


def closes_burst(inbound: Inbound) -> bool:
    """Whether this text ends its burst without waiting for the window."""
    content = inbound.content
    if not isinstance(content, Text) or content.theirs:
        return False  # people pass several things on at once
    units = len(content.text.encode("utf-16-le")) // 2
    return len(content.text) >= _LONG_CHARS and units < _PASTE_UNITS


def follows_burst(first: Inbound, then: Inbound, window_s: float) -> bool:
    """Whether both were written within `window_s` seconds of each other.

    Their own times count, since texts that waited for us arrive together. Platforms tell whole
    seconds, so two texts may seem a second further apart than they are: in doubt they are one.
    """
    if not (first.sent_s and then.sent_s):
        return True
    return abs(then.sent_s - first.sent_s) <= ceil(window_s)


def join_burst(first: Inbound, then: Inbound) -> Inbound:
    """Return one inbound of both; replies go to the newer message."""
    parts = (*_parts(first), *_parts(then))
    both = first.content, then.content
    files = tuple(one for one in both if isinstance(one, Attached | Album))
    return replace(
        first,
        content=_with_files(files, parts) if files else _burst(parts),
        message_id=then.message_id,
        addressed=first.addressed or then.addressed,
        title=first.title or then.title,
        sent_s=then.sent_s,
    )


def _with_files(files: tuple[Attached | Album, ...], parts: tuple[Part, ...]) -> Album:
    """Return files and the messages that came with them; the newest album may go on."""
    about = dict.fromkeys(line for content in files for line in content.about)
    album = next((one.id for one in reversed(files) if isinstance(one, Album)), "")
    items = tuple(item for content in files for item in content.items)
    return Album(album, items, tuple(about), parts=parts)


def _burst(parts: tuple[Part, ...]) -> Text:
    """Return one text of several messages, which it keeps as its `parts`."""
    about = tuple(line for part in parts for line in part.about)
    return Text("\n".join(part.text for part in parts), about, parts)


def _parts(inbound: Inbound) -> tuple[Part, ...]:
    match inbound.content:
        case Text(parts=(_, *_) as parts) | Album(parts=parts):
            return parts
        case Text(text, about, theirs=theirs) | Shown(text, about, theirs):
            return (Part(inbound.message_id, text, about, theirs),)
        case _:
            return ()


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
        case Text(parts=(_, *_) as parts), Text():
            return _burst(_changed(parts, message_id, said))
        case Album(parts=(_, *_) as parts), Text():
            return replace(content, parts=_changed(parts, message_id, said))
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


def _changed(parts: tuple[Part, ...], message_id: int, said: Text) -> tuple[Part, ...]:
    new = Part(message_id, said.text, said.about, said.theirs)
    return tuple(new if part.message_id == message_id else part for part in parts)


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
        case Album(items=items, parts=parts):
            said = {part.message_id: part.text for part in parts}
            said |= {one.message_id: one.caption for one in items}
            return said.get(message_id, "")
        case _:
            return ""


def _said(content: Content) -> object:
    match content:
        case Text(text):
            return text
        case Command(raw=raw):
            return raw
        case Album(parts=parts):
            return [part.text for part in parts], _files(content)
        case _:
            return _files(content)


def _files(content: Content) -> list[tuple[str, str]]:
    items = content.items if isinstance(content, Attached | Album) else ()
    return [(item.unique_id, item.caption) for item in items]
