"""Says what became of a message: it may not have arrived, was refused, or was put aside."""

from __future__ import annotations

from typing import Literal, TypeAlias

from aouo.facts.events import Inbound
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.words.catalogue import say, text
from aouo.words.saying import cut, one_line

Aside: TypeAlias = Literal["broke", "unreadable", "failed"]
"""Why a message was put aside."""
_QUOTED_CHARS = 40


def may_not_have_arrived(delivery_id: int, message: Rendered) -> Rendered:
    """Return the message that another one, named by its first words, may not have arrived."""
    again = ButtonSpec(text("delivering.again"), encode("again", delivery_id))
    return say("delivering.doubt", [again], what=_named(message))


def may_not_write(chat_id: str) -> Rendered:
    """Return the note to the owner about a chat where the bot is muted."""
    return say("delivering.muted", chat=chat_id)


def set_aside(inbound: Inbound, why: Aside, turn_id: str) -> Rendered:
    """Return to the owner whose message was put aside, and what to look at.

    `turn_id` is "" if no turn had begun.
    """
    person, address = inbound.person, inbound.address
    place = "private" if inbound.chat_kind == "private" else "chat"
    where = text(f"asides.in-{place}", chat=address.chat_id)
    if address.thread_id:
        where = text("asides.topic", where=where, topic=address.thread_id)
    return say(
        "asides.told",
        why=text(f"asides.why-{why}"),
        who=f"{one_line(person.name)}, id {person.id}" if person.name else person.id,
        where=where,
        look=f"aouo trace {turn_id}" if turn_id else "aouo logs",
    )


def _named(message: Rendered) -> str:
    """Return the name of a message of ours: its first words, else its kind."""
    if words := cut(message.text, _QUOTED_CHARS):
        return text("delivering.named", words=words)
    kind = "album" if message.album else message.media.kind if message.media else "message"
    return text(f"delivering.kind-{kind}")
