"""Installs: which packs the owner has said yes to, with what content, and what they were asked."""

from __future__ import annotations

import sqlite3
from typing import cast

from aouo.facts.installs import Change, ChangeKind, ChangeState, Install
from aouo.store.database import Tx


def of(tx: Tx, pack: str) -> Install | None:
    row = tx.one("SELECT * FROM installs WHERE pack = ?", pack)
    return _install(row) if row else None


def all_of(tx: Tx) -> dict[str, Install]:
    """By pack."""
    return {row["pack"]: _install(row) for row in tx.all("SELECT * FROM installs")}


def record(tx: Tx, change: Change, now: str) -> None:
    """A pack is installed as `change` says."""
    tx.run(
        "INSERT INTO installs (pack, version, digest, source, signer, person, installed_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (pack) DO UPDATE SET version = excluded.version, "
        "digest = excluded.digest, source = excluded.source, signer = excluded.signer, "
        "person = excluded.person, installed_at = excluded.installed_at",
        change.pack,
        change.version,
        change.digest,
        change.source,
        change.signer,
        change.person,
        now,
    )


def restore(tx: Tx, change: Change, before: Install | None, why: str, now: str) -> None:
    """A change failed: what was installed before counts again."""
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
    """A pack is not installed any more; what the owner allowed it for good goes with it."""
    tx.run("DELETE FROM installs WHERE pack = ?", pack)
    tx.run("DELETE FROM grants WHERE pack = ?", pack)


def offer(tx: Tx, change: Change) -> None:
    """Write down what somebody is asked about, or what begins without a question."""
    tx.run(
        "INSERT INTO pack_changes (id, pack, kind, state, version, digest, source, signer, person, "
        "created_at, purge) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        change.id,
        change.pack,
        change.kind,
        change.state,
        change.version,
        change.digest,
        change.source,
        change.signer,
        change.person,
        change.created_at,
        int(change.purge),
    )


def close_asked(tx: Tx, pack: str, now: str) -> tuple[str, ...]:
    """Close the questions about a pack that nobody answered, since they were about what it was or
    is not any more; return their ids."""
    rows = tx.all(
        "UPDATE pack_changes SET state = 'declined', settled_at = ? "
        "WHERE pack = ? AND state = 'offered' RETURNING id",
        now,
        pack,
    )
    return tuple(row["id"] for row in rows)


def get(tx: Tx, change_id: str) -> Change | None:
    row = tx.one("SELECT * FROM pack_changes WHERE id = ?", change_id)
    return _change(row) if row else None


def begin(tx: Tx, change_id: str, person: str) -> bool:
    """Begin what was offered; False = it was settled, or is at work already."""
    changed = tx.run(
        "UPDATE pack_changes SET state = 'begun', person = ? WHERE id = ? AND state = 'offered'",
        person,
        change_id,
    )
    return changed == 1


def close(tx: Tx, change_id: str, state: ChangeState, now: str, why: str = "") -> bool:
    """Settle what was offered; False = it was settled, or is at work already."""
    changed = tx.run(
        "UPDATE pack_changes SET state = ?, settled_at = ?, why = ? WHERE id = ? "
        "AND state = 'offered'",
        state,
        now,
        why,
        change_id,
    )
    return changed == 1


def settle(tx: Tx, change_id: str, now: str) -> None:
    """What was begun is done."""
    tx.run(
        "UPDATE pack_changes SET state = 'done', settled_at = ? WHERE id = ? AND state = 'begun'",
        now,
        change_id,
    )


def hindered(tx: Tx, change_id: str, why: str) -> None:
    """What was begun could not be ended; it stays begun."""
    tx.run("UPDATE pack_changes SET why = ? WHERE id = ? AND state = 'begun'", why, change_id)


def begun(tx: Tx, pack: str = "") -> tuple[Change, ...]:
    """What was begun and is not over, of one pack or of all, the oldest first."""
    rows = tx.all(
        "SELECT * FROM pack_changes WHERE state = 'begun' AND (? = '' OR pack = ?) "
        "ORDER BY created_at, id",
        pack,
        pack,
    )
    return tuple(_change(row) for row in rows)


def unsettled(tx: Tx) -> tuple[Change, ...]:
    """What is offered, and what a process had begun, the oldest first."""
    rows = tx.all(
        "SELECT * FROM pack_changes WHERE state IN ('offered', 'begun') ORDER BY created_at, id"
    )
    return tuple(_change(row) for row in rows)


def _install(row: sqlite3.Row) -> Install:
    return Install(
        row["pack"],
        row["version"],
        row["digest"],
        row["source"],
        row["signer"],
        row["person"],
        row["installed_at"],
    )


def _change(row: sqlite3.Row) -> Change:
    return Change(
        row["id"],
        row["pack"],
        cast("ChangeKind", row["kind"]),
        cast("ChangeState", row["state"]),
        row["version"],
        row["digest"],
        row["source"],
        row["signer"],
        row["person"],
        row["created_at"],
        row["why"],
        bool(row["purge"]),
    )
