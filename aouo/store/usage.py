"""Usage: one row per model call and per tool call, and what the quota reads of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from aouo.store.database import Tx
from aouo.transcript import Usage


@dataclass(frozen=True, slots=True)
class Spent:
    """One row to write. `day` is the local day, `2026-11-21`; money in USD."""

    scope: str
    day: str
    provider: str = ""
    model: str = ""
    pack: str = ""
    session_id: str = ""
    person: str = ""
    turn_id: str = ""
    tokens: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    duration_ms: int = 0


def record(tx: Tx, spent: Spent, now: str) -> None:
    tx.run(
        "INSERT INTO usage_events (created_at, day, scope, provider, model, pack, session_id, "
        "person, turn_id, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_usd, "
        "duration_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
    )


def tokens_of_day(tx: Tx, day: str) -> int:
    """Input and output tokens of one local day."""
    row = tx.one(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS n FROM usage_events "
        "WHERE day = ?",
        day,
    )
    return row["n"] if row else 0


def tokens_of_session(tx: Tx, session_id: str) -> int:
    row = tx.one(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS n FROM usage_events "
        "WHERE session_id = ?",
        session_id,
    )
    return row["n"] if row else 0
