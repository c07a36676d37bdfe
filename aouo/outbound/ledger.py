"""Records the state of each delivery, and what its failure requires."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import RecipientGone, TopicGone
from aouo.facts.events import Event
from aouo.facts.people import Owner
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Delivery, DeliveryState
from aouo.plumbing.logs import log
from aouo.store import chats, deliveries, gone, routes
from aouo.store.database import Database, Tx
from aouo.words import conversations, turns
from aouo.words.catalogue import speaking

Lost: TypeAlias = Sequence[tuple[Delivery, Sequence[int]]]
"""Live messages that may have arrived, with the ids they may have."""


@dataclass(slots=True, eq=False, kw_only=True)
class Ledger:
    """Writes the deliveries table for the senders; every write survives a cancellation.

    `renamed` is called when a group became a supergroup. `publish` is told of each message that
    failed, after the commit that says so.
    """

    database: Database
    clock: Clock
    resend_unknown: Callable[[], bool]
    owner: Callable[[], Owner]
    renamed: Callable[[ConversationAddress, str], None]
    publish: Callable[[Event], None]
    language: Callable[[str], str]

    async def recover(self) -> tuple[list[Delivery], Lost]:
        """Take over the rows that an earlier process left; return the queued ones, in order, and
        the live messages that may have arrived, with the ids they may have."""
        now = stamp(self.clock)

        def take_up(tx: Tx) -> tuple[list[Delivery], list[Event], Lost]:
            unreadable = deliveries.refuse_unreadable(tx, now)
            for number in unreadable:
                log.error("delivery_unreadable", delivery=number)
            unknown = deliveries.cut_off(tx, now)
            for row in unknown:
                self._after_unknown(tx, row, now)
            failed = _failures(tx, (*unreadable, *(row.id for row in unknown)))
            lost = [
                (row, found)
                for row in unknown
                if (row.kind, row.address.platform) == ("live", "tg")
                and (found := deliveries.may_be_at(tx, row))
            ]
            return deliveries.queued(tx), failed, lost

        queued, failed, lost = await self.database.transact(take_up, durable=True)
        self._tell(failed)
        return queued, lost

    async def begin(self, row: Delivery) -> bool:
        """Record that a row is being sent; False = it was dropped or refused meanwhile."""
        now = stamp(self.clock)
        return await self.database.transact(
            lambda tx: deliveries.begin(tx, row.id, now), durable=True
        )

    async def mark(
        self, row: Delivery, state: DeliveryState, *, message_id: int = 0, error: str = ""
    ) -> Delivery | None:
        """Record a row's state; return the row that has to follow it, None = none."""
        now = stamp(self.clock)

        def write(tx: Tx) -> tuple[Delivery | None, list[Event]]:
            deliveries.mark(tx, row.id, state, now, message_id=message_id, error=error)
            follows = self._after_unknown(tx, row, now) if state == "unknown" else None
            return follows, _failures(tx, [row.id] if state in ("refused", "unknown") else ())

        follows, failed = await self.database.transact(write, durable=state != "queued")
        self._tell(failed)
        return follows

    async def log_fields(self, row: Delivery) -> dict[str, object]:
        """Return more fields for a log line about a row: whether it is off the record."""
        hidden = await self.database.read(
            lambda tx: deliveries.is_off_record(tx, row.id), once=True
        )
        return {"off_record": True} if hidden else {}

    async def anew(self, row: Delivery, error: str) -> None:
        """Queue a row as a new message, because the message it edits cannot be edited any more."""
        now = stamp(self.clock)
        await self.database.transact(lambda tx: deliveries.anew(tx, row.id, now, error))

    async def gone(self, address: ConversationAddress, error: RecipientGone) -> Delivery | None:
        """Record that a chat cannot be reached any more: refuse its queued rows, park its jobs.

        Returns a notice for the owner if the bot is there but may not write, else None.
        """
        now, reason = stamp(self.clock), str(error)

        def write(tx: Tx) -> tuple[Delivery | None, list[Event]]:
            waiting = deliveries.queued_in(tx, address.platform, address.chat_id)
            since = gone.close(tx, address, reason, now)
            failed = _failures(tx, waiting)
            owner = self.owner().chat
            if owner is None or not error.muted:
                return None, failed
            said, key = (turns.may_not_write(address.chat_id), f"muted:{address.chat_id}:{since}")
            return deliveries.add(tx, owner, "notice", said, now, key=key), failed

        log.warning("recipient_gone", conversation=str(address), reason=reason)
        told, failed = await self.database.transact(write, durable=True)
        self._tell(failed)
        return told

    async def gone_topic(self, row: Delivery, error: TopicGone) -> Delivery | None:
        """Record that a topic was closed or deleted; its queued rows go to the chat around it.

        Returns the line that comes before them, one for each turn; None if it was sent already.
        """
        address = row.address
        now = stamp(self.clock)
        log.warning("topic_gone", conversation=str(address), reason=str(error))

        def write(tx: Tx) -> Delivery | None:
            route = routes.find(tx, address)
            shut = "closed" if error.closed else "deleted"
            routes.set_paused(tx, address, shut, now)
            title = (route.title or route.active_pack) if route else ""
            said, around = conversations.topic_shut(title, shut), address.around
            key = f"shut:{address.thread_id}:{row.turn_id or row.id}"
            told = deliveries.add(tx, around, "notice", said, now, key=key)
            return told if told.state == "queued" else None

        return await self.database.transact(write)

    async def moved(self, address: ConversationAddress, chat_id: str) -> None:
        """Rename a group that became a supergroup in all that is stored."""
        log.info("chat_moved", conversation=str(address), to=chat_id)
        await self.database.transact(
            lambda tx: chats.rename_chat(tx, address.platform, address.chat_id, chat_id)
        )
        self.renamed(address, chat_id)

    def _tell(self, failed: Iterable[Event]) -> None:
        for event in failed:
            self.publish(event)

    def _after_unknown(self, tx: Tx, row: Delivery, now: str) -> Delivery | None:
        """Add a line that a message may not have arrived, or the message again if so configured."""
        log.warning("delivery_unknown", delivery=row.id, conversation=str(row.address))
        if row.kind not in ("reply", "msg", "notice"):
            return None
        if self.resend_unknown():
            again = deliveries.add(
                tx, row.address, row.kind, row.message, now, key=f"again:{row.id}"
            )
            deliveries.hush_as(tx, again.id, row.id)
            return again
        with speaking(self.language(row.address.chat_id)):
            said = turns.may_not_have_arrived(row.id, row.message)
        doubt = deliveries.add(tx, row.address, "doubt", said, now, key=f"unknown:{row.id}")
        deliveries.hush_as(tx, doubt.id, row.id)
        return doubt


def _failures(tx: Tx, delivery_ids: Iterable[int]) -> list[Event]:
    """What to publish of these rows once they are committed."""
    found = (deliveries.failure(tx, number) for number in delivery_ids)
    return [event for event in found if event]
