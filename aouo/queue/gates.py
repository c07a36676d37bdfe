"""Waiting for a human: the rows are durable, the waiting itself is one future a gate."""

from __future__ import annotations

import asyncio

from aouo.facts.work import Gate


class Waiting:
    """Who waits for which gate in this process; a gate nobody waits for is settled in its row."""

    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[Gate]] = {}

    async def settled(self, gate_id: str) -> Gate:
        """Wait until somebody tells that the gate is settled."""
        future: asyncio.Future[Gate] = asyncio.get_running_loop().create_future()
        self._futures[gate_id] = future
        try:
            return await future
        finally:
            del self._futures[gate_id]

    def tell(self, gate: Gate) -> None:
        """The gate's row is settled; wake whoever waits."""
        future = self._futures.get(gate.id)
        if future and not future.done():
            future.set_result(gate)
