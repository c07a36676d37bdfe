"""When several short texts are one message: pure rules, no timer.

A text opens a burst or joins the open one of its person in its lane; each new text restarts
the window. A long text closes the burst at once, because its writer has said it all; a text
as long as Telegram's limit is a paste that the client split, so more may follow.
"""

from __future__ import annotations

from dataclasses import replace

from aouo.events import Inbound, Text

LONG_CHARS = 80
PASTE_UNITS = 4_000


def gathers(inbound: Inbound) -> bool:
    """Only plain text is gathered; anything else closes a burst and goes alone."""
    return isinstance(inbound.content, Text)


def closes(inbound: Inbound) -> bool:
    """Whether this text ends its burst without waiting for the window."""
    assert isinstance(inbound.content, Text)
    text = inbound.content.text
    units = len(text.encode("utf-16-le")) // 2
    return len(text) >= LONG_CHARS and units < PASTE_UNITS


def join(first: Inbound, then: Inbound) -> Inbound:
    """One inbound of both; replies go to the newest message."""
    assert isinstance(first.content, Text)
    assert isinstance(then.content, Text)
    content = Text(
        f"{first.content.text}\n{then.content.text}", first.content.about + then.content.about
    )
    return replace(
        first,
        content=content,
        message_id=then.message_id,
        addressed=first.addressed or then.addressed,
        title=first.title or then.title,
    )
