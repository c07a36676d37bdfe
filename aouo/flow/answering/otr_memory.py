"""Remembers what was said off the record, in this process's memory and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.facts.transcript import AssistantSaid, Message, UserSaid
from aouo.facts.work import Facts

MESSAGES_MAX = 40


class OtrMemory:
    """Session → what its last turns said off the record; the first one on the record ends it."""

    def __init__(self) -> None:
        self._said: dict[str, list[Message]] = {}

    def of(self, facts: Facts) -> Sequence[Message]:
        if not facts.off_record:
            self._said.pop(facts.session_id, None)
        return tuple(self._said.get(facts.session_id, ()))

    def add(self, facts: Facts, said: str, answer: str) -> None:
        """Remember one answered turn, if it was off the record."""
        if facts.off_record:
            kept = self._said.setdefault(facts.session_id, [])
            kept += (UserSaid(said), AssistantSaid(answer))
            del kept[:-MESSAGES_MAX]
