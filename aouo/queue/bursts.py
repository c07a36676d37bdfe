"""When several short texts are one message: pure rules, no timer.

A text opens a burst or joins the open one of its person in its lane; each new text restarts
the window. A long text closes the burst at once, because its writer has said it all; a text
as long as Telegram's limit is a paste that the client split, so more may follow.
"""

from __future__ import annotations

from dataclasses import replace

from aouo.events import Command, Inbound, Part, Text

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
    return replace(
        first,
        content=_joined((*_parts(first, first.content), *_parts(then, then.content))),
        message_id=then.message_id,
        addressed=first.addressed or then.addressed,
        title=first.title or then.title,
    )


def rewritten(inbound: Inbound, message_id: int, said: Text | Command) -> Inbound | None:
    """`inbound` with other words for one of its messages; None = that cannot be.

    A message that was joined with others stays text: a command among them would not be one.
    """
    content = inbound.content
    if not isinstance(content, Text | Command):
        return None
    if not isinstance(content, Text) or not content.parts:
        return replace(inbound, content=said)
    if not isinstance(said, Text):
        return None
    return replace(
        inbound,
        content=_joined(
            tuple(
                Part(message_id, said.text, said.about) if part.message_id == message_id else part
                for part in content.parts
            )
        ),
    )


def words(inbound: Inbound) -> str:
    """All that was written in it."""
    match inbound.content:
        case Text(text):
            return text
        case Command(raw=raw):
            return raw
        case _:
            return ""


def words_of(inbound: Inbound, message_id: int) -> str:
    """What was written in one of its messages."""
    content = inbound.content
    parts = content.parts if isinstance(content, Text) else ()
    own = (part.text for part in parts if part.message_id == message_id)
    return next(own, words(inbound))


def _parts(inbound: Inbound, content: Text) -> tuple[Part, ...]:
    return content.parts or (Part(inbound.message_id, content.text, content.about),)


def _joined(parts: tuple[Part, ...]) -> Text:
    about = tuple(line for part in parts for line in part.about)
    return Text("\n".join(part.text for part in parts), about, parts)
