"""Tells a person what their command waits for, when it does not begin at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from aouo.facts.address import Lane
from aouo.facts.events import Album, Attached, Command, Content, Text
from aouo.facts.origins import PEOPLE
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Delivery
from aouo.outbound.outbox import Outbox
from aouo.store import deliveries, gates, jobs
from aouo.store.database import Database, Tx
from aouo.words import conversations

TOLD_AFTER_S = 0.7
"""What has begun by then needs no words; people are told within a second."""


@dataclass(slots=True, eq=False, kw_only=True)
class WaitingNotice:
    """Looks at a lane a moment after something came that its person does not expect to wait."""

    database: Database
    clock: Clock
    outbox: Outbox
    _lanes: asyncio.Queue[tuple[Lane, float]] = field(
        init=False, default_factory=asyncio.Queue[tuple[Lane, float]]
    )

    def look(self, lane: Lane) -> None:
        """Something was filed there that may have to wait."""
        self._lanes.put_nowait((lane, self.clock.monotonic_s() + TOLD_AFTER_S))

    async def run(self) -> None:
        """Look and tell, for ever."""
        while True:
            lane, due_s = await self._lanes.get()
            if (left_s := due_s - self.clock.monotonic_s()) > 0:
                await self.clock.sleep(left_s)
            now = stamp(self.clock)
            self.outbox.put(
                *await self.database.transact(lambda tx, lane=lane, now=now: _told(tx, lane, now))
            )


def _told(tx: Tx, lane: Lane, now: str) -> list[Delivery]:
    """The lines for what waits there and was not told of yet."""
    at_work, waiting = jobs.behind(tx, lane)
    rows: list[Delivery] = []
    for job_id, inbound in waiting:
        if at_work is None or inbound.origin not in PEOPLE:
            continue
        asked = gates.open_for(tx, inbound.address, inbound.person.id) is not None
        name = _command_in(inbound.content)
        key = f"behind:{job_id}"
        if not (name or asked) or isinstance(inbound.content, Text) or deliveries.has_key(tx, key):
            continue
        own = at_work.person.id == inbound.person.id
        said = conversations.waits(name, question=asked, stops=own)
        rows.append(deliveries.add(tx, inbound.address, "aside", said, now, key=key))
    return rows


def _command_in(content: Content) -> str:
    match content:
        case Command(name) | Attached(command=Command(name)) | Album(command=Command(name)):
            return name
        case _:
            return ""
