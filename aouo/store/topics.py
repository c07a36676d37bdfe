"""Finds which topics of a chat belong to which pack, and notes topics being created."""

from __future__ import annotations

from dataclasses import replace

from aouo.facts.address import ConversationAddress
from aouo.facts.work import Route
from aouo.store import routes
from aouo.store.database import Tx


def of_pack(
    tx: Tx, chat: ConversationAddress, pack: str
) -> list[tuple[ConversationAddress, Route]]:
    """The topics that are bound to a pack, the newest first."""
    return _found(tx, chat, pack, "")


def of_chat(tx: Tx, chat: ConversationAddress) -> list[tuple[str, str]]:
    """Return the topics of a chat that we have seen and that are not deleted: (id, title), where
    the title may be ""."""
    rows = tx.all(
        "SELECT thread_id, title FROM conversation_routes WHERE platform = ? AND chat_id = ? "
        "AND thread_id <> '' AND paused <> 'deleted' ORDER BY id",
        *chat.chat_columns,
    )
    return [(row["thread_id"], row["title"]) for row in rows]


def titled(tx: Tx, chat: ConversationAddress, pack: str) -> list[tuple[ConversationAddress, Route]]:
    """Return unbound topics named like a pack: the pack was installed after them."""
    return [
        (address, route)
        for address, route in _found(tx, chat, "", pack)
        if route.title.strip().casefold() == pack.casefold()
    ]


def intend(tx: Tx, chat: ConversationAddress, pack: str, now: str) -> bool:
    """Note that a topic is about to be created; False = it was noted before, and whether the
    topic was created is not known."""
    return tx.changes(
        "INSERT OR IGNORE INTO topic_intents VALUES (?, ?, ?, ?)",
        *chat.chat_columns,
        pack,
        now,
    )


def settle(tx: Tx, chat: ConversationAddress, pack: str) -> None:
    """Delete the note of `intend`: the topic exists, or surely was not created."""
    tx.run(
        "DELETE FROM topic_intents WHERE platform = ? AND chat_id = ? AND pack = ?",
        *chat.chat_columns,
        pack,
    )


def forums(tx: Tx, platform: str) -> frozenset[str]:
    """Return the groups that had topics when one of their routes was created."""
    rows = tx.all(
        "SELECT DISTINCT chat_id FROM conversation_routes WHERE platform = ? "
        "AND chat_kind = 'forum'",
        platform,
    )
    return frozenset(row["chat_id"] for row in rows)


def groups(tx: Tx, platform: str, *, all_talk: bool) -> list[str]:
    """Return the groups whose messages are for us: with a pack's topic, or all if `all_talk`."""
    rows = tx.all(
        "SELECT chat_id, max(thread_id <> '' AND active_pack <> '') AS packs "
        "FROM conversation_routes WHERE platform = ? AND chat_kind <> 'private' AND gone = '' "
        "GROUP BY chat_id ORDER BY max(id) DESC",
        platform,
    )
    return [row["chat_id"] for row in rows if all_talk or row["packs"]]


def _found(
    tx: Tx, chat: ConversationAddress, pack: str, title: str
) -> list[tuple[ConversationAddress, Route]]:
    rows = tx.all(
        "SELECT thread_id FROM conversation_routes WHERE platform = ? AND chat_id = ? "
        "AND user_id = ? AND thread_id <> '' AND active_pack = ? AND (? = '' OR title <> '') "
        "ORDER BY id DESC",
        *chat.chat_columns,
        chat.user_id,
        pack,
        title,
    )
    addresses = [replace(chat, thread_id=row["thread_id"]) for row in rows]
    found = ((address, routes.find(tx, address)) for address in addresses)
    return [(address, route) for address, route in found if route]
