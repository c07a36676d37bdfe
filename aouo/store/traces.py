"""Shows the owner how one turn went: its steps, model calls, tool calls and messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aouo.facts.recorded import Recorded
from aouo.store.database import Tx


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of a pipeline took; its name is `pipeline.step`."""

    name: str
    calls: int
    ms: float


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One model call, or a call to another service; money in USD."""

    scope: str
    provider: str
    model: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float
    duration_ms: int


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call; `state` is intent | done | failed | unknown."""

    name: str
    state: str
    effect: bool
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Sent:
    """One message that the turn queued, and what became of it."""

    kind: str
    state: str
    message_id: int
    error: str


@dataclass(frozen=True, slots=True)
class Trace:
    """A turn; `status` is open | ack | nack | aborted."""

    id: str
    status: str
    reason: str
    pack: str
    session_id: str
    resumes: int
    started_at: str
    settled_at: str
    steps: tuple[Step, ...]
    calls: tuple[TracedCall, ...]
    tools: tuple[ToolUse, ...]
    deliveries: tuple[Sent, ...]


def record(
    tx: Tx, turn_id: str, steps: Mapping[str, tuple[int, float, float]], recorded: Recorded
) -> None:
    """Store what a turn tells of itself, and what its steps took: name → (calls, milliseconds,
    milliseconds until the first of them)."""
    meter = {
        name: [calls, round(ms, 3), round(at_ms, 1)] for name, (calls, ms, at_ms) in steps.items()
    }
    text = json.dumps(meter, separators=(",", ":"))
    tx.run("UPDATE turns SET meter = ?, recorded = ? WHERE id = ?", text, recorded.dump(), turn_id)


def trace(tx: Tx, wanted: str) -> Trace | None:
    """The turn with this id, or whose id ends so; "" = the newest of all."""
    row = tx.one(
        "SELECT * FROM turns WHERE ? = '' OR id = ? OR substr(id, -length(?)) = ? "
        "ORDER BY id DESC LIMIT 1",
        wanted,
        wanted,
        wanted,
        wanted,
    )
    if row is None:
        return None
    meter: dict[str, list[Any]] = json.loads(row["meter"] or "{}")
    return Trace(
        row["id"],
        row["status"],
        row["reason"],
        row["pack"],
        row["session_id"],
        row["resumes"],
        row["started_at"],
        row["settled_at"],
        tuple(Step(name, calls, ms) for name, (calls, ms, *_) in meter.items()),
        _calls(tx, row["id"], row["session_id"]),
        _tools(tx, row["id"]),
        _deliveries(tx, row["id"]),
    )


def _calls(tx: Tx, turn_id: str, session_id: str) -> tuple[TracedCall, ...]:
    """Read the turn's calls; those that the runtime made on its own behalf have no session."""
    rows = tx.all(
        "SELECT scope, provider, model, input_tokens, cached_tokens, output_tokens, cost_usd, "
        "duration_ms FROM usage_events WHERE session_id IN (?, '') AND turn_id = ? "
        "AND scope NOT LIKE 'tool:%' ORDER BY id",
        session_id,
        turn_id,
    )
    return tuple(TracedCall(**dict(row)) for row in rows)


def _tools(tx: Tx, turn_id: str) -> tuple[ToolUse, ...]:
    rows = tx.all(
        "SELECT name, state, effect, CASE ended_at WHEN '' THEN 0 ELSE "
        "round((julianday(ended_at) - julianday(started_at)) * 86400000) END AS ms "
        "FROM tool_calls WHERE turn_id = ? ORDER BY started_at, id",
        turn_id,
    )
    return tuple(
        ToolUse(row["name"], row["state"], bool(row["effect"]), int(row["ms"])) for row in rows
    )


def _deliveries(tx: Tx, turn_id: str) -> tuple[Sent, ...]:
    rows = tx.all(
        "SELECT kind, state, message_id, error FROM deliveries WHERE turn_id = ? ORDER BY id",
        turn_id,
    )
    return tuple(Sent(**dict(row)) for row in rows)
