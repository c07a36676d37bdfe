"""Tells whether a chat is known, and moves the rows of a group that became a supergroup."""

from __future__ import annotations

from aouo.facts.address import ConversationAddress
from aouo.store import deliveries, gone, kept_reports, memory_versions, schedules
from aouo.store.database import Tx


def is_known(tx: Tx, address: ConversationAddress) -> bool:
    """Whether this chat has a route."""
    return tx.finds(
        "SELECT 1 FROM conversation_routes WHERE platform = ? AND chat_id = ? LIMIT 1",
        *address.chat_columns,
    )


def rename_chat(tx: Tx, platform: str, old: str, new: str) -> None:
    """Rewrite `old` to `new` in routes, open jobs, deliveries, gates, schedules and session keys.

    Where the new chat already has a route of its own, the old binding replaces it; but what the
    old chat gets after its first move is a straggler, and the new chat's binding stays. Of
    schedules that both have, see `schedules.move`.
    """
    if old == new:  # both chats are told, and the first of the two moved the other
        return
    gone.reopen(tx, platform, old)
    first = tx.changes("INSERT OR IGNORE INTO moved_chats VALUES (?, ?, ?)", platform, old, new)
    loser, winner = (new, old) if first else (old, new)
    _keep_one_route(tx, platform, loser, winner)
    tx.run(
        "UPDATE conversation_routes SET chat_id = ?, version = version + 1 "
        "WHERE platform = ? AND chat_id = ?",
        new,
        platform,
        old,
    )
    # The running job too: until it ends, nothing else begins in the new lane.
    tx.run(
        "UPDATE jobs SET lane = replace(lane, ?, ?) WHERE platform = ? AND chat_id = ? "
        "AND state IN ('gathering', 'ready', 'parked', 'running')",
        old,
        new,
        platform,
        old,
    )
    tx.run("UPDATE jobs SET chat_id = ? WHERE platform = ? AND chat_id = ?", new, platform, old)
    deliveries.move(tx, platform, old, new)
    tx.run("UPDATE gates SET chat_id = ? WHERE platform = ? AND chat_id = ?", new, platform, old)
    schedules.move(tx, platform, old, new, winner=winner)
    kept_reports.move(tx, platform, old, new)
    # Messages have other ids in the new chat: nothing there is found by the old ones.
    tx.run("DELETE FROM job_messages WHERE platform = ? AND chat_id = ?", platform, old)
    tx.run("DELETE FROM reactions WHERE platform = ? AND chat_id = ?", platform, old)
    memory_versions.moved(tx, platform, old)
    prefix = f"{platform}:{old}"
    tx.run(
        "UPDATE sessions SET session_key = ? || substr(session_key, ?) "
        "WHERE session_key = ? OR session_key LIKE ? || ':%'",
        f"{platform}:{new}",
        len(prefix) + 1,
        prefix,
        prefix,
    )


def _keep_one_route(tx: Tx, platform: str, loser: str, winner: str) -> None:
    """Delete the routes of `loser` for places that `winner` has a route for, too."""
    tx.run(
        "DELETE FROM conversation_routes WHERE platform = ? AND chat_id = ? AND EXISTS "
        "(SELECT 1 FROM conversation_routes AS o WHERE o.platform = ? AND o.chat_id = ? "
        "AND o.thread_id = conversation_routes.thread_id "
        "AND o.user_id = conversation_routes.user_id)",
        platform,
        loser,
        platform,
        winner,
    )
