"""Answers how the turns of some days fared: slowest, failures, live edits, refused calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, timedelta
from typing import Any

from aouo.dashboard.endpoints import Day, Endpoint, NotShown, Number
from aouo.dashboard.shown import Shown
from aouo.plumbing.verbs import Facts
from aouo.store import turn_lines, turn_sums

DAYS_MAX = 3650
_SLOWEST = 10


def sums_of_turns(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoint about the turns of some days."""

    async def fared(**asked: Any) -> Facts:
        first, last = _days(shown.today, asked)
        since, until = turn_sums.between(first, last, shown.zone())
        async with shown.snapshot() as snapshot:
            sums = await snapshot.ask(turn_sums.sums(since, until))
            slowest = await snapshot.ask(turn_lines.slowest(since, until, _SLOWEST))
            tries = await snapshot.ask(turn_sums.failed_tries(since, until))
            refused = await snapshot.ask(turn_sums.refused_calls(since, until))
        redactor = shown.redactor()
        return {
            "from": first.isoformat(),
            "to": last.isoformat(),
            **asdict(sums),
            "slowest": [asdict(line) | {"reason": redactor.text(line.reason)} for line in slowest],
            "tries": [asdict(one) for one in tries],
            "refused": [asdict(one) | {"reason": redactor.text(one.reason)} for one in refused],
        }

    return (
        Endpoint(
            "GET",
            "/api/usage/turns",
            "How turns fared: the slowest, failures of models, live edits, refused calls.",
            fared,
            (
                Number("days", 1, DAYS_MAX, 7, "The last days, today included."),
                Day("from", "The first day, in place of `days`; with `to`."),
                Day("to", "The last day; with `from`."),
            ),
        ),
    )


def _days(today: date, asked: Facts) -> tuple[date, date]:
    """The first and the last day that are asked for. Raises: NotShown."""
    first, last = asked["from"], asked["to"]
    if not first and not last:
        return today - timedelta(days=asked["days"] - 1), today
    if not (first and last):
        raise NotShown("Give both from and to.")
    if first > last:
        raise NotShown("from has to be the same day as to, or one before it.")
    return first, last
