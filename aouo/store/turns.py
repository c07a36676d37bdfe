"""Stores turns, their messages and their tool calls."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, LiteralString, cast

from aouo.facts import transcript
from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.events import Inbound, Thought
from aouo.facts.ids import ulid
from aouo.facts.records import NEWEST, Effect, HistoryEntry
from aouo.facts.work import OpenTurn
from aouo.store.database import Tx
from aouo.store.jobs import inbound_of
from aouo.store.rows import columns, made

Status = Literal["ack", "nack", "aborted"]
REPORT = "report:"
"""In place of a turn's id: what a turn with the id after it brought into a conversation."""
_LOOKED_BACK = 200
"""How many of a session's newest turns are searched for one that answers a given person."""


def open_turn(
    tx: Tx,
    job_id: int,
    session_id: str,
    pack: str,
    skill: str,
    said: str,
    now: str,
    *,
    off_record: bool = False,
) -> OpenTurn:
    """Begin a turn with the person's message as its first row."""
    turn = OpenTurn(ulid(), session_id, pack, skill, 0, off_record)
    tx.put("turns", {**columns(turn), "job_id": job_id, "status": "open", "started_at": now})
    _append(tx, turn.session_id, turn.id, "user", said, now)
    return turn


def reopen(tx: Tx, job_id: int) -> OpenTurn | None:
    """Return the turn that an earlier process left open for this job, counted as resumed."""
    row = tx.one(
        "UPDATE turns SET resumes = resumes + 1 WHERE job_id = ? AND status = 'open' RETURNING *",
        job_id,
    )
    return _open(row) if row else None


def settle_tenant(tx: Tx, turn_id: str, tenant: str) -> str:
    """Return whose data a turn uses: what was settled when it began, else `tenant` from now on."""
    tx.run("UPDATE turns SET tenant = ? WHERE id = ? AND tenant = ''", tenant, turn_id)
    return tx.text("SELECT tenant FROM turns WHERE id = ?", turn_id)


def append_report(tx: Tx, session_id: str, turn_id: str, about: str, text: str, now: str) -> None:
    """Make the result of a triggered turn history of a conversation, so that it can be answered.

    `about` says what was asked of that turn.
    """
    rows = [
        _append(tx, session_id, f"{REPORT}{turn_id}", role, words, now)
        for role, words in (("user", about), ("assistant", text))
    ]
    tx.run("UPDATE messages SET visible = 1 WHERE id IN (?, ?)", *rows)


def take_back(tx: Tx, turn_id: str, line: Callable[[Sequence[str]], str], now: str) -> str:
    """Hide a turn from its session's history; return the person's words, "" = there are none.

    The words include edits that came while the turn ran. If its calls took effect, the words and
    a `line` that names the tools are appended to the history, so that a model that answers again
    knows what was done.
    """
    rows = _rows_of(tx, turn_id)
    if not rows:
        return ""
    tx.run("UPDATE messages SET visible = 0 WHERE turn_id = ?", turn_id)
    if done := effects(tx, turn_id):
        session_id = rows[0]["session_id"]
        words = _append(tx, session_id, turn_id, "user", rows[0]["text"], now)
        note = _append(tx, session_id, turn_id, "assistant", line(done), now)
        tx.run("UPDATE messages SET visible = 1 WHERE id IN (?, ?)", words, note)
    return _words(rows)


def words(tx: Tx, turn_id: str) -> str:
    """Return the person's words of a turn as `take_back` does; "" = they were not kept."""
    return _words(_rows_of(tx, turn_id))


def newest_closed(tx: Tx, session_id: str, person: str) -> str:
    """Return the id of the session's newest settled turn that answers this person, "" = none of
    the newest `_LOOKED_BACK` does."""
    return tx.text(
        "SELECT t.id FROM (SELECT id, job_id FROM turns WHERE session_id = ? "
        "AND status <> 'open' ORDER BY id DESC LIMIT ?) AS t "
        "JOIN jobs AS j ON j.id = t.job_id WHERE j.person = ? ORDER BY t.id DESC LIMIT 1",
        session_id,
        _LOOKED_BACK,
        person,
    )


