"""Decides when several files are one album: pure rules, no timer.

A platform sends the items of an album one by one, and marks neither their number nor the last one.
So an album is complete when no item of it has come for a while; an item that comes later is an
album of its own, marked `late`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Album, Inbound

COMPLETE_AFTER_S = 1.5


def gathers(inbound: Inbound) -> bool:
    """Whether further items may come; the page sends all of them at once."""
    return isinstance(inbound.content, Album) and inbound.address.platform != "web"


def joins(first: Inbound, then: Inbound) -> bool:
    """Whether `then` is another item of the album that gathers in `first`."""
    a, b = first.content, then.content
    return isinstance(a, Album) and isinstance(b, Album) and a.id == b.id


def join(first: Inbound, then: Inbound) -> Inbound:
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
        if gathers(inbound):
            self._items.append((now, inbound))

    def forget_old(self, now: datetime) -> None:
        since = now - timedelta(seconds=COMPLETE_AFTER_S)
        self._items = [(at, item) for at, item in self._items if at > since]

    def claim(self, inbound: Inbound) -> Inbound:
        """Return an item that is ours joined with the held items of its album."""
        for kept in [item for _, item in reversed(self._items) if _same(item, inbound)]:
            self._items = [(at, item) for at, item in self._items if item is not kept]
            inbound = replace(join(kept, inbound), addressed=True)
        return inbound


def _same(one: Inbound, other: Inbound) -> bool:
    """Whether both are items of the same album, by one person in one conversation."""
    return joins(one, other) and _place(one) == _place(other)


def _place(inbound: Inbound) -> tuple[ConversationAddress, str]:
    return inbound.address, inbound.person.id


def late(inbound: Inbound) -> Inbound:
    """Mark an item as late: its album is complete already."""
    assert isinstance(inbound.content, Album)
    return replace(inbound, content=replace(inbound.content, late=True))
