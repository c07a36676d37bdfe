"""Tells the owner what they have to know, in their private chat; without Telegram on the page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shlex import quote

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Delivery
from aouo.outbound.outbox import Outbox
from aouo.plumbing.home import Home, home_path
from aouo.store import deliveries
from aouo.store.database import Database, Tx
from aouo.words.catalogue import message


def letting_in(home: Home, allowed: Sequence[int], person: str) -> str:
    """The command that lets a person in, beside those who are."""
    command = "aouo" if home.path == home_path(None, {}) else f"aouo --home {quote(str(home.path))}"
    ids = json.dumps([*allowed, int(person)])
    return f"{command} config set telegram.allowed_user_ids '{ids}'"


@dataclass(slots=True, eq=False, kw_only=True)
class OwnerNotices:
    """Queues what the owner has to know for their `chat`, None = there is none."""

    database: Database
    clock: Clock
    outbox: Outbox
    chat: Callable[[], ConversationAddress | None]

    async def tell(self, text: str, *, daily: bool = True, about: str = "") -> None:
        """Queue a message, once for the same text and day, or once for the same text; again if it
        is `about` something else."""
        chat = self.chat()
        if chat is None:
            return
        now = stamp(self.clock)
        digest = hashlib.sha256(f"{text}{about}".encode()).hexdigest()[:16]

        def write(tx: Tx) -> Delivery:
            key = f"owner:{now[:10] if daily else 'once'}:{digest}"
            return deliveries.add(tx, chat, "notice", message(text), now, key=key)

        row = await self.database.transact(write)
        if row.state == "queued":
            self.outbox.put(row)
