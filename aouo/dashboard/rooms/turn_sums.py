"""Answers how the turns of some days fared: slowest, failures, live edits, refused calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from aouo.dashboard.endpoints import Endpoint
from aouo.dashboard.rooms.usage import RANGE, wanted
from aouo.dashboard.shown import Shown
from aouo.plumbing.verbs import Facts
from aouo.store import turn_lines, turn_sums

_SLOWEST = 10


def sums_of_turns(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoint about the turns of some days."""

    async def fared(**asked: Any) -> Facts:
        named, days = wanted(shown.today, asked)
        first, last = map(date.fromisoformat, days)
        since, until = turn_sums.between(first, last, shown.zone())
        async with shown.snapshot() as snapshot:
            sums = await snapshot.ask(turn_sums.sums(since, until))
            slowest = await snapshot.ask(turn_lines.slowest(since, until, _SLOWEST))
            tries = await snapshot.ask(turn_sums.failed_tries(since, until))
            refused = await snapshot.ask(turn_sums.refused_calls(since, until))
        return {
            **named,
            **asdict(sums),
            "slowest": [asdict(line) for line in slowest],
            "tries": [asdict(one) for one in tries],
            "refused": [asdict(one) for one in refused],
        }

    return (
        Endpoint(
            "GET",
            "/api/usage/turns",
            "How turns fared: the slowest, failures of models, live edits, refused calls.",
            fared,
            RANGE,
        ),
    )
