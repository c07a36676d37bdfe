"""The messages that a turn fills as it runs: each a row, created once, then edited."""

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
    """What the final text finds: messages to edit, in order, and messages to take away.

    `at` says which of `ids` was being filled: those before it are whole, those after it are of a
    former life. `text` is the part of the answer that was for it, `shown` what of that a person
    saw; "" = none. With `drafted` they saw it as a draft, of which nothing stays by itself.
    """

    ids: tuple[int, ...] = ()
    stale_ids: tuple[int, ...] = ()
    at: int = 0
    text: str = ""
    shown: str = ""
    drafted: bool = False

    def cut_short(self) -> Filled:
        """What there is to end when no whole answer comes: whole messages stay as they are."""
        behind = self.ids[self.at + 1 :]
        return replace(
            self, ids=self.ids[self.at : self.at + 1], stale_ids=(*self.stale_ids, *behind)
        )


class Pages:
    """One turn's live messages. A turn that is taken up fills the messages of its former life."""

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

    @property
    def number(self) -> int:
        """Which message is being filled, from 1."""
        return self._at + 1

    @property
    def former(self) -> Rendered:
        """The words that a former life left on the current page; a status line is none."""
        row = self._former[self._at] if self._at < len(self._former) else Rendered("")
        return row if row.preview else Rendered("")

    async def show(self, message: Rendered, kept: Rendered | None = None) -> None:
        """Put `message` on the current page; the first time, that sends it and waits for its id.

        `kept` is what of it the next life shall find, if that is something else.
        """
        if self._at < len(self._ids):
            row_id, message_id = self._rows[self._at], self._ids[self._at]
            await self._database.transact(
                lambda tx: deliveries.show_live(tx, row_id, kept or message), brief=True
            )
            if message_id in self._ids:  # a tool may have spoken below it meanwhile
                self._outbox.show(self._address, message_id, message)
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
        """The current page is full; what comes next goes on another one."""
        self._at = min(self._at + 1, len(self._ids))

    def leave_behind(self) -> None:
        """Something else was said below: what is shown above cannot become the answer."""
        self._stale += self._ids
        self._ids.clear()
        self._rows.clear()
        self._former.clear()
        self._at = 0
        self._left = self._beginning is not None

    async def settle(self) -> Filled:
        """What there is to edit and to take away; nothing stays in flight."""
        if self._beginning:
            row, arrival = self._beginning
            if not self._outbox.withdraw(row):
                self._begun(row.id, (await finish(arrival)).message_id)
        return Filled(tuple(self._ids), tuple(self._stale), self._at)

    def _begun(self, row_id: int, message_id: int) -> None:
        self._beginning = None
        if message_id:
            if self._left:
                self._stale.append(message_id)
            else:
                self._ids.append(message_id)
                self._rows.append(row_id)
        self._left = False
