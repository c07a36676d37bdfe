"""Answers what was used and what it cost, what it may cost, and what is left of the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from typing import Any

from aouo.dashboard.endpoints import Choice, Day, Download, Endpoint, NotShown, Number
from aouo.dashboard.money import Money
from aouo.dashboard.shown import Shown
from aouo.dashboard.usage_export import TYPES, exported
from aouo.plumbing.verbs import Facts
from aouo.store import usage_days, usage_report
from aouo.store.usage_days import Range
from aouo.store.usage_report import DAYS_MAX

DAYS = 30
RANGE = (
    Number("days", 1, DAYS_MAX, None, f"The last days, today included; {DAYS} without a range."),
    Day("from", "The first day, in place of `days`; with `to`."),
    Day("to", "The last day; with `from`."),
)
"""The days that an address may ask for; `wanted` reads them."""


def usage(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about usage."""
    money = Money(shown)

    async def sums(**asked: Any) -> Facts:
        """Return what `aouo usage --json` does."""
        named, days = wanted(shown.today, asked)
        facts: Facts = named
        async with shown.snapshot() as snapshot:
            for name, query in usage_report.queries(days).items():
                facts[name] = await snapshot.ask(query)
        return facts

    async def left() -> Facts:
        return {"limits": await money.left()}

    async def prices(**asked: Any) -> Facts:
        named, days = wanted(shown.today, asked)
        unpriced: Facts = {}
        async with shown.snapshot() as snapshot:
            found = await snapshot.ask(usage_days.asked(days))
            if any(one.unpriced for one in found):
                for name, query in usage_report.unpriced(days).items():
                    unpriced[name] = await snapshot.ask(query)
        told = await asyncio.to_thread(money.prices, found)
        return {**named, **told, "unpriced": unpriced}

    async def export(format: str, **asked: Any) -> Download:  # noqa: A002 - the address says so
        _, days = wanted(shown.today, asked)
        return exported(shown.snapshot, days, format, shown.redactor().text)

    return (
        Endpoint(
            "GET",
            "/api/usage",
            "What was used: calls, tokens and USD.",
            sums,
            RANGE,
        ),
        Endpoint("GET", "/api/usage/left", "What is left of each cap and budget today.", left),
        Endpoint(
            "GET",
            "/api/usage/prices",
            "What everything that was asked, or may be, costs, and who says so.",
            prices,
            RANGE,
        ),
        Endpoint(
            "GET",
            "/api/usage/export",
            "The rows: one per day, pack, model, person and use.",
            export,
            (*RANGE, Choice("format", TYPES, "How they are written.")),
            gives="file",
        ),
    )


def wanted(today: date, asked: Facts) -> tuple[Facts, Range]:
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
