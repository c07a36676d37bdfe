"""Answers what was used and what it cost, what is left of the limits, and how turns fared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from aouo.dashboard import money
from aouo.dashboard.endpoints import Download, Endpoint, NotShown, day, number, option
from aouo.dashboard.excerpts import beginning
from aouo.dashboard.shown import Shown
from aouo.dashboard.tables import FORMATS, Format
from aouo.dashboard.usage_export import exported
from aouo.plumbing.redact import Redactor
from aouo.plumbing.verbs import Facts
from aouo.plumbing.zones import moments
from aouo.store import turn_lines, turn_sums, usage_days, usage_report
from aouo.store.usage_days import Range
from aouo.store.usage_report import DAYS_MAX
from aouo.words.models import no_answer_because

_DAYS = 30
_RANGE = (
    number("days", 1, DAYS_MAX, None, f"The last days, today included; {_DAYS} without a range."),
    day("from", "The first day, in place of `days`; with `to`."),
    day("to", "The last day; with `from`."),
)
"""The days that an address may ask for."""
_SLOWEST = 10
_REASON_CHARS = 300


def usage(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about usage."""
    room = _Room(shown)
    return (
        Endpoint("GET", "/api/usage", room.sums, _RANGE),
        Endpoint("GET", "/api/usage/left", room.left),
        Endpoint("GET", "/api/usage/prices", room.prices, _RANGE),
        Endpoint("GET", "/api/usage/turns", room.turns, _RANGE),
        Endpoint(
            "GET",
            "/api/usage/export",
            room.export,
            (*_RANGE, option("format", tuple(FORMATS), "How they are written.")),
            gives="file",
        ),
    )


@dataclass(slots=True, eq=False)
class _Room:
    shown: Shown

    async def sums(self, **asked: Any) -> Facts:
        """What was used: calls, tokens and USD.

        It is what `aouo usage --json` says.
        """
        facts, days = self._wanted(asked)
        async with self.shown.snapshot() as snapshot:
            for name, query in usage_report.queries(days).items():
                facts[name] = await snapshot.ask(query)
        return facts

    async def left(self) -> Facts:
        """What is left of each cap and budget today."""
        today = self.shown.today.isoformat()
        return {"limits": await asyncio.to_thread(money.left, self.shown, today)}

    async def prices(self, **asked: Any) -> Facts:
        """What everything that was asked, or may be, costs, and who says so."""
        named, days = self._wanted(asked)
        unpriced: Facts = {}
        async with self.shown.snapshot() as snapshot:
            found = await snapshot.ask(usage_days.asked(days))
            if any(one.unpriced for one in found):
                for name, query in usage_report.unpriced(days).items():
                    unpriced[name] = await snapshot.ask(query)
        told = await asyncio.to_thread(money.prices, self.shown, found)
        return {**named, **told, "unpriced": unpriced}

    async def turns(self, **asked: Any) -> Facts:
        """How turns fared: the slowest, failures of models, live edits, refused calls."""
        named, (first, last) = self._wanted(asked)
        zone = self.shown.zone()
        days = moments(date.fromisoformat(first), date.fromisoformat(last), zone)
        async with self.shown.snapshot() as snapshot:
            sums = await snapshot.ask(turn_sums.sums(*days))
            slowest = await snapshot.ask(turn_lines.slowest(*days, _SLOWEST))
            tries = await snapshot.ask(turn_sums.failed_tries(*days))
            refused = await snapshot.ask(turn_sums.refused_calls(*days))
        return {
            **named,
            **sums,
            "slowest": slowest,
            "tries": [one | {"why": no_answer_because(one["error"])} for one in tries],
            "refused": await asyncio.to_thread(_refused, refused, self.shown.redactor()),
        }

    async def export(
        self,
        format: Format,  # noqa: A002 - the address says so
        **asked: Any,
    ) -> Download:
        """The rows: one per day, pack, model, person and use."""
        _, days = self._wanted(asked)
        return exported(self.shown.snapshot, days, format, self.shown.redactor().text)

    def _wanted(self, asked: Facts) -> tuple[Facts, Range]:
        """Return the days that an address asks for, as facts and as a range. Raises: NotShown."""
        days, first, last = asked["days"], asked["from"], asked["to"]
        if days is not None and (first or last):
            raise NotShown("Give either days, or from and to.")
        if not first and not last:
            days = days or _DAYS
            return {"days": days}, usage_report.last_days(self.shown.today.isoformat(), days)
        if not (first and last):
            raise NotShown("Give both from and to.")
        if first > last:
            raise NotShown("from has to be the same day as to, or one before it.")
        if (last - first).days >= DAYS_MAX:
            raise NotShown(f"from and to may be {DAYS_MAX:,} days apart at most.")
        found = first.isoformat(), last.isoformat()
        return {"from": found[0], "to": found[1]}, found


def _refused(refused: Sequence[Facts], redactor: Redactor) -> list[Facts]:
    return [{**one, "reason": beginning(redactor, one["reason"], _REASON_CHARS)} for one in refused]