def hide(tx: Tx, turn_id: str) -> None:
    """Hide a turn from the history, because its words are asked again."""
    tx.run("UPDATE messages SET visible = 0 WHERE turn_id = ?", turn_id)


def outcome(tx: Tx, turn_id: str) -> tuple[str, str]:
    """Return the answer of a turn, and why it has none; "" each where there is nothing."""
    row = tx.one("SELECT reason FROM turns WHERE id = ?", turn_id)
    said = tx.one(
        "SELECT text FROM messages WHERE turn_id = ? AND role = 'assistant' ORDER BY id DESC "
        "LIMIT 1",
        turn_id,
    )
    return said["text"] if said else "", row["reason"] if row else ""


def ended(tx: Tx, job_id: int) -> tuple[str, str, str] | None:
    """Return (id, session, status) of a job's newest turn, if that has ended."""
    row = tx.one(
        "SELECT id, session_id, status FROM turns WHERE job_id = ? ORDER BY id DESC LIMIT 1", job_id
    )
    return tuple(row) if row and row["status"] != "open" else None


def open_of(tx: Tx, job_id: int) -> OpenTurn | None:
    """The turn of this job that has not ended."""
    return tx.first(_open, "SELECT * FROM turns WHERE job_id = ? AND status = 'open'", job_id)


def open_in(tx: Tx, lane: Lane) -> list[str]:
    """Return the ids of the lane's open turns, running or to be resumed."""
    statements: tuple[LiteralString, ...] = (
        "SELECT turns.id FROM jobs JOIN turns ON turns.job_id = jobs.id "
        "WHERE jobs.lane = ? AND jobs.state = 'running' AND turns.status = 'open'",
        "SELECT turns.id FROM jobs JOIN turns ON turns.job_id = jobs.id "
        "WHERE jobs.lane = ? AND jobs.state = 'ready' AND turns.status = 'open'",
    )
    return [row["id"] for statement in statements for row in tx.all(statement, lane)]


def _open(row: sqlite3.Row) -> OpenTurn:
    return made(OpenTurn, row)


def said(tx: Tx, turn_id: str) -> list[transcript.Message]:
    """Everything this turn has recorded so far, the person's message first."""
    return [_message(row) for row in _rows_of(tx, turn_id)]


def history(
    tx: Tx, session_id: str, limit: int, *, after: int = 0, until: int = NEWEST
) -> list[transcript.Message]:
    """The newest `limit` visible entries of a session, oldest first; ids in (`after`, `until`]."""
    return [entry.message for entry in entries(tx, session_id, limit, after=after, until=until)]


def entries(
    tx: Tx, session_id: str, limit: int, *, after: int = 0, until: int = NEWEST
) -> list[HistoryEntry]:
    """As `history`, each with its row's id and its turn."""
    rows = tx.all(
        "SELECT id, turn_id, role, text, calls, call_id, tool, failed, native FROM messages "
        "WHERE session_id = ? AND visible = 1 AND id > ? AND id <= ? ORDER BY id DESC LIMIT ?",
        session_id,
        after,
        until,
        limit,
    )
    # Taken apart by position: this runs for every message of every turn.
    return [
        HistoryEntry(row_id, turn_id, _read(role, text, calls, call_id, tool, failed, native))
        for row_id, turn_id, role, text, calls, call_id, tool, failed, native in reversed(rows)
    ]


def of_others(tx: Tx, session_id: str, own: Sequence[str]) -> dict[str, str]:
    """Return turn → whose, of the turns that people besides `own` began in a session, or in those
    that its summaries stand for."""
    rows = tx.all(
        "WITH RECURSIVE s(id) AS (SELECT ? UNION "
        "SELECT source_session_id FROM summaries JOIN s ON summaries.session_id = s.id) "
        "SELECT DISTINCT m.turn_id, coalesce(nullif(CASE WHEN json_valid(j.body) THEN "
        "json_extract(j.body, '$.person.name') END, ''), j.person) AS name FROM s "
        "JOIN messages AS m ON m.session_id = s.id AND m.visible = 1 AND m.role = 'user' "
        "JOIN turns AS t ON t.id = replace(m.turn_id, ?, '') JOIN jobs AS j ON j.id = t.job_id "
        "WHERE j.person NOT IN (SELECT value FROM json_each(?))",
        session_id,
        REPORT,
        json.dumps(own),
    )
    return {row["turn_id"]: f"a message of {row['name']}" for row in rows}


