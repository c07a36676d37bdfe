"""Waiting for a human in the middle of a turn: a durable gate, no slot held, the clock stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta

from aouo.address import ConversationAddress
from aouo.outbound.outbox import Outbox
from aouo.ports import Clock, Rendered, iso
from aouo.queue.gates import Waiting
from aouo.queue.lanes import Slot
from aouo.queue.running import Deadline
from aouo.store import deliveries, gates, jobs
from aouo.store.database import Database, Tx
from aouo.store.deliveries import Delivery
from aouo.store.gates import Gate


class Patience:
    """One turn's way to wait; several of its calls may wait beside each other.

    The question is a row before it is shown, so after a crash the same call finds it again,
    answered or not.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        waiting: Waiting,
        address: ConversationAddress,
        turn_id: str,
        slot: Slot,
        deadline: Deadline,
    ) -> None:
        self.database = database
        self.clock = clock
        self._outbox = outbox
        self._waiting = waiting
        self._address = address
        self._turn_id = turn_id
        self._slot = slot
        self._deadline = deadline
        self._waiters = 0
        self._place = AsyncExitStack()

    def gate(self, kind: str, person: str, call_id: str, expires_after: timedelta) -> Gate:
        """A gate of this turn that asks nothing yet; only `person` may answer it."""
        expires_at = iso(self.clock.now() + expires_after)
        return Gate(
            id=gates.new_id(),
            kind=kind,
            address=self._address,
            person=person,
            turn_id=self._turn_id,
            call_id=call_id,
            question="",
            options=(),
            state="open",
            answer="",
            delivery_id=0,
            expires_at=expires_at,
        )

    def ask(self, tx: Tx, gate: Gate, card: Rendered) -> tuple[Gate, Delivery]:
        """Write the gate and its message, or find what this call wrote before a crash."""
        now = iso(self.clock.now())
        gate = gates.open_gate(tx, gate, now)
        if gate.state == "open":
            jobs.waits_for_a_person(tx, self._turn_id)
        row = deliveries.add(
            tx,
            self._address,
            "msg",
            card,
            now,
            turn_id=self._turn_id,
            key=f"{gate.call_id}:question",
        )
        gates.show(tx, gate.id, row.id)
        return gate, row

    def put(self, row: Delivery | None) -> None:
        """Have a row sent that no sender has seen."""
        if row and row.state == "queued":
            self._outbox.put(row)

    async def settled(self, gate: Gate) -> Gate:
        """The gate as it was answered, or closed when its time is over."""
        if gate.state != "open":
            return gate
        async with self._parked(), asyncio.TaskGroup() as group:
            expiry = group.create_task(self._expire(gate))
            try:
                return await self._waiting.settled(gate.id)
            finally:
                expiry.cancel()

    @asynccontextmanager
    async def _parked(self) -> AsyncGenerator[None]:
        """The first who waits parks the turn, the last one takes its place again."""
        self._waiters += 1
        if self._waiters == 1:
            self._deadline.pause()
            await self._place.enter_async_context(self._slot.parked())
        try:
            yield
        finally:
            self._waiters -= 1
            if not self._waiters:
                try:
                    await self._place.pop_all().aclose()
                finally:
                    if not self._waiters:
                        self._deadline.resume()

    async def _expire(self, gate: Gate) -> None:
        """Close the question when its time is over; an answer until then wins."""
        left = datetime.fromisoformat(gate.expires_at) - self.clock.now()
        await self.clock.sleep(max(0.0, left.total_seconds()))
        self._waiting.tell(await self.database.transact(lambda tx: _expired(tx, gate)))


def _expired(tx: Tx, gate: Gate) -> Gate:
    gates.settle(tx, gate.id, "expired", "")
    settled = gates.get(tx, gate.id)
    assert settled is not None
    return settled
