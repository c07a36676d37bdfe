"""Stores usage, one row per call, and the budgets that limit it: reservations, allowances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from aouo.facts.address import ConversationAddress
from aouo.facts.records import Refusal, Spent
from aouo.store.database import Tx
from aouo.store.rows import columns, made


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


_Decision: TypeAlias = Literal["raised", "cheaper", "stopped"]


def put_reservation(tx: Tx, worst: Spent, now: str) -> None:
    """Reserve a call's worst case before it is made; `usage.record` deletes the reservation."""
    own = columns(worst, "tokens", "duration_ms", "reservation", "unpriced")
    tx.put("holds", {**own, "id": worst.reservation, "created_at": now})


def release_reservation(tx: Tx, reservation_id: str) -> None:
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


def put_refusal(tx: Tx, refusal: Refusal, now: str) -> None:
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


def decide_refusal(tx: Tx, refusal: Refusal, decision: _Decision) -> bool:
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


class Chosen(NamedTuple):
    """The model that answers in a conversation; `effort` "" = as usual."""

    provider: str
    model: str
    effort: str = ""


def choose_model(tx: Tx, route_id: int, chosen: Chosen, day: str = "") -> None:
    """Let a model answer in a conversation, on one day or until another is chosen."""
    tx.run("INSERT OR REPLACE INTO chosen_models VALUES (?, ?, ?, ?, ?)", route_id, day, *chosen)


def unchoose_model(tx: Tx, route_id: int) -> None:
    """Let the usual model answer in a conversation again."""
    tx.run("DELETE FROM chosen_models WHERE route_id = ?", route_id)


def chosen_model(tx: Tx, here: ConversationAddress, day: str) -> Chosen | None:
    """Return what was chosen for a conversation on this day, else for each, None = nothing."""
    row = tx.one(
        "SELECT c.* FROM conversation_routes AS r JOIN chosen_models AS c ON c.route_id = r.id "
        "WHERE r.platform = ? AND r.chat_id = ? AND r.thread_id = ? AND r.user_id = ? "
        "AND c.day IN (?, '') ORDER BY c.day DESC LIMIT 1",
        *here.columns,
        day,
    )
    return Chosen(row["provider"], row["model"], row["effort"]) if row else None


def judged(tx: Tx, day: str) -> int:
    """How often a model has judged a call on a local day."""
    row = tx.one(
        "SELECT count(*) AS times FROM usage_events WHERE day = ? "
        "AND substr(session_id, 1, 5) <> 'chat/' AND session_id = '' AND scope = 'judge'",
        day,
    )
    return row["times"] if row else 0
