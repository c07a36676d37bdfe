"""Finds the new address of a conversation whose group became a supergroup."""

from __future__ import annotations

from dataclasses import replace

from aouo.facts.address import ConversationAddress
from aouo.store.database import Tx


def where_it_is(tx: Tx, address: ConversationAddress) -> ConversationAddress:
    """Return the address after the chat's move, or the same one if it never moved."""
    if not address.chat_id.startswith("-"):
        return address
    row = tx.one(
        "SELECT new_chat_id FROM moved_chats WHERE platform = ? AND chat_id = ?",
        *address.chat_columns,
    )
    return replace(address, chat_id=row["new_chat_id"]) if row else address
