"""Answers what was used and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from aouo.dashboard.endpoints import Endpoint, Number
from aouo.dashboard.shown import Shown
from aouo.plumbing.verbs import Facts
from aouo.store import usage_report

DAYS_MAX = 3650


def usage(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about usage."""

    async def of_days(days: int) -> Facts:
        """Return what `aouo usage --json` does."""
        first_day = (shown.today - timedelta(days=days - 1)).isoformat()
        facts: Facts = {"days": days}
        async with shown.snapshot() as snapshot:
            for name, query in usage_report.queries(first_day).items():
                facts[name] = await snapshot.ask(query)
        return facts

    return (
        Endpoint(
            "GET",
            "/api/usage",
            "What was used in the last days, today included: calls, tokens and USD.",
            of_days,
            (Number("days", 1, DAYS_MAX, 30, "How many days."),),
        ),
    )
