"""Reads what the page shows, on connections of their own, so that no turn waits for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from aouo.plumbing.verbs import Facts
from aouo.store import usage_report
from aouo.store.snapshots import Snapshot

DAYS_MAX = 3650


class Reads:
    """`snapshot` opens one state of the database, `day` is the local day, `health` and `status`
    say how the process is."""

    def __init__(
        self,
        *,
        snapshot: Callable[[], AbstractAsyncContextManager[Snapshot]],
        day: Callable[[], str],
        health: Callable[[], Awaitable[Facts]],
        status: Callable[[], Awaitable[Facts]],
    ) -> None:
        self._snapshot = snapshot
        self._day = day
        self.health = health
        self.status = status

    async def usage(self, days: int) -> Facts:
        """Return what was used in the last days, today included, as `aouo usage --json` does.

        Raises:
            TooMuchToRead: it takes too long.
        """
        wanted = usage_report.last_days(self._day(), days)
        facts: Facts = {"days": days}
        async with self._snapshot() as snapshot:
            for name, query in usage_report.queries(wanted).items():
                facts[name] = await snapshot.ask(query)
        return facts
