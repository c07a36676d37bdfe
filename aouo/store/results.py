"""Stores the whole text of tool results of which the model reads only a handle."""

from __future__ import annotations

from typing import LiteralString

from aouo.store.database import Tx

_LINE: LiteralString = (
    "WITH RECURSIVE line (session_id) AS (SELECT ? UNION SELECT s.source_session_id "
    "FROM summaries AS s JOIN line ON s.session_id = line.session_id) "
)
"""A session and those that it continues: see `store.summaries`."""


def put(
    tx: Tx,
    session_id: str,
    result_id: str,
    text: str,
    now: str,
    *,
    turn_id: str,
    call_id: str,
    tool: str,
) -> None:
    """Keep a result's redacted text; a call that runs once more after a crash replaces its own.

    `result_id` is unique in its session.
    """
    tx.put(
        "results",
        {
            "id": result_id,
            "session_id": session_id,
            "turn_id": turn_id,
            "call_id": call_id,
            "tool": tool,
            "text": text,
            "created_at": now,
        },
        "ON CONFLICT (session_id, id) DO UPDATE SET turn_id = excluded.turn_id, "
        "call_id = excluded.call_id, tool = excluded.tool, text = excluded.text, "
        "created_at = excluded.created_at",
    )


def text_of(tx: Tx, session_id: str, result_id: str) -> str:
    """Return the whole text of a handle of this session or of one that it continues, "" = there
    is no such handle."""
    return tx.text(
        _LINE + "SELECT text FROM results JOIN line USING (session_id) WHERE id = ? "
        "ORDER BY results.created_at DESC LIMIT 1",
        session_id,
        result_id,
    )


def any_of(tx: Tx, session_id: str) -> bool:
    """Whether the session, or one that it continues, has a stored result."""
    return tx.finds(
        _LINE + "SELECT 1 FROM results JOIN line USING (session_id) LIMIT 1", session_id
    )


def erase_of_turn(tx: Tx, turn_id: str) -> int:
    """Delete a turn's results; return how many."""
    return tx.run("DELETE FROM results WHERE turn_id = ?", turn_id)


PRUNED_AT_ONCE = 50
"""A result may have megabytes."""


def prune(tx: Tx, before: str) -> int:
    """Delete some results from before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM results WHERE rowid IN "
        "(SELECT rowid FROM results WHERE created_at < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )
