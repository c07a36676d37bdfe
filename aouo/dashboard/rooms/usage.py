"""Answers what was used and what it cost, what is left of the limits, and how turns fared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import Any, cast

from aouo.dashboard.endpoints import Choice, Day, Download, Endpoint, NotShown, Number
from aouo.dashboard.money import Money
from aouo.dashboard.shown import Shown
from aouo.dashboard.tables import FORMATS, Format
from aouo.dashboard.usage_export import exported
from aouo.plumbing.verbs import Facts
from aouo.plumbing.zones import moments
from aouo.store import turn_lines, turn_sums, usage_days, usage_report
from aouo.store.usage_days import Range
from aouo.store.usage_report import DAYS_MAX

DAYS = 30
_RANGE = (
    Number("days", 1, DAYS_MAX, None, f"The last days, today included; {DAYS} without a range."),
    Day("from", "The first day, in place of `days`; with `to`."),
    Day("to", "The last day; with `from`."),
)
"""The days that an address may ask for; `_wanted` reads them."""
_SLOWEST = 10


def usage(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about usage."""
    money = Money(shown)

    async def sums(**asked: Any) -> Facts:
        """Return what `aouo usage --json` does."""
        named, days = _wanted(shown.today, asked)
        facts: Facts = named
        async with shown.snapshot() as snapshot:
            for name, query in usage_report.queries(days).items():
                facts[name] = await snapshot.ask(query)
        return facts

    async def left() -> Facts:
        return {"limits": await money.left()}

    async def prices(**asked: Any) -> Facts:
        named, days = _wanted(shown.today, asked)
        unpriced: Facts = {}
        async with shown.snapshot() as snapshot:
            found = await snapshot.ask(usage_days.asked(days))
            if any(one.unpriced for one in found):
                for name, query in usage_report.unpriced(days).items():
                    unpriced[name] = await snapshot.ask(query)
        told = await asyncio.to_thread(money.prices, found)
        return {**named, **told, "unpriced": unpriced}

    async def export(format: str, **asked: Any) -> Download:  # noqa: A002 - the address says so
        _, days = _wanted(shown.today, asked)
        return exported(shown.snapshot, days, cast("Format", format), shown.redactor().text)

    async def fared(**asked: Any) -> Facts:
        named, (first, last) = _wanted(shown.today, asked)
        days = moments(date.fromisoformat(first), date.fromisoformat(last), shown.zone())
        async with shown.snapshot() as snapshot:
            sums = await snapshot.ask(turn_sums.sums(*days))
            slowest = await snapshot.ask(turn_lines.slowest(*days, _SLOWEST))
            tries = await snapshot.ask(turn_sums.failed_tries(*days))
            refused = await snapshot.ask(turn_sums.refused_calls(*days))
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
            "/api/usage",
            "What was used: calls, tokens and USD.",
            sums,
            _RANGE,
        ),
        Endpoint("GET", "/api/usage/left", "What is left of each cap and budget today.", left),
        Endpoint(
            "GET",
            "/api/usage/prices",
            "What everything that was asked, or may be, costs, and who says so.",
            prices,
            _RANGE,
        ),
        Endpoint(
            "GET",
            "/api/usage/export",
            "The rows: one per day, pack, model, person and use.",
            export,
            (*_RANGE, Choice("format", tuple(FORMATS), "How they are written.")),
            gives="file",
        ),
        Endpoint(
            "GET",
            "/api/usage/turns",
            "How turns fared: the slowest, failures of models, live edits, refused calls.",
            fared,
            _RANGE,
        ),
    )


def _wanted(today: date, asked: Facts) -> tuple[Facts, Range]:
    """Return the days that an address asks for, as facts and as a range. Raises: NotShown."""
    days, first, last = asked["days"], asked["from"], asked["to"]
    if days is not None and (first or last):
        raise NotShown("Give either days, or from and to.")
    if not first and not last:
        days = days or DAYS
        return {"days": days}, usage_report.last_days(today.isoformat(), days)
    if not (first and last):
        raise NotShown("Give both from and to.")
    if first > last:
        raise NotShown("from has to be the same day as to, or one before it.")
    if (last - first).days >= DAYS_MAX:
        raise NotShown(f"from and to may be {DAYS_MAX:,} days apart at most.")
    found = first.isoformat(), last.isoformat()
    return {"from": found[0], "to": found[1]}, found
