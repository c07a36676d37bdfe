"""Stores reservations, the owner's allowances for a day, refusals and the decisions on them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from aouo.facts.accounts import Refusal, Spent
from aouo.store.database import Tx
from aouo.store.rows import columns, made

Decision: TypeAlias = Literal["raised", "cheaper", "stopped"]


def reserve(tx: Tx, worst: Spent, now: str) -> None:
    """Reserve a call's worst case before it is made; `usage.record` deletes the reservation."""
    own = columns(worst, "tokens", "duration_ms", "reservation", "unpriced")
    tx.put("holds", {**own, "id": worst.reservation, "created_at": now})


def release(tx: Tx, reservation_id: str) -> None:
    """Delete the reservation of a call that cost nothing."""
    tx.run("DELETE FROM holds WHERE id = ?", reservation_id)


def any_held(tx: Tx) -> bool:
    return tx.one("SELECT 1 FROM holds LIMIT 1") is not None


def write_off(tx: Tx) -> int:
    """Count the reservations that an earlier process left open as spent, at their worst case.

    The caller owns the home's lock and has no call at work. Returns how many there were.
    """
    written = tx.run(
        "INSERT INTO usage_events (created_at, day, scope, provider, model, pack, session_id, "
        "person, turn_id, cost_usd, hold) SELECT created_at, day, scope, provider, model, pack, "
        "session_id, person, turn_id, cost_usd, id FROM holds"
    )
    tx.run(
        "INSERT INTO usage_days SELECT day, pack, provider, model, person, scope, count(*), 0, 0, "
        "0, sum(cost_usd), 0, count(*) FROM holds WHERE true GROUP BY day, pack, provider, model, "
        "person, scope ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, "
        "cost_usd = cost_usd + excluded.cost_usd, events = events + excluded.events"
    )
    tx.run("DELETE FROM holds")
    return written


def allowances(tx: Tx, day: str) -> dict[tuple[str, str], float]:
    """Return the allowances of a day: (kind, name) → USD."""
    rows = tx.all(
        "SELECT kind, name, sum(usd) AS usd FROM allowances WHERE day = ? GROUP BY kind, name", day
    )
    return {(row["kind"], row["name"]): row["usd"] for row in rows}


def refuse(tx: Tx, refusal: Refusal, now: str) -> None:
    """Store a refusal, so that the buttons under it can be carried out."""
    tx.put(
        "budget_refusals",
        {**columns(refusal, "state"), "created_at": now},
        "ON CONFLICT DO NOTHING",
    )


def refusal_of(tx: Tx, turn_id: str) -> Refusal | None:
    row = tx.one("SELECT * FROM budget_refusals WHERE turn_id = ?", turn_id)
    if row is None:
        return None
    return made(Refusal, row)


def decide(tx: Tx, refusal: Refusal, decision: Decision) -> bool:
    """Settle an open refusal; False = it was settled already."""
    return tx.changes(
        "UPDATE budget_refusals SET state = ? WHERE turn_id = ? AND state = 'open'",
        decision,
        refusal.turn_id,
    )


def allow(tx: Tx, refusal: Refusal, day: str, now: str) -> None:
    """Add to the budget that stopped a turn, for one day; once a turn."""
    tx.put(
        "allowances",
        {
            "turn_id": refusal.turn_id,
            "day": day,
            "kind": refusal.kind,
            "name": refusal.name,
            "usd": refusal.raise_usd,
            "created_at": now,
        },
        "ON CONFLICT DO NOTHING",
    )


def choose_model(tx: Tx, route_id: int, refusal: Refusal, day: str) -> None:
    """Let the cheaper model answer in a conversation, for one day."""
    tx.run(
        "INSERT INTO chosen_models (route_id, day, provider, model) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (route_id) DO UPDATE SET day = excluded.day, provider = excluded.provider, "
        "model = excluded.model",
        route_id,
        day,
        refusal.provider,
        refusal.model,
    )


def chosen_model(tx: Tx, route_id: int, day: str) -> tuple[str, str] | None:
    """Return (provider, model) chosen for a conversation on this day, None = none was."""
    row = tx.one(
        "SELECT provider, model FROM chosen_models WHERE route_id = ? AND day = ?", route_id, day
    )
    return (row["provider"], row["model"]) if row else None
