"""Answers what became of tool calls: how each was proposed, judged and ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from typing import get_args

from aouo.dashboard.endpoints import Endpoint, day, number, option, phrase
from aouo.dashboard.excerpts import excerpt
from aouo.dashboard.shown import Shown
from aouo.facts.accounts import Stage
from aouo.facts.events import Origin
from aouo.plumbing.verbs import Facts
from aouo.plumbing.zones import moments
from aouo.store import audit_report

_ROWS_MAX = 500
_ID_MAX = 10**15 - 1
_PARAMETERS = (
    phrase("text", "Occurs in tool, pack, reason, turn or call."),
    phrase("tool", "Its tool."),
    phrase("pack", "Its pack."),
    option("stage", ("", *get_args(Stage)), "Its stage; any without it."),
    option("origin", ("", *get_args(Origin)), "What its turn was started by; any without it."),
    phrase("turn", "Its turn's id, or the end of it."),
    day("since", "The first local day."),
    day("until", "The last local day."),
    number("before", 0, _ID_MAX, 0, "Only rows with a lower id; 0 = from the newest on."),
    number("limit", 1, _ROWS_MAX, 100, "How many rows."),
)


def audit(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoint of the audit."""

    def told(rows: Sequence[Facts]) -> list[Facts]:
        redactor = shown.redactor()
        return [{**row, "reason": excerpt(redactor, row["reason"])} for row in rows]

    async def rows(
        since: date | None, until: date | None, before: int, limit: int, **sought: str
    ) -> Facts:
        """What became of tool calls, newest first; of what was off the record only that it was.

        `older` is the `before` of the next page, 0 =
        there is nothing older.
        """
        begins, ends = moments(since, until, shown.zone())
        async with shown.snapshot() as snapshot:
            lowest, highest = await snapshot.ask(audit_report.ids())
            top = min(before or highest + 1, highest + 1)
            found = await snapshot.ask(
                audit_report.rows(top, limit + 1, since=begins, until=ends, **sought)
            )
        if len(found) > limit:
            older = found[limit - 1]["id"]
        else:
            reaches = audit_report.reaches(sought["turn"], top)
            older = reaches if reaches > lowest else 0
        return {"rows": await asyncio.to_thread(told, found[:limit]), "older": older}

    return (Endpoint("GET", "/api/audit", rows, _PARAMETERS),)
