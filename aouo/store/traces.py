"""Shows how one turn went, step by step, what is at work, and which gates are open."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain
from typing import Any, ClassVar, TypeAlias

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.events import Inbound
from aouo.facts.records import Recorded
from aouo.facts.work import Gate, Working
from aouo.plumbing.control import Facts
from aouo.store import turn_reports
from aouo.store.database import Tx
from aouo.store.gates import gate_of
from aouo.store.jobs import inbound_of
from aouo.store.rendered import load
from aouo.store.rows import made
from aouo.store.snapshots import Query, Snapshot
from aouo.store.turn_reports import READ_CHARS, TurnLine

_ENTRIES_MAX = 200
"""Of each kind."""
_ASKED = "the owner is asked"


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of a pipeline took, all `calls` of it together and without the steps inside
    it; its name is `pipeline.step`. `at_ms` is when it first began."""

    kind: ClassVar[str] = "step"
    at_ms: int
    ms: float
    name: str
    calls: int


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One model call, or a call to another service; money in USD, 0 if `unpriced`."""

    kind: ClassVar[str] = "call"
    at_ms: int
    ms: int
    scope: str
    provider: str
    model: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_usd: float
    unpriced: bool


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call; `state` is intent | done | failed | unknown.

    `verdict` is allowed | refused, "" = it was not judged, or its question had no answer. `judge`
    decided, for the `reason`; `asked_by` is the judge who had the owner asked, "" = none.
    """

    kind: ClassVar[str] = "tool"
    at_ms: int
    ms: int
    id: str
    name: str
    state: str
    effect: bool
    verdict: str
    judge: str
    reason: str
    asked_by: str


@dataclass(frozen=True, slots=True)
class Wait:
    """The turn waited for a person; `state` is open | answered | expired | closed, `wait` clarify |
    approval."""

    kind: ClassVar[str] = "wait"
    at_ms: int
    ms: int
    wait: str
    person: str
    state: str


@dataclass(frozen=True, slots=True)
class Sent:
    """One message that the turn queued, and what became of it: `error` is what the platform said.
    `edits` is the message that it replaces, 0 = none. A `live` one is `ended` once the answer took
    its place, or it was taken away."""

    kind: ClassVar[str] = "message"
    at_ms: int
    ms: int
    message: str
    state: str
    message_id: int
    edits: int
    attempts: int
    error: str


Entry: TypeAlias = Step | TracedCall | ToolUse | Wait | Sent


@dataclass(frozen=True, slots=True)
class Trace:
    """A turn, and what happened in it, in the order in which it began; milliseconds after the
    turn's start. `cut`: there is more of a kind than is shown."""

    turn: TurnLine
    recorded: Recorded
    timeline: tuple[Entry, ...]
    cut: bool


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
    """The newest turn whose id ends so; "" = the newest of all."""
    turn = tx.ask(turn_reports.ending(wanted))
    return _whole(turn, [tx.ask(query) for query in _parts(turn)]) if turn else None


async def ask(snapshot: Snapshot, turn: TurnLine) -> Trace:
    """What happened in a turn."""
    return _whole(turn, [await snapshot.ask(query) for query in _parts(turn)])


def _parts(turn: TurnLine) -> Sequence[Query[tuple[Recorded, list[Entry]]]]:
    """The queries of what happened in a turn."""
    if turn.off_record:
        return ()
    return (_own(turn), _calls(turn), _tools(turn), _waits(turn), _messages(turn))


def _whole(turn: TurnLine, found: Sequence[tuple[Recorded, list[Entry]]]) -> Trace:
    recorded = found[0][0] if found else Recorded()
    entries = chain.from_iterable(some[:_ENTRIES_MAX] for _, some in found)
    cut = any(len(some) > _ENTRIES_MAX for _, some in found)
    return Trace(turn, recorded, tuple(sorted(entries, key=lambda entry: entry.at_ms)), cut)


def facts(trace: Trace) -> Facts:
    """Return a trace for JSON."""
    told: Facts = asdict(trace.turn)
    told |= asdict(trace.recorded) | {"cut": trace.cut}
    told["timeline"] = [{"kind": entry.kind, **asdict(entry)} for entry in trace.timeline]
    return told


