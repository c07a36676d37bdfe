"""Stores gates, which are durable questions to a person, and what the owner granted for good."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.ids import ulid
from aouo.facts.work import Gate
from aouo.store.database import Tx
from aouo.store.rows import columns, made
from aouo.store.snapshots import Query

NOT_REACHED = "not reached"
"""The answer of a gate that was closed because its person cannot be asked."""


def open_gate(tx: Tx, wanted: Gate, now: str) -> Gate:
    """Open a gate, or return the one that this call opened before a crash."""
    address = wanted.address
    tx.put(
        "gates",
        {
            **columns(wanted, "address", "options"),
            **columns(address),
            "options": json.dumps(wanted.options, ensure_ascii=False),
            "state": "open",
            "created_at": now,
        },
        "ON CONFLICT DO NOTHING",
    )
    gate = of_call(tx, wanted.call_id)
    assert gate is not None
    return gate


def of_call(tx: Tx, call_id: str) -> Gate | None:
    """The gate that this call opened."""
    row = tx.one("SELECT * FROM gates WHERE call_id = ?", call_id)
    return gate_of(row) if row else None


def opened_since(tx: Tx, kind: str, moment: str) -> int:
    """How many gates of a kind were opened after `moment`."""
    return tx.number(
        "SELECT count(*) AS n FROM gates WHERE kind = ? AND created_at > ?", kind, moment
    )


def new_id() -> str:
    """Make an id short enough for callback data: `approval_<id>:always` stays below 64 bytes."""
    return ulid().lower()


def get(tx: Tx, gate_id: str) -> Gate | None:
    row = tx.one("SELECT * FROM gates WHERE id = ?", gate_id)
    return gate_of(row) if row else None


def open_for(tx: Tx, address: ConversationAddress, person: str) -> Gate | None:
    """The clarify gate that this person's next text here answers."""
    row = tx.one(
        "SELECT * FROM gates WHERE state = 'open' AND kind = 'clarify' AND platform = ? "
        "AND chat_id = ? AND thread_id = ? AND person = ? ORDER BY created_at DESC LIMIT 1",
        *address.topic_columns,
        person,
    )
    return gate_of(row) if row else None


def asks_in(tx: Tx, address: ConversationAddress) -> bool:
    """Whether a turn of this conversation waits for a person."""
    return tx.finds(
        "SELECT 1 FROM gates WHERE state = 'open' AND platform = ? AND chat_id = ? "
        "AND thread_id = ? LIMIT 1",
        *address.topic_columns,
    )


def open_now(tx: Tx) -> int:
    """Count the open gates."""
    return tx.number("SELECT count(*) AS n FROM gates WHERE state = 'open'")


def is_off_record(tx: Tx, gate: Gate) -> bool:
    """Whether the turn that asks is off the record, or not there any more."""
    row = tx.one("SELECT off_record FROM turns WHERE id = ?", gate.turn_id)
    return row is None or bool(row["off_record"])


def show(tx: Tx, gate_id: str, delivery_id: int) -> None:
    """Store which delivery shows the gate's question."""
    tx.run("UPDATE gates SET delivery_id = ? WHERE id = ?", delivery_id, gate_id)


def settle(tx: Tx, gate_id: str, state: str, answer: str, now: str) -> bool:
    """Close an open gate; False when it was closed already."""
    return tx.changes(
        "UPDATE gates SET state = ?, answer = ?, settled_at = ? WHERE id = ? AND state = 'open'",
        state,
        answer,
        now,
        gate_id,
    )


def answered_by(tx: Tx, gate_id: str, origin: str) -> None:
    """Note by what the answer came."""
    tx.run("UPDATE gates SET origin = ? WHERE id = ?", origin, gate_id)


def use(tx: Tx, gate_id: str) -> None:
    """Mark an approval as used: its call begins, so from now on it may have happened."""
    tx.run("UPDATE gates SET used = 1 WHERE id = ?", gate_id)


