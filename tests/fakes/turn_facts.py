"""What is fixed of a turn that a test makes a call in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Person
from aouo.facts.work import Facts

_FACTS = Facts(
    "t",
    "s",
    "notes",
    "",
    0,
    session_key="s",
    tenant="",
    address=ConversationAddress("tg", "1"),
    person=Person("1"),
    origin="chat",
    chat_kind="private",
)


def facts_of(pack: str = "notes", **changes: Any) -> Facts:
    return replace(_FACTS, pack=pack, **changes)