def tally(tx: Tx, session_id: str, *, after: int, until: int) -> tuple[int, int]:
    """Return the count of visible entries with ids in (`after`, `until`], and the ids' sum.

    Both are the same as before only if the entries are: a turn's rows become visible together, at
    its end, and later ones only when others are hidden; ids are never used again; the words of a
    visible row are never rewritten.
    """
    row = tx.one(
        "SELECT count(*), coalesce(sum(id), 0) FROM messages "
        "WHERE session_id = ? AND visible = 1 AND id > ? AND id <= ?",
        session_id,
        after,
        until,
    )
    return (row[0], row[1]) if row else (0, 0)


def nth(tx: Tx, session_id: str, number: int, *, after: int, until: int) -> int:
    """Return the id of the visible entry `number`, from 1, of those with ids in (`after`,
    `until`]."""
    row = tx.one(
        "SELECT id FROM messages WHERE session_id = ? AND visible = 1 AND id > ? AND id <= ? "
        "ORDER BY id LIMIT 1 OFFSET ?",
        session_id,
        after,
        until,
        number - 1,
    )
    return row["id"] if row else until


def record_calls(
    tx: Tx, turn: OpenTurn, entry: transcript.AssistantSaid, idempotent: Sequence[bool], now: str
) -> None:
    """Append the model's words with its calls, each as an intent."""
    calls = transcript.dump_calls(entry.calls)
    _append(
        tx, turn.session_id, turn.id, "assistant", entry.text, now, calls=calls, native=entry.native
    )
    for call, may in zip(entry.calls, idempotent, strict=True):
        tx.put(
            "tool_calls",
            {
                **columns(call),
                "turn_id": turn.id,
                "again": may,
                "state": "intent",
                "started_at": now,
            },
        )


def record_result(
    tx: Tx, turn: OpenTurn, result: transcript.ToolReturned, state: str, effect: bool, now: str
) -> None:
    """Append a call's result; the intent becomes `done`, `failed` or `unknown`."""
    tx.run(
        "UPDATE tool_calls SET state = ?, result = ?, effect = ?, ended_at = ? WHERE id = ?",
        state,
        result.text,
        int(effect),
        now,
        result.call_id,
    )
    tx.put(
        "messages",
        {
            "session_id": turn.session_id,
            "turn_id": turn.id,
            "role": "tool",
            "text": result.text,
            "call_id": result.call_id,
            "tool": result.name,
            "failed": result.failed,
            "created_at": now,
        },
    )


def record_nudge(tx: Tx, turn: OpenTurn, said_by_model: str, nudge: str, now: str) -> None:
    """Append a rejected answer, if it has words, and the nudge that the model reads instead."""
    if said_by_model:
        _append(tx, turn.session_id, turn.id, "assistant", said_by_model, now)
    _append(tx, turn.session_id, turn.id, "user", nudge, now)


def record_line(tx: Tx, turn: OpenTurn, line: str, now: str) -> None:
    """Append what happened around the turn, as the model reads it."""
    _append(tx, turn.session_id, turn.id, "user", line, now)


def _session_of(tx: Tx, turn_id: str) -> str:
    """The session of a turn, "" = there is no such turn."""
    row = tx.one("SELECT session_id FROM turns WHERE id = ?", turn_id) if turn_id else None
    return row["session_id"] if row else ""


def shown_in(tx: Tx, turn_id: str) -> str:
    """The session that people answer a turn's messages in: the one it was brought into, if it ran
    apart, else its own; "" = there is no such turn."""
    row = tx.one("SELECT session_id FROM messages WHERE turn_id = ? LIMIT 1", f"{REPORT}{turn_id}")
    return row["session_id"] if row else _session_of(tx, turn_id)


