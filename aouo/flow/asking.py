"""A turn that waits on its person: asks, parks, and goes on when the answer is there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from aouo.address import ConversationAddress
from aouo.errors import ToolFailed
from aouo.outbound.outbox import Outbox
from aouo.outbound.render import render
from aouo.ports import ButtonSpec, Clock, Rendered, iso
from aouo.queue.gates import Waiting
from aouo.queue.lanes import Slot
from aouo.queue.running import Deadline
from aouo.store import deliveries, gates
from aouo.store.database import Database, Tx
from aouo.store.deliveries import Delivery
from aouo.store.gates import Gate

EXPIRES_AFTER = timedelta(hours=24)


class Asking:
    """One turn's way to ask; see `tools.registry.Asker`.

    The question is a row before it is shown, so after a crash the same call finds it again,
    answered or not. While it waits the turn holds no slot and its clock stands still.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        waiting: Waiting,
        address: ConversationAddress,
        person: str,
        turn_id: str,
        slot: Slot,
        deadline: Deadline,
    ) -> None:
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._waiting = waiting
        self._address = address
        self._person = person
        self._turn_id = turn_id
        self._slot = slot
        self._deadline = deadline

    async def ask(self, call_id: str, question: str, options: Sequence[str]) -> str:
        """Return the chosen option or the person's own words.

        Raises:
            ToolFailed: nobody answered in time, or the question was closed.
        """
        gate, row = await self._open(call_id, question, options)
        if row.state == "queued":
            self._outbox.put(row)
        if gate.state == "open":
            gate = await self._wait(gate)
        if gate.state == "answered":
            return gate.answer
        raise ToolFailed("The person did not answer; the question is closed.")

    async def _open(
        self, call_id: str, question: str, options: Sequence[str]
    ) -> tuple[Gate, Delivery]:
        now = self._clock.now()
        wanted = Gate(
            gates.new_id(),
            "clarify",
            self._address,
            self._person,
            self._turn_id,
            call_id,
            question,
            tuple(options),
            "open",
            "",
            0,
            iso(now + EXPIRES_AFTER),
        )

        def write(tx: Tx) -> tuple[Gate, Delivery]:
            gate = gates.open_gate(tx, wanted, iso(now))
            row = deliveries.add(
                tx,
                self._address,
                "msg",
                _question(gate),
                iso(now),
                turn_id=self._turn_id,
                key=f"{call_id}:question",
            )
            gates.show(tx, gate.id, row.id)
            return gate, row

        return await self._database.transact(write, durable=True)

    async def _wait(self, gate: Gate) -> Gate:
        self._deadline.pause()
        try:
            async with self._slot.parked(), asyncio.TaskGroup() as group:
                expiry = group.create_task(self._expire(gate))
                try:
                    return await self._waiting.settled(gate.id)
                finally:
                    expiry.cancel()
        finally:
            self._deadline.resume()

    async def _expire(self, gate: Gate) -> None:
        """Close the question when its time is over; an answer until then wins."""
        left = datetime.fromisoformat(gate.expires_at) - self._clock.now()
        await self._clock.sleep(max(0.0, left.total_seconds()))
        self._waiting.tell(await self._database.transact(lambda tx: _expired(tx, gate)))


def _question(gate: Gate) -> Rendered:
    part = render(gate.question)[0]
    rows = tuple(
        (ButtonSpec(label, f"choice_{gate.id}:{number}"),)
        for number, label in enumerate(gate.options)
    )
    return Rendered(part.text, part.entities, rows)


def _expired(tx: Tx, gate: Gate) -> Gate:
    gates.settle(tx, gate.id, "expired", "")
    settled = gates.get(tx, gate.id)
    assert settled is not None
    return settled