def _own(turn: TurnLine) -> Query[tuple[Recorded, list[Entry]]]:
    def read(rows: Sequence[sqlite3.Row]) -> tuple[Recorded, list[Entry]]:
        if not rows:  # ended with its session meanwhile
            return Recorded(), []
        try:
            recorded = Recorded.load(rows[0]["recorded"])
            meter: dict[str, list[Any]] = json.loads(rows[0]["meter"] or "{}")
        except (ValueError, TypeError, AttributeError):  # nobody can read it
            return Recorded(), []
        base_ms = _ms(turn.started_at, recorded.taken_up_at)
        steps: list[Entry] = [
            Step(base_ms + round(at_ms[0] if at_ms else 0), ms, name, calls)
            for name, (calls, ms, *at_ms) in meter.items()
        ]
        return recorded, steps

    return Query("SELECT meter, recorded FROM turns WHERE id = ?", (turn.id,), read)


def _calls(turn: TurnLine) -> Query[tuple[Recorded, list[Entry]]]:
    """Read the turn's calls; those that the runtime made on its own behalf have no session."""

    def read(row: sqlite3.Row) -> TracedCall:
        ended_ms, took_ms = _ms(turn.started_at, row["created_at"]), row["duration_ms"]
        return made(TracedCall, row, at_ms=max(0, ended_ms - took_ms), ms=took_ms)

    return Query(
        "SELECT * FROM usage_events WHERE session_id IN (?, '') AND turn_id = ? "
        "AND scope NOT LIKE 'tool:%' ORDER BY id LIMIT ?",
        (turn.session_id, turn.id, _ENTRIES_MAX + 1),
        lambda rows: (Recorded(), [read(row) for row in rows]),
    )


def _tools(turn: TurnLine) -> Query[tuple[Recorded, list[Entry]]]:
    def read(row: sqlite3.Row) -> ToolUse:
        first, last = row["first_reason"] or "", row["reason"] or ""
        asked = first.startswith(_ASKED)
        verdict = "refused" if row["stage"] == "BLOCKED" else "allowed"
        if row["stage"] is None or not (row["judge"] or row["stage"] != "FAILED"):
            # It is at work, or was cut off; its question may have no answer.
            verdict = "" if asked or row["first_reason"] is None else "allowed"
        return made(
            ToolUse,
            row,
            at_ms=_ms(turn.started_at, row["started_at"]),
            ms=_ms(row["started_at"], row["ended_at"]),
            verdict=verdict,
            judge=row["judge"] or ("" if asked else row["first_judge"] or ""),
            reason=last or first,
            asked_by=row["first_judge"] if asked else "",
        )

    return Query(
        "SELECT c.id, substr(c.name, 1, 100) AS name, c.state, c.effect, c.started_at, c.ended_at, "
        "last.stage, last.judge, substr(last.reason, 1, ?) AS reason, "
        "first.judge AS first_judge, substr(first.reason, 1, ?) AS first_reason "
        "FROM tool_calls AS c "
        "LEFT JOIN audit AS first ON first.call_id = c.id AND first.stage = 'EVALUATED' "
        "LEFT JOIN audit AS last ON last.call_id = c.id "
        "AND last.stage IN ('EXECUTED', 'FAILED', 'BLOCKED') "
        "WHERE c.turn_id = ? ORDER BY c.started_at, c.id LIMIT ?",
        (READ_CHARS, READ_CHARS, turn.id, _ENTRIES_MAX + 1),
        lambda rows: (Recorded(), [read(row) for row in rows]),
    )


def _waits(turn: TurnLine) -> Query[tuple[Recorded, list[Entry]]]:
    def read(row: sqlite3.Row) -> Wait:
        at_ms = _ms(turn.started_at, row["created_at"])
        took_ms = _ms(row["created_at"], row["settled_at"])
        return made(Wait, row, at_ms=at_ms, ms=took_ms, wait=row["kind"])

    return Query(
        "SELECT kind, person, state, created_at, settled_at FROM gates WHERE turn_id = ? "
        "ORDER BY created_at LIMIT ?",
        (turn.id, _ENTRIES_MAX + 1),
        lambda rows: (Recorded(), [read(row) for row in rows]),
    )


def _messages(turn: TurnLine) -> Query[tuple[Recorded, list[Entry]]]:
    def read(row: sqlite3.Row) -> Sent:
        at_ms = _ms(turn.started_at, row["created_at"])
        took_ms = _ms(row["created_at"], row["settled_at"])
        state = "ended" if (row["kind"], row["state"]) == ("live", "dropped") else row["state"]
        return made(Sent, row, at_ms=at_ms, ms=took_ms, message=row["kind"], state=state)

    return Query(
        "SELECT kind, state, message_id, edits, attempts, substr(error, 1, ?) AS error, "
        "created_at, settled_at FROM deliveries WHERE turn_id = ? ORDER BY id LIMIT ?",
        (READ_CHARS, turn.id, _ENTRIES_MAX + 1),
        lambda rows: (Recorded(), [read(row) for row in rows]),
    )


