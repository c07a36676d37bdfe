"""Stores how far a pack's first conversation with each tenant is; it begins and ends once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, LiteralString

from aouo.store.database import Tx

SKILL = "onboarding"
"""The bare name of the skill that leads a first conversation."""
TURNS_MAX, SESSIONS_MAX = 10, 3
_KEPT: tuple[LiteralString, ...] = (
    *("owner", "state", "sessions", "turns", "offered", "summary", "began_at", "ended_at"),
)
"""The columns of a backup."""
_Ended = Literal["done", "skipped", "given_up"]


def step(tx: Tx, pack: str, tenant: str, session_id: str, now: str) -> bool:
    """Count a turn of the first conversation, and begin it if it is new; False = it is over.

    A turn above the limits gives it up.
    """
    fresh: dict[LiteralString, str] = {"pack": pack, "owner": tenant, "state": "open"}
    tx.put("onboarding", {**fresh, "began_at": now}, "ON CONFLICT DO NOTHING")
    counted = tx.run(
        "UPDATE onboarding SET turns = turns + 1, session_id = ?, "
        "sessions = sessions + (session_id <> ?) WHERE pack = ? AND owner = ? AND state = 'open' "
        "AND turns < ? AND sessions + (session_id <> ?) <= ?",
        session_id,
        session_id,
        pack,
        tenant,
        TURNS_MAX,
        session_id,
        SESSIONS_MAX,
    )
    if not counted:
        end(tx, pack, tenant, "given_up", now)
    return counted == 1


def is_open(tx: Tx, pack: str, tenant: str) -> bool:
    """Whether the first conversation has begun and not ended."""
    return _state(tx, pack, tenant) == "open"


def offer(tx: Tx, pack: str, tenant: str) -> bool:
    """Return True once, while it is open: the button that skips it is to be shown now."""
    return tx.changes(
        "UPDATE onboarding SET offered = 1 WHERE pack = ? AND owner = ? AND state = 'open' "
        "AND offered = 0",
        pack,
        tenant,
    )


def end(tx: Tx, pack: str, tenant: str, how: _Ended, now: str, summary: str = "") -> bool:
    """End the first conversation for good; False = it was over, or had never begun."""
    return tx.changes(
        "UPDATE onboarding SET state = ?, summary = ?, ended_at = ? "
        "WHERE pack = ? AND owner = ? AND state = 'open'",
        how,
        summary,
        now,
        pack,
        tenant,
    )


def forget(tx: Tx, pack: str, tenant: str = "") -> int:
    """Let it happen once more, for one tenant or for all; return how many rows went."""
    return tx.run(
        "DELETE FROM onboarding WHERE pack = ? AND (? = '' OR owner = ?)", pack, tenant, tenant
    )


def all_of(tx: Tx, pack: str) -> list[dict[str, Any]]:
    """Return the pack's rows as plain values for a backup."""
    rows = tx.all("SELECT * FROM onboarding WHERE pack = ? ORDER BY owner", pack)
    return [{name: row[name] for name in _KEPT} for row in rows]


def put_back(tx: Tx, pack: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace the pack's rows by those of a backup."""
    forget(tx, pack)
    for row in rows:
        own: dict[LiteralString, Any] = {name: row[name] for name in _KEPT}
        tx.put("onboarding", {"pack": pack, **own}, "ON CONFLICT (pack, owner) DO NOTHING")


def _state(tx: Tx, pack: str, tenant: str) -> str:
    return tx.text("SELECT state FROM onboarding WHERE pack = ? AND owner = ?", pack, tenant)
