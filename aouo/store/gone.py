"""Marks chats that the bot cannot write to, and finds those that moved."""

from __future__ import annotations

from dataclasses import replace

from aouo.facts.address import ConversationAddress, Lane
from aouo.store import jobs
from aouo.store.database import Tx

_WAITS = "its chat is gone"
"""The outcome of a job that is parked until its chat is back."""


def close(tx: Tx, address: ConversationAddress, reason: str, now: str) -> str:
    """Mark a chat with all its topics as gone: refuse its queued deliveries, park its waiting
    jobs, note the reason on its routes. Returns since when it is gone.

    Turns whose answers go nowhere (`facts.origins`) need no chat, so they do not wait for one.
    """
    tx.touch(jobs.ENDED)
    platform, chat_id = address.platform, address.chat_id
    tx.run(
        "UPDATE deliveries SET state = 'refused', error = ?, settled_at = ?, "
        "body = iif(off_record = 1, '', body) "
        "WHERE state = 'queued' AND platform = ? AND chat_id = ?",
        reason,
        now,
        platform,
        chat_id,
    )
    tx.run(
        "UPDATE jobs SET state = 'parked', outcome = ? WHERE state = 'ready' AND platform = ? "
        "AND chat_id = ? AND lane NOT LIKE ? || '%' "
        "AND origin NOT IN ('api', 'journal', 'consolidate')",
        _WAITS,
        platform,
        chat_id,
        Lane.MARK,
    )
    tx.run(
        "UPDATE jobs SET state = 'parked', outcome = ? WHERE state = 'gathering' "
        "AND platform = ? AND chat_id = ?",
        _WAITS,
        platform,
        chat_id,
    )
    tx.run(
        "UPDATE conversation_routes SET gone = ?, updated_at = ? WHERE platform = ? "
        "AND chat_id = ? AND gone = ''",
        reason,
        now,
        platform,
        chat_id,
    )
    tx.run("INSERT OR IGNORE INTO gone_chats VALUES (?, ?, ?, ?)", platform, chat_id, reason, now)
    row = tx.one(
        "SELECT since FROM gone_chats WHERE platform = ? AND chat_id = ?", platform, chat_id
    )
    return row["since"] if row else now


def reopen(tx: Tx, platform: str, chat_id: str) -> list[Lane]:
    """Mark a gone chat as back and unpark its jobs; return the lanes of these jobs."""
    row = tx.one(
        "DELETE FROM gone_chats WHERE platform = ? AND chat_id = ? RETURNING reason",
        platform,
        chat_id,
    )
    if row is None:
        return []
    tx.run(
        "UPDATE conversation_routes SET gone = '' WHERE platform = ? AND chat_id = ? AND gone = ?",
        platform,
        chat_id,
        row["reason"],
    )
    rows = tx.all(
        "UPDATE jobs SET state = 'ready', outcome = '' WHERE state = 'parked' AND platform = ? "
        "AND chat_id = ? AND outcome = ? RETURNING lane",
        platform,
        chat_id,
        _WAITS,
    )
    return sorted({Lane(row["lane"]) for row in rows})


def is_closed(tx: Tx, address: ConversationAddress) -> bool:
    return tx.finds(
        "SELECT 1 FROM gone_chats WHERE platform = ? AND chat_id = ?", *address.chat_columns
    )


def where_it_is(tx: Tx, address: ConversationAddress) -> ConversationAddress:
    """Return the address after the chat's move, or the same one if it never moved."""
    if not address.chat_id.startswith("-"):
        return address
    row = tx.one(
        "SELECT new_chat_id FROM moved_chats WHERE platform = ? AND chat_id = ?",
        *address.chat_columns,
    )
    return replace(address, chat_id=row["new_chat_id"]) if row else address
