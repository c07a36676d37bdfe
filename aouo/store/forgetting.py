"""Forgets old conversations: settled turns lose their words, and sessions without any are ended.

Each function does a part of it in its transaction, so that nobody waits long for the writer.
Whoever calls them has the write-ahead log emptied at the end (`Tx.forget`): that waits for the
disk, several times as long as a part takes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from aouo.facts.events import Inbound, Text
from aouo.store import contents, kept_changes
from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.turns import REPORT

_MESSAGES_AT_ONCE = 40
_TURNS_AT_ONCE = 40
_JOBS_AT_ONCE = 100
_SESSIONS_AT_ONCE = 10
Forgotten: TypeAlias = tuple[int, int]
"""What a part did: how many it forgot, and the last row it looked at, 0 = there are no more."""


def forget_deliveries(tx: Tx, before: str, after: int) -> Forgotten:
    """Delete what was settled before `before` among the next deliveries after `after`."""
    rows = tx.all(
        "SELECT id, created_at FROM deliveries WHERE id > ? ORDER BY id LIMIT ?",
        after,
        PRUNED_AT_ONCE,
    )
    old = [row["id"] for row in rows if row["created_at"] < before]
    if not old:
        return 0, 0
    many = tx.run(
        "DELETE FROM deliveries WHERE id > ? AND id <= ? AND settled_at <> '' AND settled_at < ? "
        "AND state NOT IN ('queued', 'sending', 'live')",
        after,
        old[-1],
        before,
    )
    return many, old[-1] if len(old) == len(rows) else 0


def forget_turns(tx: Tx, before: str, after: int) -> Forgotten:
    """Empty whole turns that ended before `before`, among the next messages after `after`, and
    delete what triggered turns brought in by then.

    A turn that is open, or has messages to be sent, keeps its words.
    """
    rows = tx.all(
        "SELECT id, turn_id, session_id, created_at FROM messages WHERE id > ? ORDER BY id LIMIT ?",
        after,
        _MESSAGES_AT_ONCE,
    )
    old = [row for row in rows if row["created_at"] < before]
    found = {row["turn_id"]: row["session_id"] for row in old}
    over = {turn: job for turn in found if (job := _job_if_over(tx, turn, before))}
    for turn, job in over.items():
        forget_turn(tx, turn)
        _forget_job(tx, job)
    brought = [turn for turn in found if turn.startswith(REPORT) and not _unsent(tx, turn)]
    for turn in brought:
        tx.run("DELETE FROM messages WHERE turn_id = ?", turn)
        tx.run("UPDATE deliveries SET body = '' WHERE turn_id = ?", turn.removeprefix(REPORT))
    for session in {found[turn] for turn in (*over, *brought)}:
        tx.run(
            "UPDATE sessions SET title = '', titling = 'done' WHERE id = ? "
            "AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)",
            session,
        )
    upto = old[-1]["id"] if old and len(old) == len(rows) else 0
    return len(over) + len(brought), upto


def forget_jobs(tx: Tx, before: str, after: int) -> Forgotten:
    """Empty what was settled before `before` and had no turn, or has none any more, among the next
    jobs after `after` that are not emptied: commands, taps, what was dropped or brought in; its
    count is of jobs."""
    rows = tx.all(
        "SELECT id, created_at, settled_at, EXISTS (SELECT 1 FROM turns WHERE job_id = jobs.id) "
        "AS answered FROM jobs WHERE forgotten = 0 AND id > ? ORDER BY id LIMIT ?",
        after,
        _JOBS_AT_ONCE,
    )
    old = [row for row in rows if row["created_at"] < before]
    emptied = [
        _forget_job(tx, row["id"])
        for row in old
        if not row["answered"] and "" < row["settled_at"] < before
    ]
    return sum(emptied), old[-1]["id"] if old and len(old) == len(rows) else 0


def end_sessions(tx: Tx, before: str) -> int:
    """Remove sessions that nobody went on in since `before` and that hold nothing any more, with
    their turns; return how many turns and sessions, 0 = there are no more.

    Their conversations begin in fresh ones. What was used, the audit and the rows of jobs and
    deliveries, without words, stay. A session stays that has a turn open, a message to be sent, or
    a summary that is still needed.
    """
    rows = tx.all(
        "SELECT s.id FROM sessions AS s WHERE s.updated_at < ? "
        "AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = s.id) "
        "AND NOT EXISTS (SELECT 1 FROM summaries WHERE session_id = s.id) "
        "AND NOT EXISTS (SELECT 1 FROM summaries WHERE source_session_id = s.id) "
        "AND NOT EXISTS (SELECT 1 FROM turns AS t WHERE t.session_id = s.id "
        "AND t.status = 'open') AND s.id NOT IN ("
        "SELECT t.session_id FROM deliveries AS d JOIN turns AS t ON t.id = d.turn_id "
        "WHERE d.state = 'queued' UNION ALL "
        "SELECT t.session_id FROM deliveries AS d JOIN turns AS t ON t.id = d.turn_id "
        "WHERE d.state = 'sending') ORDER BY s.updated_at LIMIT ?",
        before,
        _SESSIONS_AT_ONCE,
    )
    left = _TURNS_AT_ONCE
    for row in rows:
        left -= _end(tx, row["id"], left)
        if left <= 0:
            break
    if rows:
        tx.run(
            "UPDATE conversation_routes SET session_id = '', version = version + 1 "
            "WHERE session_id <> '' "
            "AND NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = session_id)"
        )
    return _TURNS_AT_ONCE - left


def _end(tx: Tx, session_id: str, at_most: int) -> int:
    """Remove up to so many turns of a session, and itself when none is left; return how many rows
    of both."""
    turns = tx.all("SELECT id FROM turns WHERE session_id = ? LIMIT ?", session_id, at_most)
    for row in turns:
        tx.run("DELETE FROM tool_calls WHERE turn_id = ?", row["id"])
        tx.run(
            "DELETE FROM asked_calls WHERE gate_id IN (SELECT id FROM gates WHERE turn_id = ?)",
            row["id"],
        )
        tx.run("DELETE FROM gates WHERE turn_id = ?", row["id"])
        tx.run("DELETE FROM turns WHERE id = ?", row["id"])
    if len(turns) == at_most:
        return at_most
    tx.run("DELETE FROM results WHERE session_id = ?", session_id)
    tx.run("DELETE FROM sessions WHERE id = ?", session_id)
    return len(turns) + 1


def forget_summaries(tx: Tx, before: str) -> int:
    """Delete some old summaries whose messages are gone and whose facts are flushed; return how
    many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM summaries WHERE id IN (SELECT id FROM summaries WHERE created_at < ? "
        "AND (facts = '' OR flushed_at <> '') AND NOT EXISTS (SELECT 1 FROM messages AS m "
        "WHERE m.session_id = source_session_id AND m.id <= upto_message_id) LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )


def _job_if_over(tx: Tx, turn_id: str, before: str) -> int:
    """The job of a turn that ended before `before` and has nothing more to send, 0 = it has not."""
    return tx.number(
        "SELECT t.job_id FROM turns AS t WHERE t.id = ? AND t.status <> 'open' "
        "AND t.settled_at < ? AND NOT EXISTS (SELECT 1 FROM deliveries AS d "
        "WHERE d.turn_id = t.id AND d.state IN ('queued', 'sending', 'live'))",
        turn_id,
        before,
    )


def _unsent(tx: Tx, brought: str) -> bool:
    """Whether there are messages to be sent of what a triggered turn brought in."""
    return tx.finds(
        "SELECT 1 FROM deliveries WHERE turn_id = ? AND state IN ('queued', 'sending', 'live')",
        brought.removeprefix(REPORT),
    )


def forget_turn(tx: Tx, turn_id: str) -> None:
    """Take the words out of a turn that is over."""
    tx.run("DELETE FROM messages WHERE turn_id = ?", turn_id)
    tx.run("UPDATE tool_calls SET arguments = '', result = '' WHERE turn_id = ?", turn_id)
    tx.run("UPDATE turns SET reason = '' WHERE id = ?", turn_id)
    tx.run("UPDATE gates SET question = '', options = '[]', answer = '' WHERE turn_id = ?", turn_id)
    tx.run("UPDATE deliveries SET body = '' WHERE turn_id = ?", turn_id)
    contents.erase_results(tx, turn_id)
    contents.erase_prompts(tx, turn_id)
    kept_changes.forget_turn(tx, turn_id)


def _forget_job(tx: Tx, job_id: int) -> bool:
    """Empty a settled job unless another of its turns, such as one of /retry, is still kept; False
    = it stays, or was empty."""
    row = tx.one(
        "SELECT body, carried FROM jobs WHERE id = ? AND state IN ('done', 'dropped', 'aside') "
        "AND NOT EXISTS (SELECT 1 FROM messages AS m JOIN turns AS t ON t.id = m.turn_id "
        "WHERE t.job_id = jobs.id)",
        job_id,
    )
    if row is None:
        return False
    blank = _blank(row["body"])
    tx.run("UPDATE jobs SET body = ?, carried = '', forgotten = 1 WHERE id = ?", blank, job_id)
    if row["body"] == blank and not row["carried"]:
        return False
    tx.run("DELETE FROM edits WHERE job_id = ?", job_id)
    contents.wipe_files(tx, job_id)
    return True


def _blank(body: str) -> str:
    try:
        return replace(Inbound.load(body), content=Text(""), title="").dump()
    except (ValueError, LookupError, TypeError, AttributeError):  # nobody can read it
        return ""
