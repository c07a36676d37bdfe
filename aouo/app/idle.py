"""Waits until everything that was said is answered and every answer has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aouo.store import deliveries, jobs
from aouo.store.database import Tx

if TYPE_CHECKING:
    from aouo.app.wiring import App

_LOOK_EVERY_S = 0.05


async def idle(app: App, *, at_least: int = 0) -> None:
    """Return when no job is open and no delivery waits, once `at_least` jobs have come in.

    A question to a person that is not answered counts as open.
    """

    def busy(tx: Tx) -> bool:
        open_jobs = jobs.count_by_state(tx)
        open_jobs.pop("parked", None)
        return bool(open_jobs) or deliveries.waiting(tx) > 0 or jobs.count(tx) < at_least

    while await app.database.read(busy):
        await app.clock.sleep(_LOOK_EVERY_S)
