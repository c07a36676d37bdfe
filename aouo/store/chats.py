"""Chats as a whole: which we know, and a group that became a supergroup."""

from __future__ import annotations

from aouo.address import ConversationAddress
from aouo.store import gone
from aouo.store.database import Tx


def is_known(tx: Tx, address: ConversationAddress) -> bool:
    """Whether anything was ever said to us, or by us, in this chat."""
    row = tx.one(
        "SELECT 1 FROM conversation_routes WHERE platform = ? AND chat_id = ? LIMIT 1",
        address.platform,
        address.chat_id,
    )
    return row is not None


def rename_chat(tx: Tx, platform: str, old: str, new: str) -> None:
    """Rewrite `old` to `new` in routes, open jobs, deliveries, gates and session keys.

    Where the new chat already has a route of its own, the old binding replaces it.
    """
    gone.reopen(tx, platform, old)
    tx.run(
        "DELETE FROM conversation_routes WHERE platform = ? AND chat_id = ? AND EXISTS "
        "(SELECT 1 FROM conversation_routes AS o WHERE o.platform = ? AND o.chat_id = ? "
        "AND o.thread_id = conversation_routes.thread_id "
        "AND o.user_id = conversation_routes.user_id)",
        platform,
        new,
        platform,
        old,
    )
    tx.run(
        "UPDATE conversation_routes SET chat_id = ?, version = version + 1 "
        "WHERE platform = ? AND chat_id = ?",
        new,
        platform,
        old,
    )
    tx.run(
        "UPDATE jobs SET lane = replace(lane, ?, ?) WHERE platform = ? AND chat_id = ? "
        "AND state IN ('gathering', 'ready', 'parked')",
        old,
        new,
        platform,
        old,
    )
    tx.run("UPDATE jobs SET chat_id = ? WHERE platform = ? AND chat_id = ?", new, platform, old)
    tx.run(
        "UPDATE deliveries SET chat_id = ? WHERE platform = ? AND chat_id = ?", new, platform, old
    )
    tx.run("UPDATE gates SET chat_id = ? WHERE platform = ? AND chat_id = ?", new, platform, old)
    # Messages have other ids in the new chat: nothing there is found by the old ones.
    tx.run("DELETE FROM job_messages WHERE platform = ? AND chat_id = ?", platform, old)
    tx.run("DELETE FROM reactions WHERE platform = ? AND chat_id = ?", platform, old)
    prefix = f"{platform}:{old}"
    tx.run(
        "UPDATE sessions SET session_key = ? || substr(session_key, ?) "
        "WHERE session_key = ? OR session_key LIKE ? || ':%'",
        f"{platform}:{new}",
        len(prefix) + 1,
        prefix,
        prefix,
    )
