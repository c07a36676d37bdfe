"""Groups that became supergroups: the same conversation under another id."""

from __future__ import annotations

from dataclasses import replace

from aouo.facts.address import ConversationAddress
from aouo.store.database import Tx


def where_it_is(tx: Tx, address: ConversationAddress) -> ConversationAddress:
    """The address of a conversation whose chat may have moved."""
    if not address.chat_id.startswith("-"):
        return address
    row = tx.one(
        "SELECT new_chat_id FROM moved_chats WHERE platform = ? AND chat_id = ?",
        address.platform,
        address.chat_id,
    )
    return replace(address, chat_id=row["new_chat_id"]) if row else address
