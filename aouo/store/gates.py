"""Stores gates, which are durable questions to a person, and what the owner granted or trusts."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aouo.facts.address import ConversationAddress
from aouo.facts.ids import ulid
from aouo.facts.records import ANY_TARGET
from aouo.facts.work import Gate
from aouo.store.database import Tx
from aouo.store.rows import columns, made
from aouo.store.snapshots import Query

NOT_REACHED = "not reached"
"""The answer of a gate that was closed because its person cannot be asked."""
_DENIED = "deny"
"""The answer that is a no to a call."""


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
    return tx.first(gate_of, "SELECT * FROM gates WHERE call_id = ?", call_id)


def asking(tx: Tx, call_id: str) -> tuple[Gate, str] | None:
    """Return the approval that asks about this call, and the digest that it asks about."""
    row = tx.one(
        "SELECT g.*, a.digest FROM asked_calls AS a JOIN gates AS g ON g.id = a.gate_id "
        "WHERE a.call_id = ?",
        call_id,
    )
    return (gate_of(row), row["digest"]) if row else None


def ask_about(tx: Tx, gate_id: str, call_id: str, tool: str, targets: str, digest: str) -> None:
    """Note that an approval asks about this call, and what "always" would cover of it."""
    tx.put(
        "asked_calls",
        {
            "call_id": call_id,
            "gate_id": gate_id,
            "tool": tool,
            "targets": targets,
            "digest": digest,
        },
        "ON CONFLICT DO NOTHING",
    )


def answers_to(tx: Tx, tool: str, targets: str, digest: str, session_id: str) -> tuple[str, int]:
    """Return what the owner said to this very call in this session, "" = nothing, and how often
    they ever said yes to this tool and these targets."""
    rows = tx.all(
        "SELECT g.answer, a.digest, t.session_id FROM asked_calls AS a "
        "JOIN gates AS g ON g.id = a.gate_id LEFT JOIN turns AS t ON t.id = g.turn_id "
        "WHERE a.tool = ? AND a.targets = ? AND g.state = 'answered' ORDER BY g.settled_at",
        tool,
        targets,
    )
    here = (digest, session_id)
    same = [row["answer"] for row in rows if (row["digest"], row["session_id"]) == here]
    return same[-1] if same else "", sum(row["answer"] != _DENIED for row in rows)


def is_refused(tx: Tx, turn_id: str) -> bool:
    """Whether the owner was asked in this turn and did not say yes."""
    return tx.finds(
        "SELECT 1 FROM gates WHERE turn_id = ? AND kind = 'approval' AND (state = 'expired' "
        "OR (state = 'answered' AND answer = ?)) LIMIT 1",
        turn_id,
        _DENIED,
    )


def opened_since(tx: Tx, kind: str, moment: str) -> int:
    """How many gates of a kind were opened after `moment`."""
    return tx.number(
        "SELECT count(*) AS n FROM gates WHERE kind = ? AND created_at > ?", kind, moment
    )


def new_id() -> str:
    """Make an id short enough for callback data: `approval_<id>:always` stays below 64 bytes."""
    return ulid().lower()


def get(tx: Tx, gate_id: str) -> Gate | None:
    return tx.first(gate_of, "SELECT * FROM gates WHERE id = ?", gate_id)


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


def use(tx: Tx, call_id: str) -> None:
    """Mark the approval of a call as used: it begins, so from now on it may have happened."""
    tx.run("UPDATE asked_calls SET used = 1 WHERE call_id = ?", call_id)


def waits(tx: Tx, call_id: str) -> bool:
    """Whether a call needed an approval and has not begun."""
    return tx.finds("SELECT 1 FROM asked_calls WHERE call_id = ? AND used = 0", call_id)


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


_ID_CHARS = 24
"""Of a grant's id: it fits into the data of a button."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What one tool of one pack may do in one person's turns, since when: touch a folder and what
    is below, or lead to a target.

    `times` and `last` tell how often any grant let this tool of this pack pass, and when last.
    """

    pack: str
    tool: str
    kind: str
    target: str
    person: str
    since: str
    times: int = 0
    last: str = ""

    @property
    def id(self) -> str:
        """A name that fits into an address."""
        named = (self.pack, self.tool, self.kind, self.target, self.person)
        return hashlib.sha256("\0".join(named).encode()).hexdigest()[:_ID_CHARS]


def add_grant(
    tx: Tx, pack: str, tool: str, lasting: tuple[str, str], person: str, now: str
) -> None:
    """Store a grant of a (kind, target); idempotent."""
    tx.put(
        "grants",
        {
            "pack": pack,
            "tool": tool,
            "kind": lasting[0],
            "target": lasting[1],
            "person": person,
            "granted_at": now,
        },
        "ON CONFLICT DO NOTHING",
    )


def is_granted(tx: Tx, pack: str, tool: str, lasting: tuple[str, str], person: str) -> bool:
    """Whether a (kind, target) is granted, or, of a folder with its links resolved, one above."""
    kind, target = lasting
    rows = tx.all(
        "SELECT target FROM grants WHERE pack = ? AND tool = ? AND kind = ? AND person = ?",
        pack,
        tool,
        kind,
        person,
    )
    if kind == "folder":
        return any(Path(target).is_relative_to(row["target"]) for row in rows)
    return any(row["target"] in (ANY_TARGET, target) for row in rows)


_GRANTS: Final = (
    "SELECT pack, tool, kind, target, person, granted_at AS since FROM grants "
    "ORDER BY pack, tool, kind, target, person"
)


def revoke_grant(tx: Tx, named: str) -> Grant | None:
    """Delete a grant and return it; it is named by its id, or by its number in `every_grant`.
    None = there is none of the name."""
    grants = enumerate(_grants(tx.all(_GRANTS)), 1)
    found = next((one for number, one in grants if named in (one.id, str(number))), None)
    if found:
        tx.run(
            "DELETE FROM grants WHERE pack = ? AND tool = ? AND kind = ? AND target = ? "
            "AND person = ?",
            found.pack,
            found.tool,
            found.kind,
            found.target,
            found.person,
        )
    return found


def every_grant(reason: str, limit: int) -> Query[list[Grant]]:
    """The grants by pack; `reason` is what the audit says of a call that one let pass."""
    return Query(
        "SELECT g.pack, g.tool, g.kind, g.target, g.person, g.granted_at AS since, "
        "count(a.id) AS times, coalesce(max(a.at), '') AS last FROM grants AS g "
        "LEFT JOIN audit AS a ON a.pack = g.pack AND a.tool = g.tool AND a.digest <> '' "
        "AND a.stage IN ('EXECUTED', 'FAILED', 'BLOCKED') AND a.reason = ? "
        "GROUP BY g.pack, g.tool, g.kind, g.target, g.person "
        "ORDER BY g.pack, g.tool, g.kind, g.target, g.person LIMIT ?",
        (reason, limit),
        _grants,
    )


def _grants(rows: Sequence[sqlite3.Row]) -> list[Grant]:
    return [Grant(**dict(row)) for row in rows]


def untrusted_tools(tx: Tx, server: str, settings: str, said: Mapping[str, str]) -> frozenset[str]:
    """Return the tools that say something else than what is trusted.

    `settings` and the values of `said`, by tool, are digests. What a server says when it is first
    seen with its settings is trusted.
    """
    rows = tx.all("SELECT tool, digest, settings FROM server_tools WHERE server = ?", server)
    known = {row["tool"]: row["digest"] for row in rows if row["settings"] == settings}
    if known:
        return frozenset(tool for tool, digest in said.items() if known.get(tool) != digest)
    tx.run("DELETE FROM server_tools WHERE server = ?", server)
    for tool, digest in said.items():
        tx.put(
            "server_tools", {"server": server, "settings": settings, "tool": tool, "digest": digest}
        )
    return frozenset()


def trusted_tools(tx: Tx) -> list[tuple[str, str]]:
    """Return (server, tool) of all that servers said when they were first seen."""
    return [(row["server"], row["tool"]) for row in tx.all("SELECT server, tool FROM server_tools")]


def take(tx: Tx, call_id: str, job_id: int) -> bool:
    """Let one job make a call that was refused; False = another one has."""
    by = f"job {job_id}"
    ask_about(tx, by, call_id, "", "", "")
    return tx.text("SELECT gate_id FROM asked_calls WHERE call_id = ?", call_id) == by


def trust_tools(tx: Tx, server: str) -> None:
    """Trust what a server says of its tools when it is asked next."""
    tx.run("DELETE FROM server_tools WHERE server = ?", server)
