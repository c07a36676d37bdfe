"""Stores people's reactions to messages, and which of them the model was told."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Person
from aouo.store.database import PRUNED_AT_ONCE, Tx


@dataclass(frozen=True, slots=True)
class Reaction:
    """`emoji` by the person called `name`, on a message of this id."""

    message_id: int
    name: str
    emoji: str


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
        address.platform,
        address.chat_id,
        message_id,
        person.id,
    )
    if emoji:
        tx.run(
            "INSERT INTO reactions (platform, chat_id, message_id, person, name, emoji, "
            "session_id, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            address.platform,
            address.chat_id,
            message_id,
            person.id,
            person.name,
            emoji,
            session_id,
            now,
        )


def tell(tx: Tx, session_id: str) -> list[Reaction]:
    """Return the reactions that the session's model was not told, oldest first, and mark them."""
    rows = tx.all(
        "SELECT message_id, name, emoji FROM reactions WHERE session_id = ? AND told = 0 "
        "ORDER BY at",
        session_id,
    )
    if rows:
        tx.run("UPDATE reactions SET told = 1 WHERE session_id = ? AND told = 0", session_id)
    return [Reaction(row["message_id"], row["name"], row["emoji"]) for row in rows]


def prune(tx: Tx, before: str) -> int:
    """Delete some reactions from before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM reactions WHERE (platform, chat_id, message_id, person) IN (SELECT platform, "
        "chat_id, message_id, person FROM reactions WHERE at < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )
