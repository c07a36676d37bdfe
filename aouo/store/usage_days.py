"""Sums up usage for reports, from one row per day, pack, model, person and scope."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString, TypeAlias

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
    return Query(sql, days, _named)


def by_day_of_person(days: Range, person: str, pack: str) -> Query[list[tuple[str, Sum]]]:
    """Sum by local day what a person used with a pack, as `by_day`."""
    sql: LiteralString = (
        "SELECT day AS name, " + _SUMS + _DAYS + "AND person = ? AND pack = ? "
        "GROUP BY day ORDER BY day"
    )
    return Query(sql, (*days, person, pack), _named)


def by_pack(days: Range) -> Query[list[tuple[str, Sum]]]:
    """Sum by pack, dearest first as in all below; "" = no pack."""
    sql: LiteralString = "SELECT pack AS name, " + _SUMS + _DAYS + "GROUP BY pack "
    return Query(sql + _DEAREST, days, _named)


def by_person(days: Range) -> Query[list[tuple[str, Sum]]]:
    """Sum by person, as the platform's id; "" = nobody."""
    sql: LiteralString = "SELECT person AS name, " + _SUMS + _DAYS + "GROUP BY person "
    return Query(sql + _DEAREST, days, _named)


def by_scope(days: Range) -> Query[list[tuple[str, Sum]]]:
    sql: LiteralString = "SELECT scope AS name, " + _SUMS + _DAYS + "GROUP BY scope "
    return Query(sql + _DEAREST, days, _named)


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


def _named(rows: Sequence[sqlite3.Row]) -> list[tuple[str, Sum]]:
    return [(row["name"], _sum(row)) for row in rows]


def _one(rows: Sequence[sqlite3.Row]) -> Sum:
    (row,) = rows
    return _sum(row)


def _sum(row: sqlite3.Row) -> Sum:
    return made(Sum, row)
