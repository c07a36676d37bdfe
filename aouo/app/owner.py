"""What the owner has to know reaches them where they are: in their private chat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from aouo.config.settings import Settings
from aouo.facts.address import ConversationAddress
from aouo.facts.ports import stamp
from aouo.facts.work import Delivery
from aouo.outbound.wording import sentences
from aouo.plumbing.home import Home, home_path
from aouo.store import deliveries
from aouo.store.database import Tx

if TYPE_CHECKING:
    from aouo.app.wiring import App


def owner_id(settings: Settings) -> int:
    """`telegram.owner_id`, else the first who is allowed, else 0: nobody."""
    allowed = settings.telegram.allowed_user_ids
    return settings.telegram.owner_id or (allowed[0] if allowed else 0)


def letting_in(home: Home, allowed: Sequence[int], person: str) -> str:
    """The command that lets a person in, beside those who are."""
    command = "aouo" if home.path == home_path(None, {}) else f"aouo --home {quote(str(home.path))}"
    ids = json.dumps([*allowed, int(person)])
    return f"{command} config set telegram.allowed_user_ids '{ids}' && {command} restart"


async def tell_owner(app: App, text: str, *, daily: bool = True) -> None:
    """Queue a message to the owner, once for the same text and day, or once for the same text;
    without Telegram, nothing."""
    owner = owner_id(app.settings)
    if not app.telegram or not owner:
        return
    now = stamp(app.clock)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    address = ConversationAddress("tg", str(owner))

    def write(tx: Tx) -> Delivery:
        key = f"owner:{now[:10] if daily else 'once'}:{digest}"
        return deliveries.add(tx, address, "notice", sentences.say(text), now, key=key)

    row = await app.database.transact(write)
    if row.state == "queued":
        app.outbox.put(row)
