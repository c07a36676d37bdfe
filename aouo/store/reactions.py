"""Stores people's reactions to messages, and which of them the model was told."""

from __future__ import annotations

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Person
from aouo.store.database import PRUNED_AT_ONCE, Tx


def put(
    tx: Tx,
    address: ConversationAddress,
    message_id: int,
    person: Person,
    emoji: str,
    session_id: str,
    now: str,
) -> None:
    """Replace the person's reaction to the message; an empty `emoji` removes it."""
    tx.run(
        "DELETE FROM reactions WHERE platform = ? AND chat_id = ? AND message_id = ? "
        "AND person = ?",
        *address.chat_columns,
        message_id,
        person.id,
    )
    if emoji:
        tx.put(
            "reactions",
            {
                "platform": address.platform,
                "chat_id": address.chat_id,
                "message_id": message_id,
                "person": person.id,
                "name": person.name,
                "emoji": emoji,
                "session_id": session_id,
                "at": now,
            },
        )


def tell(tx: Tx, session_id: str) -> list[tuple[int, str, str]]:
    """Return the reactions that the session's model was not told, oldest first, and mark them:
    (id of the message, name of the person, emoji)."""
    rows = tx.all(
        "SELECT message_id, name, emoji FROM reactions WHERE session_id = ? AND told = 0 "
        "ORDER BY at",
        session_id,
    )
    if rows:
        tx.run("UPDATE reactions SET told = 1 WHERE session_id = ? AND told = 0", session_id)
    return [(row["message_id"], row["name"], row["emoji"]) for row in rows]


def prune(tx: Tx, before: str) -> int:
    """Delete some reactions from before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM reactions WHERE (platform, chat_id, message_id, person) IN (SELECT platform, "
        "chat_id, message_id, person FROM reactions WHERE at < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )
