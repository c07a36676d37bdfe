"""Waits until everything that was said is answered and every answer has left."""

from __future__ import annotations

from aouo.facts.ports import Clock
from aouo.store import deliveries, gates, jobs
from aouo.store.database import Database, Tx

_LOOK_EVERY_S = 0.05


async def idle(
    database: Database,
    clock: Clock,
    *,
    at_least: int = 0,
    asking: bool = False,
    look_every_s: float = _LOOK_EVERY_S,
) -> None:
    """Return when no job is open and no delivery waits, once `at_least` jobs have come in.

    A turn that waits for a person's answer counts as open, unless it may be `asking`.
    """

    def busy(tx: Tx) -> bool:
        open_jobs = jobs.count_by_state(tx)
        open_jobs.pop("parked", None)
        waiting = gates.open_now(tx) if asking else 0
        return (
            sum(open_jobs.values()) > waiting
            or deliveries.waiting(tx) > 0
            or jobs.count(tx) < at_least
        )

    while await database.read(busy):
        await clock.sleep(look_every_s)
