"""Asks for the sums of usage that reports show: in total, by day, pack, model, person and scope."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from aouo.plumbing.verbs import Facts
from aouo.store import usage_days
from aouo.store.snapshots import Query
from aouo.store.usage_days import LAST_DAY, Range, Sum

DAYS_MAX = 3650


def last_days(today: str, days: int) -> Range:
    """Return so many days, today included, and whatever a clock that was ahead wrote later."""
    first = date.fromisoformat(today).toordinal() - (days - 1)
    return date.fromordinal(max(first, 1)).isoformat(), LAST_DAY


def queries(days: Range) -> Mapping[str, Query[Any]]:
    """Return the query of each part, which reads facts for JSON. Source: contract, "Usage"."""
    return {
        "totals": _told(usage_days.total(days), sums),
        "by_day": _told(usage_days.by_day(days), lambda found: _named("day", found)),
        "by_pack": _told(usage_days.by_pack(days), lambda found: _named("pack", found)),
        "by_model": _told(
            usage_days.by_model(days),
            lambda found: [
                {"provider": provider, "model": model, **sums(each)}
                for provider, model, each in found
            ],
        ),
        "by_person": _told(usage_days.by_person(days), lambda found: _named("person", found)),
        "by_scope": _told(usage_days.by_scope(days), lambda found: _named("scope", found)),
    }


def unpriced(days: Range) -> Mapping[str, Query[Any]]:
    """Return the queries of how many calls had no known price, by the names in `queries`."""
    return {
        "totals": _told(usage_days.total(days), lambda found: found.unpriced),
        "by_day": _told(usage_days.by_day(days), _counted),
        "by_pack": _told(usage_days.by_pack(days), _counted),
        "by_person": _told(usage_days.by_person(days), _counted),
        "by_scope": _told(usage_days.by_scope(days), _counted),
    }


def empty() -> Facts:
    """Return the parts where nothing was used."""
    parts: Facts = {name: [] for name in queries(("", ""))}
    return parts | {"totals": sums(Sum(0, 0, 0, 0, 0.0))}


def sums(found: Sum) -> Facts:
    """Return the fields that the contract names; calls without a price are told apart."""
    return {
        "calls": found.calls,
        "input_tokens": found.input_tokens,
        "cached_tokens": found.cached_tokens,
        "output_tokens": found.output_tokens,
        "cost_usd": round(found.cost_usd, 9),
    }


def _told(query: Query[Any], tell: Callable[[Any], Any]) -> Query[Any]:
    def read(rows: Sequence[sqlite3.Row]) -> Any:
        return tell(query.read(rows))

    return replace(query, read=read)


def _counted(found: Sequence[tuple[str, Sum]]) -> Facts:
    return {name: each.unpriced for name, each in found if each.unpriced}


def _named(what: str, found: Sequence[tuple[str, Sum]]) -> list[Facts]:
    return [{what: name, **sums(each)} for name, each in found]