def _ms(since: str, until: str) -> int:
    """Milliseconds between two stored moments; 0 if one is not there, or the clock went back."""
    if not (since and until):
        return 0
    span = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    return max(0, round(span.total_seconds() * 1000))


def running(tx: Tx) -> list[Working]:
    """Return the jobs at work that other jobs of their lane wait for, the oldest first."""
    rows = tx.all(
        "SELECT j.*, coalesce(t.started_at, j.created_at) AS since FROM jobs AS j "
        "LEFT JOIN turns AS t ON t.job_id = j.id AND t.status = 'open' "
        "WHERE j.state = 'running' ORDER BY +j.id"  # by its id it walks all jobs
    )
    return [
        Working(row["id"], Lane(row["lane"]), inbound_of(row), row["since"])
        for row in rows
        if not Lane(row["lane"]).bypasses
    ]


def count_waiting(tx: Tx, address: ConversationAddress) -> int:
    """Return how many jobs of a conversation wait, and how many of its schedules' runs."""
    return tx.number(
        "SELECT (SELECT count(*) FROM jobs WHERE state = 'ready' AND lane = ?) + (SELECT count(*) "
        "FROM jobs WHERE state = 'ready' AND origin = 'cron' AND lane <> ? "
        "AND platform = ? AND chat_id = ? AND thread_id = ?) AS n",
        address.lane,
        address.lane,
        *address.topic_columns,
    )


_GATE_CHARS = 20_000
"""Of a question, and of the arguments of a call, that are read to be shown."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open gate since when, with the call that opened it: its tool, the beginning of its
    arguments and how large they are; `inbound` is what its turn answers."""

    gate: Gate
    since: str
    pack: str
    off_record: bool
    tool: str
    arguments: str
    arguments_bytes: int
    question_bytes: int
    inbound: Inbound
    buttons: Mapping[str, str]
    """What the buttons of its card say, by the answer they give."""


def open_gates(limit: int) -> Query[list[Opened]]:
    """The open gates, oldest first."""
    return Query(
        "SELECT g.id, g.kind, g.platform, g.chat_id, g.thread_id, g.user_id, g.person, g.turn_id, "
        "g.call_id, substr(g.question, 1, ?) AS question, g.options, g.state, g.answer, "
        "g.delivery_id, g.created_at, g.expires_at, g.origin, "
        "length(CAST(g.question AS BLOB)) AS question_bytes, "
        "coalesce(t.pack, '') AS pack, coalesce(t.off_record, 1) AS off_record, "
        "coalesce(c.name, '') AS tool, substr(coalesce(c.arguments, ''), 1, ?) AS arguments, "
        "length(CAST(coalesce(c.arguments, '') AS BLOB)) AS arguments_bytes, "
        "coalesce(j.body, '') AS body, coalesce(d.body, '') AS card FROM gates AS g "
        "LEFT JOIN turns AS t ON t.id = g.turn_id LEFT JOIN jobs AS j ON j.id = t.job_id "
        "LEFT JOIN tool_calls AS c ON c.id = g.call_id "
        "LEFT JOIN deliveries AS d ON d.id = g.delivery_id "
        "WHERE g.state = 'open' ORDER BY g.created_at, g.id LIMIT ?",
        (_GATE_CHARS, _GATE_CHARS, limit),
        _opened,
    )


def how_many() -> Query[int]:
    """How many gates are open."""
    return Query(
        "SELECT count(*) AS n FROM gates WHERE state = 'open'", (), lambda rows: rows[0]["n"]
    )


def _opened(rows: Sequence[sqlite3.Row]) -> list[Opened]:
    return [
        made(
            Opened,
            row,
            gate=gate_of(row),
            since=row["created_at"],
            inbound=inbound_of(row),
            buttons=_buttons(row["card"]),
        )
        for row in rows
    ]


def _buttons(card: str) -> dict[str, str]:
    shown = load(card).buttons if card else ()
    return {one.data.rpartition(":")[2]: one.label for row in shown for one in row}
