"""Names the tenant that data belongs to: the person in private chats, else the conversation."""

from __future__ import annotations

import re
from dataclasses import replace

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound
from aouo.facts.people import data_name, data_of
from aouo.store.database import Tx

_NAME = re.compile(r"(tg|cli)_[A-Za-z0-9_-]+", re.ASCII)


def tenant_of(tx: Tx, inbound: Inbound) -> str:
    """Return the tenant as a file name; a group that became a supergroup keeps its first one.

    A person is one tenant in all their private chats.
    """
    address = inbound.address
    if inbound.chat_kind == "private":
        return data_of(address.platform, inbound.person.id)
    return data_name(address.platform, _first(tx, address).queue_key)


def is_tenant(name: str) -> bool:
    """Whether a tenant could have this name, in any case of its letters."""
    return bool(_NAME.fullmatch(name.casefold()))


def _first(tx: Tx, address: ConversationAddress) -> ConversationAddress:
    """Return the address under its chat's first id, which names its data."""
    row = tx.one(
        "WITH RECURSIVE earlier (chat_id, depth) AS (SELECT ?, 0 UNION ALL "
        "SELECT m.chat_id, depth + 1 FROM moved_chats AS m JOIN earlier "
        "ON m.new_chat_id = earlier.chat_id WHERE m.platform = ? AND depth < 8) "
        "SELECT chat_id FROM earlier ORDER BY depth DESC LIMIT 1",
        address.chat_id,
        address.platform,
    )
    return replace(address, chat_id=row["chat_id"]) if row else address