def pack_of(tx: Tx, turn_id: str) -> str:
    """The pack of a turn, "" = it had none, or there is no such turn."""
    row = tx.one("SELECT pack FROM turns WHERE id = ?", turn_id) if turn_id else None
    return row["pack"] if row else ""


def session_of_job(tx: Tx, job_id: int) -> str:
    """The session of a job's newest turn, "" = it had none."""
    return tx.text("SELECT session_id FROM turns WHERE job_id = ? ORDER BY id DESC LIMIT 1", job_id)


_EFFECT: Final = (
    "SELECT c.id, t.pack, c.name, c.arguments, c.result, c.started_at, c.state = 'unknown' AS "
    "unknown, j.origin "
)
_OF_CALL: Final = "JOIN turns AS t ON t.id = c.turn_id JOIN jobs AS j ON j.id = t.job_id "


def effects_of(
    tx: Tx, address: ConversationAddress | None, person: str, call_id: str = ""
) -> list[Effect]:
    """Return what calls in this person's newest turns changed, here (None = anywhere), the newest
    first; of that one call only, if it is named. An undo is one only if it is named, or put another
    one back."""
    chat = address.topic_columns if address else ("", "", "")
    if call_id:
        rows = tx.all(
            f"{_EFFECT}FROM tool_calls AS c {_OF_CALL}WHERE c.id = ? AND c.effect = 1 "
            "AND j.person = ? "
            "AND (? = '' OR (j.platform = ? AND j.chat_id = ? AND j.thread_id = ?))",
            *(call_id, person, chat[0], *chat),
        )
    else:
        rows = tx.all(
            f"{_EFFECT}FROM tool_calls AS c INDEXED BY tool_calls_effects "
            "CROSS JOIN turns AS t ON t.id = c.turn_id CROSS JOIN jobs AS j ON j.id = t.job_id "
            "WHERE c.effect = 1 AND j.person = ? "
            "AND (? = '' OR (j.platform = ? AND j.chat_id = ? AND j.thread_id = ?)) "
            "AND (c.name <> 'undo' OR "
            "CASE WHEN json_valid(c.arguments) THEN c.arguments ->> 'again' END) "
            "ORDER BY c.rowid DESC LIMIT 50",
            *(person, chat[0], *chat),
        )
    return [_effect(row) for row in rows]


UNSURE: Final = "asked back"
"""The outcome of a job whose words were not understood at once."""


def last_effects(
    tx: Tx, address: ConversationAddress, person: str, since: str, job_id: int
) -> list[tuple[Effect, bool, bool]]:
    """Return what calls changed for this person here, in turns of other jobs that began `since`
    then, the last first; whether a model had asked for each; and whether words came since that did
    nothing.
    """
    rows = tx.all(
        f"{_EFFECT}, EXISTS (SELECT 1 FROM usage_events AS u WHERE u.session_id = t.session_id "
        "AND u.turn_id = t.id AND u.model <> '') AS by_model, "
        "EXISTS (SELECT 1 FROM jobs AS b WHERE b.lane = j.lane AND b.person = j.person "
        "AND b.id > j.id AND b.id < ? AND (b.outcome = ? OR b.outcome = 'turn' AND NOT EXISTS "
        "(SELECT 1 FROM turns AS s JOIN tool_calls AS d ON d.turn_id = s.id WHERE s.job_id = b.id)"
        ")) AS unsure "
        "FROM turns AS t JOIN tool_calls AS c ON c.turn_id = t.id "
        "JOIN jobs AS j ON j.id = t.job_id WHERE t.started_at >= ? AND j.id <> ? "
        "AND j.person = ? AND j.platform = ? AND j.chat_id = ? AND j.thread_id = ? "
        "AND c.effect = 1 AND c.name <> 'undo' ORDER BY c.rowid DESC LIMIT 50",
        job_id,
        UNSURE,
        since,
        job_id,
        person,
        *address.topic_columns,
    )
    return [(_effect(row), bool(row["by_model"]), bool(row["unsure"])) for row in rows]


