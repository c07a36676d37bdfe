"""Stores the journal's lines, and how far they have been worked into MEMORY.md."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from aouo.facts.events import Inbound, Triggered
from aouo.facts.records import JournalLine
from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.jobs import inbound_of
from aouo.store.rows import columns, made

KEPT = 1_000
"""Lines of one tenant with one pack; older ones are forgotten."""


@dataclass(frozen=True, slots=True)
class ToNote:
    """A session with something to note, after the message `after`; `inbound` is of its newest
    turn, with `pack`."""

    session_id: str
    after: int
    pack: str
    inbound: Inbound


def wish(tx: Tx, session_id: str, turn_id: str, due: str) -> None:
    """Have a session looked at when it is due, unless that is wished for already; the first time
    from this turn on."""
    tx.run(
        "UPDATE sessions SET journal_due = ?, journal_upto = CASE WHEN journal_upto > 0 "
        "THEN journal_upto ELSE coalesce((SELECT min(id) - 1 FROM messages WHERE turn_id = ?), 0) "
        "END WHERE id = ? AND journal_due = ''",
        due,
        turn_id,
        session_id,
    )


def any_due(tx: Tx, now: str, furthest: str) -> bool:
    """Whether a session is due; as in `due`."""
    return tx.finds(
        "SELECT 1 FROM sessions WHERE journal_due <> '' AND journal_due <= ? "
        "UNION ALL SELECT 1 FROM sessions WHERE journal_due <> '' AND journal_due > ? LIMIT 1",
        now,
        furthest,
    )


def due(tx: Tx, now: str, furthest: str, limit: int) -> list[ToNote]:
    """Return sessions that are due, the longest due first; one that is due after `furthest` is,
    since the clock was ahead when that was written."""
    rows = tx.all(
        "SELECT s.id AS session_id, s.journal_upto, t.pack, j.* FROM sessions AS s JOIN turns AS t "
        "ON t.id = (SELECT id FROM turns WHERE session_id = s.id ORDER BY id DESC LIMIT 1) "
        "JOIN jobs AS j ON j.id = t.job_id WHERE s.journal_due <> '' "
        "AND (s.journal_due <= ? OR s.journal_due > ?) ORDER BY s.journal_due LIMIT ?",
        now,
        furthest,
        limit,
    )
    return [
        ToNote(row["session_id"], row["journal_upto"], row["pack"], inbound_of(row)) for row in rows
    ]


def said_after(tx: Tx, session_id: str, after: int, limit: int) -> list[tuple[int, str, str, str]]:
    """Return (id, role, text, turn) of the oldest `limit` messages after `after`, without results
    of tools, and without what began by itself: nobody said that."""
    rows = tx.all(
        "SELECT id, role, text, turn_id FROM messages WHERE session_id = ? AND visible = 1 "
        "AND id > ? AND role <> 'tool' AND text <> '' AND turn_id NOT LIKE 'report:%' "
        "ORDER BY id LIMIT ?",
        session_id,
        after,
        limit,
    )
    return [(row["id"], row["role"], row["text"], row["turn_id"]) for row in rows]


def ask(tx: Tx, session_id: str, upto: int, due: str) -> None:
    """Remember that a turn looks at the messages up to `upto`; the session is due again then, ""
    = once more is said."""
    tx.run(
        "UPDATE sessions SET journal_asked = ?, journal_due = ? WHERE id = ?", upto, due, session_id
    )


def postpone(tx: Tx, session_id: str, due: str) -> None:
    """Make a session due later, "" = once more is said."""
    tx.run("UPDATE sessions SET journal_due = ? WHERE id = ?", due, session_id)


def done(tx: Tx, session_id: str) -> None:
    """Mark the messages that were looked at as done with."""
    tx.run(
        "UPDATE sessions SET journal_upto = max(journal_upto, journal_asked) WHERE id = ?",
        session_id,
    )


def origin_of(tx: Tx, turn_id: str, message_id: int) -> tuple[str, str, int] | None:
    """Return (role, text, job) of a message that this turn of the journal was asked to look at,
    None = it was not."""
    row = tx.one(
        "SELECT j.* FROM turns AS t JOIN jobs AS j ON j.id = t.job_id WHERE t.id = ?", turn_id
    )
    asked = inbound_of(row).content if row else None
    if not isinstance(asked, Triggered):
        return None
    found = tx.one(
        "SELECT m.role, m.text, coalesce(t.job_id, 0) AS job_id FROM messages AS m "
        "JOIN sessions AS s ON s.id = m.session_id LEFT JOIN turns AS t ON t.id = m.turn_id "
        "WHERE m.id = ? AND m.session_id = ? AND m.visible = 1 AND m.role <> 'tool' "
        "AND m.id > s.journal_upto AND m.id <= s.journal_asked",
        message_id,
        asked.trigger,
    )
    return (found["role"], found["text"], found["job_id"]) if found else None


def add(
    tx: Tx, pack: str, owner: str, line: JournalLine, job_id: int, call_id: str, now: str
) -> None:
    """Add a line of what was said in a job, once for a call; forget the oldest."""
    tx.put(
        "journal",
        {
            **columns(line, "id"),
            "pack": pack,
            "owner": owner,
            "job_id": job_id,
            "call_id": call_id,
            "created_at": now,
        },
        "ON CONFLICT DO NOTHING",
    )
    tx.run(
        "DELETE FROM journal WHERE pack = ? AND owner = ? AND id <= (SELECT id FROM journal "
        "WHERE pack = ? AND owner = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
        pack,
        owner,
        pack,
        owner,
        KEPT,
    )


def newest(tx: Tx, pack: str, owner: str, limit: int) -> list[JournalLine]:
    """Return the newest lines, newest first."""
    rows = tx.all(
        "SELECT id, day, text, basis, message_id FROM journal WHERE pack = ? AND owner = ? "
        "ORDER BY id DESC LIMIT ?",
        pack,
        owner,
        limit,
    )
    return _lines(rows)


def oldest(tx: Tx, pack: str, owner: str, limit: int, *, after: int) -> list[JournalLine]:
    """Return the oldest lines after the line `after`, oldest first."""
    rows = tx.all(
        "SELECT id, day, text, basis, message_id FROM journal WHERE pack = ? AND owner = ? "
        "AND id > ? ORDER BY id LIMIT ?",
        pack,
        owner,
        after,
        limit,
    )
    return _lines(rows)


def _lines(rows: Sequence[sqlite3.Row]) -> list[JournalLine]:
    return [made(JournalLine, row) for row in rows]


def words_of(tx: Tx, line_ids: Sequence[int]) -> str:
    """The words of the first message that these lines come from, "" = they are gone."""
    for line_id in line_ids:
        row = tx.one(
            "SELECT m.text FROM journal AS j JOIN messages AS m ON m.id = j.message_id "
            "WHERE j.id = ?",
            line_id,
        )
        if row:
            return row["text"]
    return ""


def forget(tx: Tx, pack: str) -> None:
    """Delete a pack's journal, and what was made of it."""
    tx.forget()
    tx.run("DELETE FROM journal WHERE pack = ?", pack)
    tx.run("DELETE FROM consolidations WHERE pack = ?", pack)


