"""Forgets old conversations: settled turns lose their words and keep their rows."""

from __future__ import annotations

from dataclasses import replace

from aouo.facts.events import Inbound, Text
from aouo.store import media, results
from aouo.store.database import Tx

AT_ONCE = 100


def forget_turns(tx: Tx, before: str) -> int:
    """Empty up to `AT_ONCE` whole turns that ended before `before`; return how many.

    A turn that is open, or has messages to be sent, keeps its words.
    """
    newer = tx.one("SELECT id FROM messages WHERE created_at >= ? ORDER BY id LIMIT 1", before)
    rows = tx.all(
        "SELECT DISTINCT t.id, t.job_id, t.session_id FROM messages AS m "
        "JOIN turns AS t ON t.id = m.turn_id "
        "WHERE m.id < ? AND t.status <> 'open' AND t.settled_at < ? AND NOT EXISTS ("
        "SELECT 1 FROM deliveries AS d WHERE d.turn_id = t.id "
        "AND d.state IN ('queued', 'sending', 'live')) LIMIT ?",
        newer["id"] if newer else 1 << 62,
        before,
        AT_ONCE,
    )
    for row in rows:
        _forget_turn(tx, row["id"])
        _forget_job(tx, row["job_id"])
    for session in {row["session_id"] for row in rows}:
        tx.run(
            "UPDATE sessions SET title = '', titling = 'done' WHERE id = ? "
            "AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)",
            session,
        )
    if rows:
        tx.forget()
    return len(rows)


def forget_summaries(tx: Tx, before: str) -> int:
    """Delete old summaries whose messages are gone and whose facts are flushed; return how many."""
    return tx.run(
        "DELETE FROM summaries WHERE created_at < ? AND (facts = '' OR flushed_at <> '') "
        "AND NOT EXISTS (SELECT 1 FROM messages AS m "
        "WHERE m.session_id = source_session_id AND m.id <= upto_message_id)",
        before,
    )


def _forget_turn(tx: Tx, turn_id: str) -> None:
    tx.run("DELETE FROM messages WHERE turn_id = ?", turn_id)
    tx.run("UPDATE tool_calls SET arguments = '', result = '' WHERE turn_id = ?", turn_id)
    tx.run("UPDATE turns SET reason = '' WHERE id = ?", turn_id)
    tx.run("UPDATE gates SET question = '', options = '[]', answer = '' WHERE turn_id = ?", turn_id)
    tx.run("UPDATE deliveries SET body = '' WHERE turn_id = ?", turn_id)
    results.erase_of_turn(tx, turn_id)


def _forget_job(tx: Tx, job_id: int) -> None:
    """Empty a settled job unless another of its turns, such as one of /retry, is still kept."""
    row = tx.one(
        "SELECT body FROM jobs WHERE id = ? AND state IN ('done', 'dropped', 'aside') "
        "AND NOT EXISTS (SELECT 1 FROM messages AS m JOIN turns AS t ON t.id = m.turn_id "
        "WHERE t.job_id = jobs.id)",
        job_id,
    )
    if row is None:
        return
    blank = replace(Inbound.load(row["body"]), content=Text(""), title="")
    tx.run("UPDATE jobs SET body = ? WHERE id = ?", blank.dump(), job_id)
    tx.run("DELETE FROM edits WHERE job_id = ?", job_id)
    media.wipe(tx, job_id)
