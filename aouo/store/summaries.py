"""Stores summaries, which stand for a session's older messages; these stay stored.

The newest summary that is not undone stands for all messages up to the one it names. A session
that continues another one begins with a summary of that one's messages. The other's messages after
it, up to where it was left, come before the session's own; once it is undone, all of them do.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from aouo.facts.history import NEWEST, Draft, HistoryEntry, Reach, Stretch, Summary
from aouo.store import turns
from aouo.store.database import Tx
from aouo.store.rows import columns, made


def reach(tx: Tx, session_id: str, until: int = NEWEST) -> Reach:
    """Return the summary that stands, and the stretches of messages that it does not stand for.

    It takes one indexed look-up for a session that was never summarised.
    """
    found = [_summary(row) for row in _rows(tx, session_id) if row["upto_message_id"] <= until]
    newest_id = found[-1].id if found else 0
    undone = bool(found) and found[-1].undone
    standing = next((item for item in reversed(found) if not item.undone), None)
    own = Stretch(session_id, standing.upto_message_id if standing else 0, until)
    seed = next((item for item in found if item.source_session_id != session_id), None)
    covered_id = standing.upto_message_id if standing else 0
    if seed is None or covered_id >= seed.through_message_id:
        return Reach(standing, (own,), newest_id, undone)
    before = reach(tx, seed.source_session_id, seed.through_message_id)
    # Ids grow over all sessions: a summary of this one may end inside the other's messages.
    kept = [
        replace(part, after=max(part.after, covered_id))
        for part in before.stretches
        if covered_id < part.until
    ]
    return Reach(standing or before.summary, (*kept, own), newest_id, undone)


def covered(tx: Tx, found: Reach, limit: int) -> list[HistoryEntry]:
    """The newest `limit` entries of these stretches with their row ids, oldest first."""
    entries: list[HistoryEntry] = []
    for part in reversed(found.stretches):
        left = limit - len(entries)
        if left > 0:
            newer = turns.entries(tx, part.session_id, left, after=part.after, until=part.until)
            entries = [*newer, *entries]
    return entries


def add(tx: Tx, session_id: str, draft: Draft, now: str, *, behind: int) -> int:
    """Store a summary and return its id; 0 = the session's newest one is not `behind` any more."""
    row = tx.one("SELECT max(id) AS id FROM summaries WHERE session_id = ?", session_id)
    if row and (row["id"] or 0) != behind:
        return 0
    return tx.insert(
        "summaries",
        {
            **columns(draft),
            "session_id": session_id,
            "through_message_id": max(draft.upto_message_id, draft.through_message_id),
            "created_at": now,
        },
    )


def get(tx: Tx, summary_id: int) -> Summary | None:
    row = tx.one("SELECT * FROM summaries WHERE id = ?", summary_id)
    return _summary(row) if row else None


def undo(tx: Tx, summary_id: int, now: str) -> bool:
    """Undo a summary, so that its messages are read again; False = it was undone already."""
    return tx.changes(
        "UPDATE summaries SET undone_at = ? WHERE id = ? AND undone_at = ''", now, summary_id
    )


def flushed(tx: Tx, summary_id: int, now: str) -> None:
    """Mark a summary's facts as flushed: memory has taken or refused them."""
    tx.run("UPDATE summaries SET flushed_at = ? WHERE id = ?", now, summary_id)


def _rows(tx: Tx, session_id: str) -> list[sqlite3.Row]:
    return list(tx.all("SELECT * FROM summaries WHERE session_id = ? ORDER BY id", session_id))


def _summary(row: sqlite3.Row) -> Summary:
    flushed, undone = bool(row["flushed_at"]), bool(row["undone_at"])
    return made(Summary, row, flushed=flushed, undone=undone)