def prune(tx: Tx, before: str) -> int:
    """Delete some lines from before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM journal WHERE id IN (SELECT id FROM journal WHERE created_at < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )


@dataclass(frozen=True, slots=True)
class Owed:
    """A tenant of a pack with lines of the journal after `upto`; `inbound` is where the newest of
    them was said."""

    pack: str
    owner: str
    upto: int
    inbound: Inbound


def owed(tx: Tx, before: str, now: str) -> list[Owed]:
    """Return where lines wait, and neither they nor the last try are newer than `before`; what is
    later than `now` was written while the clock was ahead, and waits no longer."""
    rows = tx.all(
        "SELECT n.pack AS of_pack, n.owner, n.upto, j.* FROM (SELECT l.pack, l.owner, "
        "coalesce(c.upto, 0) AS upto, coalesce(c.asked_at, min(l.created_at)) AS since, "
        "max(l.id) AS newest FROM journal AS l LEFT JOIN consolidations AS c "
        "ON c.pack = l.pack AND c.owner = l.owner WHERE l.id > coalesce(c.upto, 0) "
        "GROUP BY l.pack, l.owner) AS n JOIN journal AS k ON k.id = n.newest "
        "JOIN jobs AS j ON j.id = k.job_id WHERE n.since <= ? OR n.since > ?",
        before,
        now,
    )
    return [Owed(row["of_pack"], row["owner"], row["upto"], inbound_of(row)) for row in rows]


def ask_consolidation(tx: Tx, pack: str, owner: str, asked: int, shown: str, now: str) -> None:
    """Remember that a consolidation begins, and what it is shown."""
    tx.put(
        "consolidations",
        {"pack": pack, "owner": owner, "asked_at": now, "asked": asked, "shown": shown},
        "ON CONFLICT (pack, owner) DO UPDATE SET asked_at = excluded.asked_at, "
        "asked = excluded.asked, shown = excluded.shown",
    )


def newest_consolidation(tx: Tx, pack: str, owner: str) -> tuple[int, int, str] | None:
    """Return what the newest one was shown, None = there was none.

    The journal's lines in (`upto`, `asked`], and the digest of the file, "" = it was changed since.
    """
    row = tx.one("SELECT * FROM consolidations WHERE pack = ? AND owner = ?", pack, owner)
    return (row["upto"], row["asked"], row["shown"]) if row else None


def go_stale(tx: Tx, pack: str, owner: str) -> None:
    """Remember that the file was changed while a model thought about it: the lines wait on."""
    tx.run("UPDATE consolidations SET shown = '' WHERE pack = ? AND owner = ?", pack, owner)


def consolidated(tx: Tx, pack: str, owner: str) -> None:
    """Mark the lines as done with, unless the file was changed meanwhile."""
    tx.run(
        "UPDATE consolidations SET upto = max(upto, asked) WHERE pack = ? AND owner = ? "
        "AND shown <> ''",
        pack,
        owner,
    )
