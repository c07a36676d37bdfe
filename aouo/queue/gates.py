"""Lets a turn wait for its gate: the row is durable, the waiting is one future for each gate."""

from __future__ import annotations

import asyncio

from aouo.facts.work import Gate


class Waiting:
    """The futures of this process by gate; a gate without one is settled in its row only."""

    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[Gate]] = {}

    async def settled(self, gate_id: str) -> Gate:
        """Wait until `tell` says that the gate is settled; return it."""
        future: asyncio.Future[Gate] = asyncio.get_running_loop().create_future()
        self._futures[gate_id] = future
        try:
            return await future
        finally:
            del self._futures[gate_id]

    def tell(self, gate: Gate) -> None:
        """Wake the turn that waits for this gate, whose row is settled."""
        future = self._futures.get(gate.id)
        if future and not future.done():
            future.set_result(gate)