def waits(tx: Tx, call_id: str) -> bool:
    """Whether a call needed an approval and has not begun."""
    return tx.finds(
        "SELECT 1 FROM gates WHERE call_id = ? AND kind = 'approval' AND used = 0", call_id
    )


def close_of_turn(tx: Tx, turn_id: str, now: str) -> list[Gate]:
    """Close the turn's open gates and return them."""
    rows = tx.all(
        "UPDATE gates SET state = 'closed', settled_at = ? WHERE turn_id = ? "
        "AND state = 'open' RETURNING *",
        now,
        turn_id,
    )
    return [gate_of(row) for row in rows]


def close_asked(tx: Tx, address: ConversationAddress, before: int, now: str) -> list[Gate]:
    """Close what turns of jobs older than `before` asked here; return it."""
    rows = tx.all(
        "UPDATE gates SET state = 'closed', settled_at = ? WHERE state = 'open' "
        "AND kind = 'clarify' AND platform = ? AND chat_id = ? AND thread_id = ? "
        "AND turn_id IN (SELECT id FROM turns WHERE job_id < ?) RETURNING *",
        now,
        *address.topic_columns,
        before,
    )
    return [gate_of(row) for row in rows]


def gate_of(row: sqlite3.Row) -> Gate:
    """Read a row of gates."""
    address = made(ConversationAddress, row)
    return made(Gate, row, address=address, options=tuple(json.loads(row["options"])))


@dataclass(frozen=True, slots=True)
class Grant:
    """One tool of one pack may touch one folder and below, since when and by whom.

    `times` and `last` tell how often any grant let this tool of this pack pass, and when last.
    """

    pack: str
    tool: str
    folder: str
    person: str
    since: str
    times: int = 0
    last: str = ""

    @property
    def id(self) -> str:
        """A name that fits into an address."""
        return hashlib.sha256("\0".join((self.pack, self.tool, self.folder)).encode()).hexdigest()


def add_grant(tx: Tx, pack: str, tool: str, folder: Path, person: str, now: str) -> None:
    """Store a grant; idempotent."""
    tx.put(
        "grants",
        {
            "pack": pack,
            "tool": tool,
            "folder": str(folder),
            "person": person,
            "granted_at": now,
        },
        "ON CONFLICT DO NOTHING",
    )


def is_granted(tx: Tx, pack: str, tool: str, folder: Path) -> bool:
    """Whether `folder`, its links resolved, is a granted folder or lies below one."""
    rows = tx.all("SELECT folder FROM grants WHERE pack = ? AND tool = ?", pack, tool)
    return any(folder.is_relative_to(row["folder"]) for row in rows)


def revoke_grant(tx: Tx, grant_id: str) -> Grant | None:
    """Delete a grant and return it, None = there is none with this id."""
    rows = tx.all("SELECT pack, tool, folder, person, granted_at AS since FROM grants")
    found = next((one for one in (Grant(**dict(row)) for row in rows) if one.id == grant_id), None)
    if found:
        tx.run(
            "DELETE FROM grants WHERE pack = ? AND tool = ? AND folder = ?",
            found.pack,
            found.tool,
            found.folder,
        )
    return found


def every_grant(reason: str, limit: int) -> Query[list[Grant]]:
    """The grants by pack; `reason` is what the audit says of a call that one let pass."""
    return Query(
        "SELECT g.pack, g.tool, g.folder, g.person, g.granted_at AS since, "
        "count(a.id) AS times, coalesce(max(a.at), '') AS last FROM grants AS g "
        "LEFT JOIN audit AS a ON a.pack = g.pack AND a.tool = g.tool AND a.digest <> '' "
        "AND a.stage IN ('EXECUTED', 'FAILED', 'BLOCKED') AND a.reason = ? "
        "GROUP BY g.pack, g.tool, g.folder ORDER BY g.pack, g.tool, g.folder LIMIT ?",
        (reason, limit),
        _grants,
    )


def _grants(rows: Sequence[sqlite3.Row]) -> list[Grant]:
    return [Grant(**dict(row)) for row in rows]