def undone_before(tx: Tx, call_id: str) -> str:
    """Return the call that put another one back before this one took its place, "" = none did."""
    return tx.text(
        "SELECT u.id FROM tool_calls AS c JOIN tool_calls AS u ON u.turn_id = c.turn_id "
        "WHERE c.id = ? AND u.name = 'undo' AND u.state = 'done' AND u.rowid < c.rowid",
        call_id,
    )


def effects_in(tx: Tx, turn_id: str) -> list[Effect]:
    """Return what the calls of a turn changed, or may have, in order."""
    rows = tx.all(
        f"{_EFFECT}FROM tool_calls AS c {_OF_CALL}WHERE c.turn_id = ? "
        "AND (c.effect = 1 OR c.state = 'unknown') "
        "ORDER BY c.rowid",
        turn_id,
    )
    return [_effect(row) for row in rows]


def effects_of_phrase(tx: Tx, job_id: int) -> list[Effect]:
    """Return what the turns of a job changed without a model, the newest first."""
    rows = tx.all(
        f"{_EFFECT}FROM tool_calls AS c {_OF_CALL}WHERE t.job_id = ? AND c.effect = 1 "
        "AND c.name <> 'undo' AND NOT EXISTS (SELECT 1 FROM usage_events AS u WHERE "
        "u.session_id = t.session_id AND u.turn_id = t.id AND u.model <> '') "
        "ORDER BY c.rowid DESC",
        job_id,
    )
    return [_effect(row) for row in rows]


def _effect(row: sqlite3.Row) -> Effect:
    try:
        given: Any = json.loads(row["arguments"])
    except (ValueError, RecursionError):  # forgotten, or never whole
        given = {}
    known = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return made(Effect, row, given=known)


def asked_for(tx: Tx, call_id: str) -> tuple[str, str, Inbound] | None:
    """Return the pack of a call's turn, whose data it used, and what it answers, None = that is not
    kept any more."""
    row = tx.one(
        f"SELECT t.pack AS of_pack, t.tenant AS whose, j.* FROM tool_calls AS c {_OF_CALL}"
        "WHERE c.id = ? AND j.body <> ''",
        call_id,
    )
    return (row["of_pack"], row["whose"], inbound_of(row)) if row else None


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that was not made, because nobody was there to say yes."""

    id: str
    pack: str
    name: str
    arguments: str
    digest: str


_REFUSED: Final = (
    "SELECT c.id, t.pack, c.name, c.arguments, a.digest FROM audit AS a "
    "JOIN tool_calls AS c ON c.id = a.call_id JOIN turns AS t ON t.id = c.turn_id "
    "WHERE a.stage = 'BLOCKED' AND a.judge = 'nobody' AND a.digest <> '' AND "
)


def refused_calls(tx: Tx, turn_id: str) -> list[RefusedCall]:
    """Return the calls of a turn that nobody was there to say yes to."""
    rows = tx.all(_REFUSED + "a.turn_id = ? ORDER BY a.id", turn_id)
    return [made(RefusedCall, row) for row in rows]


def refused_call(
    tx: Tx, call_id: str, address: ConversationAddress, person: str, since: str
) -> RefusedCall | None:
    """Return such a call of a turn for this person here, not older than `since`."""
    row = tx.one(
        _REFUSED + "a.call_id = ? AND a.at >= ? AND EXISTS (SELECT 1 FROM jobs AS j "
        "WHERE j.id = t.job_id AND j.person = ? AND j.platform = ? AND j.chat_id = ?)",
        call_id,
        since,
        person,
        address.platform,
        address.chat_id,
    )
    return made(RefusedCall, row) if row else None


def intents(tx: Tx, turn_id: str) -> dict[str, bool]:
    """Return the calls with an intent and no result: call id → whether it may run again.

    A call that waited for an approval and never began may, even if it is not idempotent.
    """
    rows = tx.all(
        "SELECT id, again OR EXISTS (SELECT 1 FROM asked_calls WHERE call_id = tool_calls.id "
        "AND used = 0) AS again "
        "FROM tool_calls WHERE turn_id = ? AND state = 'intent'",
        turn_id,
    )
    return {row["id"]: bool(row["again"]) for row in rows}


def cut_off(tx: Tx, call_id: str, now: str) -> None:
    """Mark a call that was stopped while it ran as `unknown`: it may have taken effect."""
    tx.run(
        "UPDATE tool_calls SET state = 'unknown', ended_at = ? WHERE id = ? AND state = 'intent'",
        now,
        call_id,
    )


def newest_status(tx: Tx) -> str:
    """How the newest turn of all ended, "" = there is none."""
    return tx.text("SELECT status FROM turns ORDER BY id DESC LIMIT 1")


def effects(tx: Tx, turn_id: str) -> list[str]:
    """Names of the tools whose calls took effect, or may have, in order."""
    rows = tx.all(
        "SELECT name FROM tool_calls WHERE turn_id = ? AND (effect = 1 OR state = 'unknown') "
        "ORDER BY started_at, id",
        turn_id,
    )
    return [row["name"] for row in rows]


def close_ack(
    tx: Tx, turn: OpenTurn, answer: transcript.AssistantSaid, thoughts: Sequence[Thought], now: str
) -> None:
    """Settle a turn with its answer as the last entry; all of it becomes history."""
    _append(
        tx,
        turn.session_id,
        turn.id,
        "assistant",
        answer.text,
        now,
        native=answer.native,
        thoughts=json.dumps([asdict(item) for item in thoughts]) if thoughts else "",
    )
    tx.run("UPDATE messages SET visible = 1 WHERE turn_id = ?", turn.id)
    _close(tx, turn, "ack", "", now)


def close_without_answer(tx: Tx, turn: OpenTurn, status: Status, line: str, now: str) -> None:
    """Settle a turn; history keeps the person's message and a `line` that says what happened."""
    tx.run(
        "UPDATE messages SET visible = 1 WHERE id = "
        "(SELECT min(id) FROM messages WHERE turn_id = ?)",
        turn.id,
    )
    note = _append(tx, turn.session_id, turn.id, "assistant", line, now)
    tx.run("UPDATE messages SET visible = 1 WHERE id = ?", note)
    _close(tx, turn, status, line, now)


def close_erased(tx: Tx, turn_id: str, now: str) -> None:
    """Abort an off-the-record turn that is not resumed, without a trace in the history."""
    tx.run("UPDATE turns SET status = 'aborted', settled_at = ? WHERE id = ?", now, turn_id)


def _close(tx: Tx, turn: OpenTurn, status: Status, reason: str, now: str) -> None:
    tx.run(
        "UPDATE turns SET status = ?, reason = ?, settled_at = ? WHERE id = ?",
        status,
        reason,
        now,
        turn.id,
    )


def _append(
    tx: Tx,
    session_id: str,
    turn_id: str,
    role: str,
    text: str,
    now: str,
    *,
    calls: str = "",
    thoughts: str = "",
    native: str = "",
) -> int:
    return tx.insert(
        "messages",
        {
            "session_id": session_id,
            "turn_id": turn_id,
            "role": role,
            "text": text,
            "calls": calls,
            "thoughts": thoughts,
            "native": native,
            "created_at": now,
        },
    )


def _words(rows: Sequence[sqlite3.Row]) -> str:
    return "\n".join(one["text"] for one in rows if one["role"] == "user")


def _rows_of(tx: Tx, turn_id: str) -> Sequence[sqlite3.Row]:
    return tx.all("SELECT * FROM messages WHERE turn_id = ? ORDER BY id", turn_id)


def _message(row: sqlite3.Row) -> transcript.Message:
    return _read(
        row["role"],
        row["text"],
        row["calls"],
        row["call_id"],
        row["tool"],
        row["failed"],
        row["native"],
    )


def _read(
    role: str, text: str, calls: str, call_id: str, tool: str, failed: int, native: str
) -> transcript.Message:
    if role == "user":
        return transcript.UserSaid(text)
    if role == "assistant":
        return transcript.AssistantSaid(text, transcript.load_calls(calls) if calls else (), native)
    return transcript.ToolReturned(call_id, tool, text, bool(failed))
