"""Stores the audit of tool calls: how each was proposed, judged and ended."""

from __future__ import annotations

from aouo.facts.accounts import AuditEntry
from aouo.store.database import Tx

TERMINAL = frozenset({"EXECUTED", "FAILED", "BLOCKED"})


def append(tx: Tx, entry: AuditEntry, now: str) -> None:
    """Add a row, at most one for each stage of a call, and one terminal row in all.

    A call that is resumed after a crash passes the same stages again; its earlier rows stand.
    """
    terminal = entry.stage in TERMINAL
    tx.run(
        "INSERT INTO audit (at, stage, turn_id, call_id, action_id, tool, pack, origin, digest, "
        "reason, judge) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS "
        "(SELECT 1 FROM audit WHERE call_id = ? AND (stage = ? OR (? AND stage IN "
        "('EXECUTED', 'FAILED', 'BLOCKED'))))",
        now,
        entry.stage,
        entry.turn_id,
        entry.call_id,
        entry.action_id,
        entry.tool,
        entry.pack,
        entry.origin,
        entry.digest,
        entry.reason,
        entry.judge,
        entry.call_id,
        entry.stage,
        int(terminal),
    )


def close_of_turn(tx: Tx, turn_id: str, now: str) -> None:
    """Add a FAILED row for each call of an ended turn that has no terminal row yet.

    Such a call was stopped while it ran, or cut off by a crash and must not run again.
    """
    tx.run(
        "INSERT INTO audit (at, stage, turn_id, call_id, action_id, tool, pack, origin, digest, "
        "reason) SELECT ?, 'FAILED', turn_id, call_id, action_id, tool, pack, origin, digest, ? "
        "FROM audit AS proposed WHERE stage = 'PROPOSED' AND turn_id = ? AND NOT EXISTS "
        "(SELECT 1 FROM audit WHERE call_id = proposed.call_id "
        "AND stage IN ('EXECUTED', 'FAILED', 'BLOCKED'))",
        now,
        "its turn ended before it did",
        turn_id,
    )
