"""Stores usage, one row per model call and tool call, and sums it up for limits."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.facts.accounts import Spent
from aouo.store.database import Tx
from aouo.store.rows import columns


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


def record(tx: Tx, spent: Spent, now: str) -> None:
    """Write one row, add it to the sums of its day, and delete its reservation: all or nothing."""
    tx.put(
        "usage_events",
        {
            **columns(spent, "tokens", "reservation"),
            **columns(spent.tokens),
            "hold": spent.reservation,
            "created_at": now,
        },
    )
    tx.put(
        "usage_days",
        {
            **columns(spent, "session_id", "turn_id", "tokens", "duration_ms", "reservation"),
            **columns(spent.tokens, "reasoning_tokens"),
            "calls": 1,
            "events": 1,
        },
        "ON CONFLICT DO UPDATE SET calls = calls + 1, "
        "input_tokens = input_tokens + excluded.input_tokens, "
        "cached_tokens = cached_tokens + excluded.cached_tokens, "
        "output_tokens = output_tokens + excluded.output_tokens, "
        "cost_usd = cost_usd + excluded.cost_usd, unpriced = unpriced + excluded.unpriced, "
        "events = events + 1",
    )
    if spent.reservation:
        tx.run("DELETE FROM holds WHERE id = ?", spent.reservation)


def newest(tx: Tx) -> int:
    """The id of the newest row, 0 = there is none."""
    return tx.number("SELECT max(id) AS id FROM usage_events")


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
    return tx.number(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS n FROM usage_days WHERE day = ?",
        day,
    )


def tokens_of_packs(tx: Tx, day: str) -> list[tuple[str, int]]:
    """(pack, input and output tokens) of one local day."""
    rows = tx.all(
        "SELECT pack, sum(input_tokens + output_tokens) FROM usage_days WHERE day = ? "
        "AND pack <> '' GROUP BY pack",
        day,
    )
    return [(row[0], row[1]) for row in rows]


def tokens_of_origin(tx: Tx, day: str, origin: str) -> int:
    """Input and output tokens that turns of a trigger took on one local day."""
    return tx.number(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS n FROM usage_events "
        "WHERE day = ? AND substr(session_id, 1, 5) <> 'chat/' "
        "AND substr(session_id, 1, length(?)) = ?",
        day,
        f"{origin}/",
        f"{origin}/",
    )


def left_of_origin(tx: Tx, day: str, origin: str, cap: int) -> int:
    """Return what is left of a trigger's tokens of a day, -1 = there is no cap."""
    return max(0, cap - tokens_of_origin(tx, day, origin)) if cap else -1


def tokens_of_sessions_at_work(tx: Tx, most: int) -> list[tuple[str, int]]:
    """(session, input and output tokens) of those that conversations are bound to, most first."""
    rows = tx.all(
        "SELECT u.session_id, sum(u.input_tokens + u.output_tokens) AS tokens "
        "FROM conversation_routes r JOIN usage_events u ON u.session_id = r.session_id "
        "WHERE r.session_id <> '' GROUP BY u.session_id ORDER BY tokens DESC LIMIT ?",
        most,
    )
    return [(row[0], row[1]) for row in rows]


def tokens_of_session(tx: Tx, session_id: str) -> int:
    return tx.number(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS n FROM usage_events "
        "WHERE session_id = ?",
        session_id,
    )


def money_of_day(tx: Tx, day: str) -> list[tuple[str, str, float]]:
    """(person, pack, USD) of one local day."""
    rows = tx.all(
        "SELECT person, pack, sum(cost_usd) FROM usage_days WHERE day = ? AND cost_usd > 0 "
        "GROUP BY person, pack",
        day,
    )
    return [(row[0], row[1], row[2]) for row in rows]
