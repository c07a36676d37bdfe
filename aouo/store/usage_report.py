"""Sums up usage for reports: by day, pack, model, person and scope."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, LiteralString, TypeAlias

from aouo.plumbing.control import Facts
from aouo.store.rows import made
from aouo.store.snapshots import Query

Range: TypeAlias = tuple[str, str]
"""First and last local day, both included, such as `2026-11-21`."""
Key: TypeAlias = tuple[str, str, str, str, str, str]
"""What a row is about: day, pack, provider, model, person and scope."""
LAST_DAY = "9999-12-31"
"""No day is later, whatever a clock said."""


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of some rows; `calls` counts model calls and tool calls, and `unpriced` those of
    them whose price nobody knew: `cost_usd` is without them."""

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int = 0


_SUMS: LiteralString = (
    "coalesce(sum(calls), 0) AS calls, coalesce(sum(input_tokens), 0) AS input_tokens, "
    "coalesce(sum(cached_tokens), 0) AS cached_tokens, "
    "coalesce(sum(output_tokens), 0) AS output_tokens, coalesce(sum(cost_usd), 0) AS cost_usd, "
    "coalesce(sum(unpriced), 0) AS unpriced "
)
_DAYS: LiteralString = "FROM usage_days WHERE day BETWEEN ? AND ? "
_DEAREST: LiteralString = (
    "ORDER BY sum(cost_usd) DESC, sum(input_tokens + output_tokens) DESC, sum(calls) DESC"
)


def total(days: Range) -> Query[Sum]:
    """Sum all rows of these days."""
    return Query("SELECT " + _SUMS + _DAYS, days, _one)


def of_person(days: Range, person: str, pack: str) -> Query[Sum]:
    """Sum what a person used with a pack on these days."""
    sql: LiteralString = "SELECT " + _SUMS + _DAYS + "AND person = ? AND pack = ?"
    return Query(sql, (*days, person, pack), _one)


def of_session(session_id: str) -> Query[Sum]:
    sql: LiteralString = "SELECT " + _SUMS + "FROM usage_events WHERE session_id = ?"
    return Query(sql, (session_id,), _one)


def by_day(days: Range) -> Query[list[tuple[str, Sum]]]:
    """Sum by local day, oldest first; days without a row are left out."""
    sql: LiteralString = "SELECT day AS name, " + _SUMS + _DAYS + "GROUP BY day ORDER BY day"
    return Query(sql, days, _day_named)


def by_day_of_person(days: Range, person: str, pack: str) -> Query[list[tuple[str, Sum]]]:
    """Sum by local day what a person used with a pack, as `by_day`."""
    sql: LiteralString = (
        "SELECT day AS name, " + _SUMS + _DAYS + "AND person = ? AND pack = ? "
        "GROUP BY day ORDER BY day"
    )
    return Query(sql, (*days, person, pack), _day_named)


def by_pack(days: Range) -> Query[list[tuple[str, Sum]]]:
    """Sum by pack, dearest first as in all below; "" = no pack."""
    sql: LiteralString = "SELECT pack AS name, " + _SUMS + _DAYS + "GROUP BY pack "
    return Query(sql + _DEAREST, days, _day_named)


def by_person(days: Range) -> Query[list[tuple[str, Sum]]]:
    """Sum by person, as the platform's id; "" = nobody."""
    sql: LiteralString = "SELECT person AS name, " + _SUMS + _DAYS + "GROUP BY person "
    return Query(sql + _DEAREST, days, _day_named)


def by_scope(days: Range) -> Query[list[tuple[str, Sum]]]:
    sql: LiteralString = "SELECT scope AS name, " + _SUMS + _DAYS + "GROUP BY scope "
    return Query(sql + _DEAREST, days, _day_named)


def by_model(days: Range) -> Query[list[tuple[str, str, Sum]]]:
    """Sum by model: (provider, model, sum); tool calls have no model and are left out."""
    sql: LiteralString = (
        "SELECT provider, model, " + _SUMS + _DAYS + "AND model <> '' GROUP BY provider, model "
    )
    return Query(
        sql + _DEAREST,
        days,
        lambda rows: [(row["provider"], row["model"], _sum(row)) for row in rows],
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for one scope: a model, or with `model` "" a tool that a service answers;
    `unpriced` of the calls had no known price."""

    provider: str
    model: str
    scope: str
    calls: int
    unpriced: int


def asked(days: Range) -> Query[list[Asked]]:
    """List what was asked and may cost money, first that with the most calls without a price."""
    sql: LiteralString = (
        "SELECT provider, model, scope, sum(calls) AS calls, sum(unpriced) AS unpriced "
        + _DAYS
        + "AND (model <> '' OR unpriced > 0 OR cost_usd > 0) "
        "GROUP BY provider, model, scope ORDER BY sum(unpriced) DESC, sum(calls) DESC"
    )
    return Query(sql, days, lambda found: [Asked(*row) for row in found])


def rows(days: Range, after: Key, most: int) -> Query[list[tuple[Key, Sum]]]:
    """List the rows of these days in order, at most `most`, from the one after `after` on."""
    sql: LiteralString = (
        "SELECT day, pack, provider, model, person, scope, * FROM usage_days "
        "WHERE (day, pack, provider, model, person, scope) > (?, ?, ?, ?, ?, ?) "
        "AND day BETWEEN ? AND ? ORDER BY day, pack, provider, model, person, scope LIMIT ?"
    )
    return Query(
        sql, (*after, *days, most), lambda found: [(tuple(row)[:6], _sum(row)) for row in found]
    )


def _day_named(rows: Sequence[sqlite3.Row]) -> list[tuple[str, Sum]]:
    return [(row["name"], _sum(row)) for row in rows]


def _one(rows: Sequence[sqlite3.Row]) -> Sum:
    (row,) = rows
    return _sum(row)


def _sum(row: sqlite3.Row) -> Sum:
    return made(Sum, row)


DAYS_MAX = 3650


def last_days(today: str, days: int) -> Range:
    """Return so many days, today included, and whatever a clock that was ahead wrote later."""
    first = date.fromisoformat(today).toordinal() - (days - 1)
    return date.fromordinal(max(first, 1)).isoformat(), LAST_DAY


def queries(days: Range) -> Mapping[str, Query[Any]]:
    """Return the query of each part, which reads facts for JSON. Source: contract, "Usage"."""
    return {
        "totals": _told(total(days), sums),
        "by_day": _told(by_day(days), lambda found: _named("day", found)),
        "by_pack": _told(by_pack(days), lambda found: _named("pack", found)),
        "by_model": _told(
            by_model(days),
            lambda found: [
                {"provider": provider, "model": model, **sums(each)}
                for provider, model, each in found
            ],
        ),
        "by_person": _told(by_person(days), lambda found: _named("person", found)),
        "by_scope": _told(by_scope(days), lambda found: _named("scope", found)),
    }


def unpriced(days: Range) -> Mapping[str, Query[Any]]:
    """Return the queries of how many calls had no known price, by the names in `queries`."""
    return {
        "totals": _told(total(days), lambda found: found.unpriced),
        "by_day": _told(by_day(days), _counted),
        "by_pack": _told(by_pack(days), _counted),
        "by_person": _told(by_person(days), _counted),
        "by_scope": _told(by_scope(days), _counted),
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
