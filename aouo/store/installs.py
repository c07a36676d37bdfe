"""Stores which packs are installed, with what content, and what the owner was asked about them."""

from __future__ import annotations

import sqlite3

from aouo.facts.records import Change, ChangeState, Install
from aouo.store.database import Tx
from aouo.store.rows import columns, made
from aouo.store.snapshots import Query


def of(tx: Tx, pack: str) -> Install | None:
    return tx.first(_install, "SELECT * FROM installs WHERE pack = ?", pack)


def all_of(tx: Tx) -> dict[str, Install]:
    """Return all installs, by pack."""
    return KNOWN.read(tx.all(KNOWN.sql))


KNOWN = Query(
    "SELECT * FROM installs", (), lambda rows: {str(row["pack"]): _install(row) for row in rows}
)
"""What `all_of` returns."""
UNSETTLED = Query(
    "SELECT * FROM pack_changes WHERE state IN ('offered', 'begun') ORDER BY created_at, id",
    (),
    lambda rows: tuple(_change(row) for row in rows),
)
"""The changes that are offered or begun, oldest first."""


def record(tx: Tx, change: Change, now: str) -> None:
    """Store a pack as installed, as `change` says; what the owner allowed it for good goes where
    neither source nor key ties it to what was there."""
    before = tx.one("SELECT source, signer FROM installs WHERE pack = ?", change.pack)
    is_others = before is not None and before["source"] != change.source
    if before and is_others and not before["signer"] == change.signer != "":
        tx.run("DELETE FROM grants WHERE pack = ?", change.pack)
    tx.put(
        "installs",
        {
            **columns(change, "id", "kind", "state", "created_at", "why", "purge"),
            "installed_at": now,
        },
        "ON CONFLICT (pack) DO UPDATE SET version = excluded.version, digest = excluded.digest, "
        "source = excluded.source, signer = excluded.signer, person = excluded.person, "
        "installed_at = excluded.installed_at",
    )


def restore(tx: Tx, change: Change, before: Install | None, why: str, now: str) -> None:
    """Settle a change as failed and put back the install from before it, None = there was none."""
    if before is None:
        tx.run("DELETE FROM installs WHERE pack = ?", change.pack)
    else:
        tx.run(
            "UPDATE installs SET version = ?, digest = ?, source = ?, signer = ?, person = ?, "
            "installed_at = ? WHERE pack = ?",
            before.version,
            before.digest,
            before.source,
            before.signer,
            before.person,
            before.installed_at,
            before.pack,
        )
    tx.run(
        "UPDATE pack_changes SET state = 'failed', settled_at = ?, why = ? WHERE id = ?",
        now,
        why,
        change.id,
    )


def forget(tx: Tx, pack: str) -> None:
    """Delete a pack's install and its grants."""
    tx.run("DELETE FROM installs WHERE pack = ?", pack)
    tx.run("DELETE FROM grants WHERE pack = ?", pack)


def offer(tx: Tx, change: Change) -> None:
    """Store a change: one that the owner is asked about, or one that begins without a question."""
    tx.put("pack_changes", columns(change))


def close_asked(tx: Tx, pack: str, now: str) -> tuple[str, ...]:
    """Decline the pack's open offers, which are about what it is no longer; return their ids."""
    rows = tx.all(
        "UPDATE pack_changes SET state = 'declined', settled_at = ? "
        "WHERE pack = ? AND state = 'offered' RETURNING id",
        now,
        pack,
    )
    return tuple(row["id"] for row in rows)


def get(tx: Tx, change_id: str) -> Change | None:
    return tx.first(_change, "SELECT * FROM pack_changes WHERE id = ?", change_id)


def begin(tx: Tx, change_id: str, person: str) -> bool:
    """Begin an offered change; False = it was settled or begun already."""
    return tx.changes(
        "UPDATE pack_changes SET state = 'begun', person = ? WHERE id = ? AND state = 'offered'",
        person,
        change_id,
    )


def close(tx: Tx, change_id: str, state: ChangeState, now: str, why: str = "") -> bool:
    """Settle an offered change; False = it was settled or begun already."""
    return tx.changes(
        "UPDATE pack_changes SET state = ?, settled_at = ?, why = ? WHERE id = ? "
        "AND state = 'offered'",
        state,
        now,
        why,
        change_id,
    )


def settle(tx: Tx, change_id: str, now: str) -> None:
    """Settle a begun change as done."""
    tx.run(
        "UPDATE pack_changes SET state = 'done', settled_at = ? WHERE id = ? AND state = 'begun'",
        now,
        change_id,
    )


def hindered(tx: Tx, change_id: str, why: str) -> None:
    """Note why a begun change could not be finished; it stays begun."""
    tx.run("UPDATE pack_changes SET why = ? WHERE id = ? AND state = 'begun'", why, change_id)


def begun(tx: Tx, pack: str = "") -> tuple[Change, ...]:
    """Return the begun changes that are not settled, of one pack or of all, oldest first."""
    rows = tx.all(
        "SELECT * FROM pack_changes WHERE state = 'begun' AND (? = '' OR pack = ?) "
        "ORDER BY created_at, id",
        pack,
        pack,
    )
    return tuple(_change(row) for row in rows)


def unsettled(tx: Tx) -> tuple[Change, ...]:
    """Return the changes that are offered or begun, oldest first."""
    return UNSETTLED.read(tx.all(UNSETTLED.sql))


def _install(row: sqlite3.Row) -> Install:
    return made(Install, row)


def _change(row: sqlite3.Row) -> Change:
    return made(Change, row)
