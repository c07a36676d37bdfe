"""Erases what was said off the record once its turn settles.

To erase means here: the rows are emptied, SQLite zeroes the freed bytes, and the write-ahead log is
emptied after the commit.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from aouo.facts import events
from aouo.facts.address import ConversationAddress
from aouo.facts.commands import OTR
from aouo.plumbing.control import Facts
from aouo.store import contents, web_messages
from aouo.store.database import Tx
from aouo.store.jobs import inbound_of
from aouo.store.rows import made
from aouo.store.snapshots import Query

_SAID = (events.Text, events.Attached, events.Album, events.Shown, events.Illegible)


def is_once(inbound: events.Inbound) -> bool:
    """Whether only this message is off the record: `/otr` with words, or as a file's caption."""
    content = inbound.content
    command = content.command if isinstance(content, events.Attached | events.Album) else content
    if not isinstance(command, events.Command) or command.name != OTR.name:
        return False
    return bool(command.rest.strip())


def hides(tx: Tx, job_id: int, inbound: events.Inbound) -> bool:
    """Whether a job is off the record: by itself, by its open turn, or by its conversation's mode,
    which what runs by itself does not heed."""
    if is_once(inbound):
        return True
    row = tx.one(
        "SELECT EXISTS (SELECT 1 FROM turns WHERE job_id = ? AND status = 'open' "
        "AND off_record = 1) AS begun, EXISTS (SELECT 1 FROM conversation_routes "
        "WHERE platform = ? AND chat_id = ? AND thread_id = ? AND user_id = ? "
        "AND off_record = 1) AS mode",
        job_id,
        *inbound.address.columns,
    )
    by_itself = isinstance(inbound.content, events.Triggered | events.Report)
    return row is not None and bool(row["begun"] or (row["mode"] and not by_itself))


def wipe(tx: Tx, job_id: int, inbound: events.Inbound, *, waits: bool = False) -> None:
    """Erase the words of a job and its turns; a message still to be sent loses its text once it
    is sent (`deliveries.mark`). A job that `waits` for a pack keeps its own words until it runs."""
    tx.forget()
    for row in tx.all("SELECT id, session_id FROM turns WHERE job_id = ?", job_id):
        _wipe_turn(tx, row["id"])
        tx.run(
            "UPDATE usage_events SET scope = 'tool:unknown' "
            "WHERE session_id = ? AND turn_id = ? AND scope LIKE 'tool:%'",
            row["session_id"],
            row["id"],
        )
    tx.run("DELETE FROM edits WHERE job_id = ?", job_id)
    if not waits:
        _wipe_job(tx, job_id, inbound)


def _wipe_turn(tx: Tx, turn_id: str) -> None:
    tx.run("DELETE FROM messages WHERE turn_id = ?", turn_id)
    tx.run(
        "UPDATE tool_calls SET name = '', arguments = '', result = '' WHERE turn_id = ?", turn_id
    )
    tx.run("UPDATE turns SET reason = '' WHERE id = ?", turn_id)
    contents.erase_results(tx, turn_id)
    tx.run("UPDATE gates SET question = '', options = '[]', answer = '' WHERE turn_id = ?", turn_id)
    tx.run("UPDATE deliveries SET off_record = 1, error = '' WHERE turn_id = ?", turn_id)
    tx.run(
        "UPDATE deliveries SET body = '' WHERE turn_id = ? "
        "AND state NOT IN ('queued', 'sending', 'live')",
        turn_id,
    )


def unanswered(tx: Tx) -> list[tuple[int, events.Inbound, bool]]:
    """Return all off-the-record jobs that are not settled: the job's id, what came in, and whether
    it is to end without an answer."""
    rows = tx.all(
        "SELECT j.id, j.body, j.platform, j.chat_id, j.thread_id, j.user_id, j.person, j.stopped, "
        "coalesce(r.off_record, 0) AS mode, "
        "coalesce(t.off_record, 0) AS begun FROM jobs AS j "
        "LEFT JOIN turns AS t ON t.job_id = j.id AND t.status = 'open' "
        "LEFT JOIN conversation_routes AS r ON r.platform = j.platform "
        "AND r.chat_id = j.chat_id AND r.thread_id = j.thread_id AND r.user_id = j.user_id "
        "WHERE j.id IN (SELECT id FROM jobs WHERE state = 'ready' "
        "UNION ALL SELECT id FROM jobs WHERE state = 'gathering' "
        "UNION ALL SELECT id FROM jobs WHERE state = 'running' "
        "UNION ALL SELECT id FROM jobs WHERE state = 'parked')"
    )
    found: list[tuple[int, events.Inbound, bool]] = []
    for row in rows:
        inbound = inbound_of(row)
        words = isinstance(inbound.content, _SAID)
        if is_once(inbound) or row["begun"] or (row["mode"] and words):
            found.append((row["id"], inbound, bool(row["stopped"])))
    return found


def set_mode(tx: Tx, route_id: int, on: bool) -> None:
    tx.run("UPDATE conversation_routes SET off_record = ? WHERE id = ?", int(on), route_id)


def _wipe_job(tx: Tx, job_id: int, inbound: events.Inbound) -> None:
    """Erase the job's words, what its files say, and its chat's raw updates since it came in."""
    contents.wipe_files(tx, job_id)
    web_messages.wipe(tx, inbound)
    blank = replace(inbound, content=events.Text(""), title="")
    row = tx.one(
        "UPDATE jobs SET body = ?, carried = '' WHERE id = ? RETURNING created_at",
        blank.dump(),
        job_id,
    )
    if row:
        tx.run(
            "UPDATE updates SET body = '' WHERE received_at >= ? AND CASE WHEN body = '' THEN 0 "
            "WHEN NOT json_valid(body) THEN 1 ELSE coalesce(json_extract(body, "
            "'$.message.chat.id'), json_extract(body, '$.callback_query.message.chat.id')) = ? END",
            row["created_at"],
            int(inbound.address.chat_id) if inbound.address.platform == "tg" else 0,
        )


def times(limit: int) -> Query[list[Facts]]:
    """`where` the newest turns off the record were, `since` when and `until` when, "" = one goes
    on; nothing else of them."""
    return Query(
        "SELECT j.platform, j.chat_id, j.thread_id, j.user_id, t.started_at AS since, "
        "t.settled_at AS until FROM turns AS t JOIN jobs AS j ON j.id = t.job_id "
        "WHERE t.off_record = 1 ORDER BY t.id DESC LIMIT ?",
        (limit,),
        lambda rows: [
            {"where": _where(row), "since": row["since"], "until": row["until"]} for row in rows
        ],
    )


def modes(limit: int) -> Query[list[str]]:
    """The conversations that are off the record now."""
    return Query(
        "SELECT platform, chat_id, thread_id, user_id FROM conversation_routes "
        "WHERE off_record = 1 ORDER BY id LIMIT ?",
        (limit,),
        lambda rows: [_where(row) for row in rows],
    )


def _where(row: sqlite3.Row) -> str:
    return str(made(ConversationAddress, row))
