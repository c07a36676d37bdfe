"""What became of each delivery, written down; and what a failure makes necessary."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import MayNotWrite, RecipientGone, TopicGone
from aouo.facts.people import Owner
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Delivery, DeliveryState
from aouo.outbound.wording import sentences
from aouo.store import chats, deliveries, gone, routes
from aouo.store.database import Database, Tx

log = structlog.get_logger()


class Ledger:
    """The deliveries table as the senders see it. Every write survives a cancellation.

    The owner is told what only they can change.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        resend_unknown: Callable[[], bool],
        owner: Callable[[], Owner],
        moved: Callable[[ConversationAddress, str], None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._owner = owner
        self._resend_unknown = resend_unknown
        self._moved = moved

    async def recover(self) -> list[Delivery]:
        """Take up what a former process left; returns what waits to be sent, in order."""
        now = stamp(self._clock)

        def take_up(tx: Tx) -> list[Delivery]:
            for number in deliveries.refuse_unreadable(tx, now):
                log.error("delivery_unreadable", delivery=number)
            for row in deliveries.cut_off(tx, now):
                self._after_unknown(tx, row, now)
            return deliveries.queued(tx)

        return await self._database.transact(take_up, durable=True)

    async def begin(self, row: Delivery) -> bool:
        """Record that a row is being sent; False = it was dropped or refused in that moment."""
        now = stamp(self._clock)
        return await self._database.transact(
            lambda tx: deliveries.begin(tx, row.id, now), durable=True
        )

    async def mark(
        self, row: Delivery, state: DeliveryState, *, message_id: int = 0, error: str = ""
    ) -> Delivery | None:
        """Record a row's state; returns the row that has to follow it, if any."""
        now = stamp(self._clock)

        def write(tx: Tx) -> Delivery | None:
            deliveries.mark(tx, row.id, state, now, message_id=message_id, error=error)
            return self._after_unknown(tx, row, now) if state == "unknown" else None

        return await self._database.transact(write, durable=state != "queued")

    async def log_fields(self, row: Delivery) -> dict[str, object]:
        """What a log line about a row has to say beside it: whether it is off the record."""
        hidden = await self._database.read(lambda tx: deliveries.is_off_record(tx, row.id))
        return {"off_record": True} if hidden else {}

    async def anew(self, row: Delivery, error: str) -> None:
        """A row whose message cannot be edited any more is sent as a new one."""
        now = stamp(self._clock)
        await self._database.transact(lambda tx: deliveries.anew(tx, row.id, now, error))

    async def gone(self, address: ConversationAddress, error: RecipientGone) -> Delivery | None:
        """Nothing can be sent to this chat any more: refuse what waits, park its jobs.

        Returns what the owner has to be told: that we are there and may not write.
        """
        now, reason = stamp(self._clock), str(error)

        def write(tx: Tx) -> Delivery | None:
            since = gone.close(tx, address, reason, now)
            owner = self._owner().chat
            if owner is None or not isinstance(error, MayNotWrite):
                return None
            said, key = sentences.may_not_write(address.chat_id), f"muted:{address.chat_id}:{since}"
            return deliveries.add(tx, owner, "notice", said, now, key=key)

        log.warning("recipient_gone", conversation=str(address), reason=reason)
        return await self._database.transact(write, durable=True)

    async def gone_topic(self, row: Delivery, error: TopicGone) -> Delivery | None:
        """A topic was closed or deleted; what waits for it will go to the chat around it, after
        the line that is returned: one for each turn."""
        address = row.address
        now = stamp(self._clock)
        log.warning("topic_gone", conversation=str(address), reason=str(error))

        def write(tx: Tx) -> Delivery | None:
            route = routes.find(tx, address)
            shut = "closed" if error.closed else "deleted"
            routes.set_paused(tx, address, shut, now)
            title = (route.title or route.active_pack) if route else ""
            said, around = sentences.topic_shut(title, shut), address.around
            key = f"shut:{address.thread_id}:{row.turn_id or row.id}"
            told = deliveries.add(tx, around, "notice", said, now, key=key)
            return told if told.state == "queued" else None

        return await self._database.transact(write)

    async def moved(self, address: ConversationAddress, chat_id: str) -> None:
        """A group became a supergroup: everything stored follows."""
        log.info("chat_moved", conversation=str(address), to=chat_id)
        await self._database.transact(
            lambda tx: chats.rename_chat(tx, address.platform, address.chat_id, chat_id)
        )
        self._moved(address, chat_id)

    def _after_unknown(self, tx: Tx, row: Delivery, now: str) -> Delivery | None:
        """Say once that an answer may not have arrived, or repeat it if the owner wants that."""
        log.warning("delivery_unknown", delivery=row.id, conversation=str(row.address))
        if row.kind not in ("reply", "msg", "notice"):
            return None
        if self._resend_unknown():
            again = deliveries.add(
                tx, row.address, row.kind, row.message, now, key=f"again:{row.id}"
            )
            deliveries.hush_as(tx, again.id, row.id)
            return again
        said = sentences.may_not_have_arrived(row.id, row.message)
        doubt = deliveries.add(tx, row.address, "doubt", said, now, key=f"unknown:{row.id}")
        deliveries.hush_as(tx, doubt.id, row.id)
        return doubt
