"""Fills the live messages of a turn: each is a row, created once, then edited."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Clock, Rendered, stamp
from aouo.facts.work import Delivery
from aouo.outbound.outbox import Outbox
from aouo.plumbing.shield import finish
from aouo.store import deliveries
from aouo.store.database import Database


@dataclass(frozen=True, slots=True)
class Filled:
    """What the final text finds: messages to edit (`ids`, in order) and to delete (`stale_ids`).

    `ids[at]` was being filled: those before it are complete, those after it are from before a
    restart. `text` is the part of the answer for it, `shown` the part that a person saw; "" =
    none. `drafted`: they saw it as a draft, which does not stay by itself. `edits` counts how
    often they saw it grow.
    """

    ids: tuple[int, ...] = ()
    stale_ids: tuple[int, ...] = ()
    at: int = 0
    text: str = ""
    shown: str = ""
    drafted: bool = False
    edits: int = 0

    def cut_short(self) -> Filled:
        """Return what is left to end when the answer stays incomplete; complete messages stay."""
        behind = self.ids[self.at + 1 :]
        return replace(
            self, ids=self.ids[self.at : self.at + 1], stale_ids=(*self.stale_ids, *behind)
        )


class Pages:
    """The live messages of one turn; a resumed turn fills those from before the restart."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        database: Database,
        clock: Clock,
        address: ConversationAddress,
        turn_id: str,
        reply_to: int,
        live: Sequence[Delivery],
    ) -> None:
        self._outbox = outbox
        self._database = database
        self._clock = clock
        self._address = address
        self._turn_id = turn_id
        self._reply_to = reply_to
        self._ids = [row.message_id for row in live]
        self._rows = [row.id for row in live]
        self._former = [row.message for row in live]
        self._stale: list[int] = []
        self._at = 0
        self._beginning: tuple[Delivery, asyncio.Future[Delivery]] | None = None
        self._left = False
        self._edits = 0

    @property
    def number(self) -> int:
        """The number of the message that is being filled, from 1."""
        return self._at + 1

    @property
    def former(self) -> Rendered:
        """The words on the current page from before a restart; a status line does not count."""
        row = self._former[self._at] if self._at < len(self._former) else Rendered("")
        return row if row.preview else Rendered("")

    async def show(self, message: Rendered, kept: Rendered | None = None) -> None:
        """Put `message` on the current page; the first time this sends it and waits for its id.

        `kept` is stored in its place, for a process that resumes the turn.
        """
        if self._at < len(self._ids):
            row_id, message_id = self._rows[self._at], self._ids[self._at]
            await self._database.transact(
                lambda tx: deliveries.show_live(tx, row_id, kept or message), brief=True
            )
            if message_id in self._ids:  # a tool may have sent a message below it meanwhile
                self._outbox.show(self._address, message_id, message, self.count)
            return
        if not self._ids and not self._stale:
            message = replace(message, reply_to=self._reply_to)
        now = stamp(self._clock)
        row = await self._database.transact(
            lambda tx: deliveries.add(
                tx, self._address, "live", message, now, turn_id=self._turn_id
            )
        )
        # Kept for `settle`: the message can arrive in the very moment in which we are cancelled.
        arrival = self._outbox.arrival(row)
        self._beginning = row, arrival
        self._outbox.put(row)
        self._begun(row.id, (await asyncio.shield(arrival)).message_id)

    def turn_over(self) -> None:
        """Go on to the next page, because the current one is full."""
        self._at = min(self._at + 1, len(self._ids))

    def leave_behind(self) -> None:
        """Give up the pages shown so far: another message stands below them now."""
        self._stale += self._ids
        self._ids.clear()
        self._rows.clear()
        self._former.clear()
        self._at = 0
        self._left = self._beginning is not None

    async def settle(self) -> Filled:
        """Return the messages to edit and to delete, once nothing is in flight."""
        if self._beginning:
            row, arrival = self._beginning
            if not self._outbox.withdraw(row):
                self._begun(row.id, (await finish(arrival)).message_id)
        return Filled(tuple(self._ids), tuple(self._stale), self._at, edits=self._edits)

    def count(self) -> None:
        """Count one edit of what grows, which the platform took."""
        self._edits += 1

    def _begun(self, row_id: int, message_id: int) -> None:
        self._beginning = None
        if message_id:
            if self._left:
                self._stale.append(message_id)
            else:
                self._ids.append(message_id)
                self._rows.append(row_id)
        self._left = False
