"""Asks for the sums of usage that reports show: in total, by day, pack, model, person and scope."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from aouo.plumbing.verbs import Facts
from aouo.store import usage
from aouo.store.snapshots import Query
from aouo.store.usage import Sum


def queries(first_day: str) -> Mapping[str, Query[Any]]:
    """Return the query of each part, which reads facts for JSON; days before `first_day` are left
    out. Source: contract, "Usage"."""
    return {
        "totals": _told(usage.total(first_day), _fields),
        "by_day": _told(usage.by_day(first_day), lambda found: _named("day", found)),
        "by_pack": _told(usage.by_pack(first_day), lambda found: _named("pack", found)),
        "by_model": _told(
            usage.by_model(first_day),
            lambda found: [
                {"provider": provider, "model": model, **_fields(each)}
                for provider, model, each in found
            ],
        ),
        "by_person": _told(usage.by_person(first_day), lambda found: _named("person", found)),
        "by_scope": _told(usage.by_scope(first_day), lambda found: _named("scope", found)),
    }


def empty() -> Facts:
    """Return the parts where nothing was used."""
    parts: Facts = {name: [] for name in queries("")}
    return parts | {"totals": _fields(Sum(0, 0, 0, 0, 0.0))}


def _told(query: Query[Any], tell: Callable[[Any], Any]) -> Query[Any]:
    def read(rows: Sequence[sqlite3.Row]) -> Any:
        return tell(query.read(rows))

    return replace(query, read=read)


def _named(what: str, found: Sequence[tuple[str, Sum]]) -> list[Facts]:
    return [{what: name, **_fields(each)} for name, each in found]


def _fields(found: Sum) -> Facts:
    return {**asdict(found), "cost_usd": round(found.cost_usd, 9)}
