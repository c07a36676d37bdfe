"""Decides when several short texts are one message: pure rules, no timer.

A text opens a burst or joins the open one of its person in its lane; each new text restarts
the window. A long text closes the burst at once, because its writer has said it all; a text
as long as Telegram's limit is a paste that the client split, so more may follow.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from aouo.facts.events import Inbound, Part, Text

LONG_CHARS = 80
PASTE_UNITS = 4_000


def gathers(inbound: Inbound) -> bool:
    """Whether a burst can hold this: only plain text; anything else closes a burst. On the page a
    message is as long as it was meant, so none waits for more."""
    return isinstance(inbound.content, Text) and inbound.address.platform != "web"


def closes(inbound: Inbound) -> bool:
    """Whether this text ends its burst without waiting for the window."""
    assert isinstance(inbound.content, Text)
    text = inbound.content.text
    units = len(text.encode("utf-16-le")) // 2
    return len(text) >= LONG_CHARS and units < PASTE_UNITS


def follows(first: Inbound, then: Inbound, window_s: float) -> bool:
    """Whether both were written within `window_s` seconds of each other.

    Their own times count, since texts that waited for us arrive together. Platforms tell whole
    seconds, so two texts may seem a second further apart than they are: in doubt they are one.
    """
    if not (first.sent_s and then.sent_s):
        return True
    return abs(then.sent_s - first.sent_s) <= ceil(window_s)


def join(first: Inbound, then: Inbound) -> Inbound:
    """Return one inbound of both; replies go to the newer message."""
    assert isinstance(first.content, Text)
    assert isinstance(then.content, Text)
    return replace(
        first,
        content=joined((*_parts(first, first.content), *_parts(then, then.content))),
        message_id=then.message_id,
        addressed=first.addressed or then.addressed,
        title=first.title or then.title,
        sent_s=then.sent_s,
    )


def joined(parts: tuple[Part, ...]) -> Text:
    """Return one text of several messages, which it keeps as its `parts`."""
    about = tuple(line for part in parts for line in part.about)
    return Text("\n".join(part.text for part in parts), about, parts)


def _parts(inbound: Inbound, content: Text) -> tuple[Part, ...]:
    return content.parts or (Part(inbound.message_id, content.text, content.about),)
