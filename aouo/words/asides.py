"""Words what the owner is told of a message that was put aside."""

from __future__ import annotations

from typing import Literal, TypeAlias

from aouo.facts.events import Inbound
from aouo.facts.ports import Rendered
from aouo.words.catalogue import say, text
from aouo.words.saying import one_line

Aside: TypeAlias = Literal["broke", "unreadable", "failed"]
"""Why a message was put aside."""


def set_aside(inbound: Inbound, why: Aside, turn_id: str) -> Rendered:
    """Return who sent it and where, and what to look at; `turn_id` "" = no turn had begun."""
    person, address = inbound.person, inbound.address
    alone = inbound.chat_kind == "private"
    where = "their private chat" if alone else f"the chat {address.chat_id}"
    return say(
        "asides.told",
        why=text(f"asides.why-{why}"),
        who=f"{one_line(person.name)}, id {person.id}" if person.name else person.id,
        where=f"{where}, topic {address.thread_id}" if address.thread_id else where,
        look=f"aouo trace {turn_id}" if turn_id else "aouo logs",
    )
