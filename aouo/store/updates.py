"""Stores raw updates, the cursor of the next one, and when strangers were last refused."""

from __future__ import annotations

from aouo.store.database import PRUNED_AT_ONCE, Tx


def add(tx: Tx, bot_id: str, update_id: int, body: str, now: str) -> bool:
    """Store one update; False when it was here before."""
    return tx.changes(
        "INSERT OR IGNORE INTO updates (bot_id, update_id, received_at, body) VALUES (?, ?, ?, ?)",
        bot_id,
        update_id,
        now,
        body,
    )


def advance(tx: Tx, bot_id: str, next_update_id: int) -> None:
    """Move the cursor, never back."""
    tx.run(
        "INSERT INTO cursors VALUES (?, ?) ON CONFLICT (bot_id) DO UPDATE "
        "SET next_update_id = max(next_update_id, excluded.next_update_id)",
        bot_id,
        next_update_id,
    )


def cursor(tx: Tx, bot_id: str) -> int:
    """The id of the first update we have not stored yet, 0 = none known."""
    return tx.number("SELECT next_update_id FROM cursors WHERE bot_id = ?", bot_id)


_IDS_AN_HOUR = 5
"""How often a person who is not on the list is told their id."""


def may_refuse(tx: Tx, person: str, now: str, hour_ago: str, *, asks_id: bool) -> bool:
    """Count this hour's one refusal of `person`; False when it was used up already. A person who
    asks for their id is told it `_IDS_AN_HOUR` times."""
    first = _may(tx, person, now, hour_ago)
    more = (f"{person} asks {number}" for number in range(_IDS_AN_HOUR - 1))
    return first or (asks_id and any(_may(tx, key, now, hour_ago) for key in more))


def may_say_once(tx: Tx, key: str, now: str) -> bool:
    """Whether something that is said once was not said yet; from now on it was."""
    return _may(tx, key, now, "")


def _may(tx: Tx, key: str, now: str, hour_ago: str) -> bool:
    return tx.changes(
        "INSERT INTO refusals VALUES (?, ?) ON CONFLICT (person) DO UPDATE "
        "SET at = excluded.at WHERE at <= ?",
        key,
        now,
        hour_ago,
    )


def prune(tx: Tx, before: str) -> int:
    """Forget some updates received before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM updates WHERE (bot_id, update_id) IN "
        "(SELECT bot_id, update_id FROM updates WHERE received_at < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )
