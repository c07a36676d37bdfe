"""When several files are one message: pure rules, no timer.

A platform sends the items of an album one by one, and neither their number nor the last one is
marked. So an album is complete when nothing more of it has come for a while; what comes later is
an album of its own that says so.
"""

from __future__ import annotations

from dataclasses import replace

from aouo.events import Album, Inbound

COMPLETE_AFTER_S = 1.5


def gathers(inbound: Inbound) -> bool:
    return isinstance(inbound.content, Album)


def joins(first: Inbound, then: Inbound) -> bool:
    """Whether `then` is another item of the album that gathers in `first`."""
    a, b = first.content, then.content
    return isinstance(a, Album) and isinstance(b, Album) and a.id == b.id


def join(first: Inbound, then: Inbound) -> Inbound:
    """One inbound of both, its items in the order in which they were sent."""
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


def late(inbound: Inbound) -> Inbound:
    """An item whose album has been taken in already."""
    assert isinstance(inbound.content, Album)
    return replace(inbound, content=replace(inbound.content, late=True))
