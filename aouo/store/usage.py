"""Stores usage, one row per model call and tool call, and sums it up for limits and reports."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from aouo.facts.accounts import Spent
from aouo.store.database import Tx
from aouo.store.snapshots import Query


@dataclass(frozen=True, slots=True)
class Row:
    """One row as limits read it: its tokens, its cost, and the person and pack it counts for."""

    id: int
    day: str
    person: str
    pack: str
    tokens: int
    cost_usd: float
    reservation: str


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of some rows; `calls` counts model calls and tool calls."""

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float


_SUMS: LiteralString = (
    "coalesce(sum(calls), 0) AS calls, coalesce(sum(input_tokens), 0) AS input_tokens, "
    "coalesce(sum(cached_tokens), 0) AS cached_tokens, "
    "coalesce(sum(output_tokens), 0) AS output_tokens, coalesce(sum(cost_usd), 0) AS cost_usd "
    "FROM usage_events "
)


def record(tx: Tx, spent: Spent, now: str) -> None:
    """Write one row and delete its reservation, both or neither."""
    tx.run(
        "INSERT INTO usage_events (created_at, day, scope, provider, model, pack, session_id, "
        "person, turn_id, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_usd, "
        "duration_ms, hold) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        now,
        spent.day,
        spent.scope,
        spent.provider,
        spent.model,
        spent.pack,
        spent.session_id,
        spent.person,
        spent.turn_id,
        spent.tokens.input_tokens,
        spent.tokens.cached_tokens,
        spent.tokens.output_tokens,
        spent.tokens.reasoning_tokens,
        spent.cost_usd,
        spent.duration_ms,
        spent.reservation,
    )
    if spent.reservation:
        tx.run("DELETE FROM holds WHERE id = ?", spent.reservation)


def newest(tx: Tx) -> int:
    """The id of the newest row, 0 = there is none."""
    row = tx.one("SELECT max(id) AS id FROM usage_events")
    return (row["id"] if row else 0) or 0


def since(tx: Tx, row_id: int) -> list[Row]:
    """Return the rows after the one with this id, oldest first."""
    rows = tx.all(
        "SELECT id, day, person, pack, input_tokens + output_tokens AS tokens, "
        "cost_usd, hold FROM usage_events WHERE id > ? ORDER BY id",
        row_id,
    )
    return [Row(*row) for row in rows]


def tokens_of_day(tx: Tx, day: str) -> int:
    """Input and output tokens of one local day."""
    row = tx.one(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS n FROM usage_events "
        "WHERE day = ?",
        day,
    )
    return row["n"] if row else 0


def tokens_of_packs(tx: Tx, day: str) -> list[tuple[str, int]]:
    """(pack, input and output tokens) of one local day."""
    rows = tx.all(
        "SELECT pack, sum(input_tokens + output_tokens) FROM usage_events WHERE day = ? "
        "AND pack <> '' GROUP BY pack",
        day,
    )
    return [(row[0], row[1]) for row in rows]


def tokens_of_origin(tx: Tx, day: str, origin: str) -> int:
    """Input and output tokens that turns of a trigger took on one local day."""
    row = tx.one(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS n FROM usage_events "
        "WHERE day = ? AND substr(session_id, 1, length(?)) = ?",
        day,
        f"{origin}/",
        f"{origin}/",
    )
    return row["n"] if row else 0


def tokens_of_session(tx: Tx, session_id: str) -> int:
    row = tx.one(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS n FROM usage_events "
        "WHERE session_id = ?",
        session_id,
    )
    return row["n"] if row else 0


def money_of_day(tx: Tx, day: str) -> list[tuple[str, str, float]]:
    """(person, pack, USD) of one local day."""
    rows = tx.all(
        "SELECT person, pack, sum(cost_usd) FROM usage_events WHERE day = ? AND cost_usd > 0 "
        "GROUP BY person, pack",
        day,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def total(first_day: str) -> Query[Sum]:
    """Sum all rows from that local day on."""
    return Query("SELECT " + _SUMS + "WHERE day >= ?", (first_day,), _one)


def of_person(first_day: str, person: str, pack: str) -> Query[Sum]:
    """Sum what a person used with a pack from that local day on."""
    sql: LiteralString = "SELECT " + _SUMS + "WHERE day >= ? AND person = ? AND pack = ?"
    return Query(sql, (first_day, person, pack), _one)


def of_session(session_id: str) -> Query[Sum]:
    return Query("SELECT " + _SUMS + "WHERE session_id = ?", (session_id,), _one)


def by_day(first_day: str) -> Query[list[tuple[str, Sum]]]:
    """Sum by local day, oldest first; days without a row are left out."""
    sql: LiteralString = "SELECT day AS name, " + _SUMS + "WHERE day >= ? GROUP BY day ORDER BY day"
    return Query(sql, (first_day,), _named)


def by_pack(first_day: str) -> Query[list[tuple[str, Sum]]]:
    """Sum by pack, dearest first as in all below; "" = no pack."""
    sql: LiteralString = "SELECT pack AS name, " + _SUMS + "WHERE day >= ? GROUP BY pack "
    return Query(sql + _DEAREST, (first_day,), _named)


def by_person(first_day: str) -> Query[list[tuple[str, Sum]]]:
    """Sum by person, as the platform's id; "" = nobody."""
    sql: LiteralString = "SELECT person AS name, " + _SUMS + "WHERE day >= ? GROUP BY person "
    return Query(sql + _DEAREST, (first_day,), _named)


def by_scope(first_day: str) -> Query[list[tuple[str, Sum]]]:
    sql: LiteralString = "SELECT scope AS name, " + _SUMS + "WHERE day >= ? GROUP BY scope "
    return Query(sql + _DEAREST, (first_day,), _named)


def by_model(first_day: str) -> Query[list[tuple[str, str, Sum]]]:
    """Sum by model: (provider, model, sum); tool calls have no model and are left out."""
    sql: LiteralString = (
        "SELECT provider, model, " + _SUMS + "WHERE day >= ? AND model <> '' "
        "GROUP BY provider, model "
    )
    return Query(
        sql + _DEAREST,
        (first_day,),
        lambda rows: [(row["provider"], row["model"], _sum(row)) for row in rows],
    )


_DEAREST: LiteralString = (
    "ORDER BY sum(cost_usd) DESC, sum(input_tokens + output_tokens) DESC, sum(calls) DESC"
)


def _named(rows: Sequence[sqlite3.Row]) -> list[tuple[str, Sum]]:
    return [(row["name"], _sum(row)) for row in rows]


def _one(rows: Sequence[sqlite3.Row]) -> Sum:
    (row,) = rows
    return _sum(row)


def _sum(row: sqlite3.Row) -> Sum:
    return Sum(
        row["calls"],
        row["input_tokens"],
        row["cached_tokens"],
        row["output_tokens"],
        row["cost_usd"],
    )
