"""The only way to a chat: durable rows, one sender per conversation, each call paced.

A row goes `queued → sending → sent | refused | unknown`. What fails before the request was
written is queued again; what may have arrived is never sent a second time by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import structlog

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import (
    DeliveryError,
    DeliveryRefused,
    FloodControl,
    NotOffered,
    RecipientGone,
)
from aouo.facts.events import Button, Inbound
from aouo.facts.ports import Clock, Messenger, Rendered
from aouo.facts.work import Delivery
from aouo.outbound.flood_control import Pace
from aouo.outbound.ledger import Ledger
from aouo.outbound.sender import Sender

log = structlog.get_logger()


class Outbox:
    """Sends what was committed, in order within a conversation, many conversations at once.

    Owns its senders: when `run` ends, none is left, and what was not sent is still queued.
    `stop_turns` ends the turns of a chat that is gone.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        clock: Clock,
        messengers: Mapping[str, Messenger],
        stop_turns: Callable[[ConversationAddress], None],
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._messengers = messengers
        self._pace = Pace(clock)
        self._stop_turns = stop_turns
        self._senders: dict[ConversationAddress, Sender] = {}
        self._begun: asyncio.Queue[Sender | None] = asyncio.Queue()
        self._waited_for: dict[int, asyncio.Future[Delivery]] = {}
        self._no_drafts: set[tuple[str, str]] = set()
        """Platforms, and chats of theirs, that refused a draft: what is live there are edits."""

    async def run(self) -> None:
        """Send until closed."""
        try:
            async with asyncio.TaskGroup() as group:
                while (sender := await self._begun.get()) is not None:
                    group.create_task(self._drain(sender), name=f"sender {sender.address}")
        finally:
            for waiting in self._waited_for.values():  # nobody sends any more: do not wait for it
                waiting.cancel()

    def close(self) -> None:
        """Begin no more senders; `run` returns when those at work have nothing left."""
        self._begun.put_nowait(None)

    def try_now(self, platform: str) -> None:
        """A platform that was not reached is reached again: what was put off need not wait."""
        for sender in self._senders.values():
            if sender.address.platform == platform:
                sender.try_now()

    async def recover(self) -> int:
        """Take up what a former process left; returns how many rows wait."""
        rows = await self._ledger.recover()
        for platform in {row.address.platform for row in rows} - self._messengers.keys():
            log.warning("deliveries_wait_for_a_channel", platform=platform)
        self.put(*(row for row in rows if row.address.platform in self._messengers))
        return len(rows)

    def put(self, *rows: Delivery) -> None:
        """Hand over rows whose transaction is committed; one that waits already is not doubled, and
        one that is dropped meanwhile does not wait any more."""
        for row in rows:
            if row.state != "queued":
                self.withdraw(row)
                self._tell(row)
                continue
            sender = self._sender(row.address)
            sender.edits.pop(row.edits, None)
            sender.draft = None
            if all(waiting.id != row.id for waiting in sender.rows):
                sender.rows.append(row)

    def show(self, address: ConversationAddress, message_id: int, message: Rendered) -> None:
        """Edit a live message soon; a newer wish, or a final for it, replaces this one.

        In a group that has moved meanwhile the number is another message's: nothing is edited.
        """
        sender = self._sender(address)
        if _chat_of(sender.address) == _chat_of(address):
            sender.edits[message_id] = message

    def show_draft(self, address: ConversationAddress, draft_id: int, message: Rendered) -> None:
        """Show what is being written soon; a newer wish, or a message, replaces this one."""
        self._sender(address).draft = draft_id, message

    def takes_drafts(self, address: ConversationAddress) -> bool:
        """Whether no draft has been refused here yet."""
        return self._no_drafts.isdisjoint({(address.platform, ""), _chat_of(address)})

    def drop_draft(self, address: ConversationAddress) -> None:
        """What has not been shown of a draft yet need not be."""
        if sender := self._senders.get(address):
            sender.draft = None

    def withdraw(self, row: Delivery) -> bool:
        """Take back a row that nobody has begun to send; the caller then marks it."""
        sender = self._senders.get(row.address)
        waiting = next((one for one in sender.rows if one.id == row.id), None) if sender else None
        if sender is None or waiting is None or sender.sending == row.id:
            return False
        sender.rows.remove(waiting)
        return True

    def arrival(self, row: Delivery) -> asyncio.Future[Delivery]:
        """Done when a row that is about to be `put` is sent, refused or unknown.

        Ask for it before that: a row that is settled already never arrives. Await it shielded.
        """
        return self._waited_for.setdefault(row.id, asyncio.get_running_loop().create_future())

    async def settled(self, row: Delivery) -> Delivery:
        """Wait for the arrival of a row."""
        return await asyncio.shield(self.arrival(row))

    def edit_interval_s(self, address: ConversationAddress) -> float:
        """How far apart live edits should be here; grows after flood control."""
        base_s = 3.0 if address.chat_id.startswith("-") else 1.2
        return base_s * self._pace.slower(address)

    async def action(self, address: ConversationAddress, action: str) -> None:
        """Show an activity; that it failed is nobody's business."""
        if self._pace.is_parked(address):
            return
        try:
            await self._messengers[address.platform].action(address, action)
        except FloodControl as error:
            self._pace.park(address, error.retry_after_s)
        except RecipientGone as error:
            await self.lose(address, error)
        except DeliveryError as error:
            log.debug("action_failed", error=str(error))

    async def lose(self, address: ConversationAddress, error: RecipientGone) -> None:
        """Nothing can be sent to this chat, all its topics: drop what waits, stop its turns."""
        told = await self._ledger.gone(address, error)
        for sender in self._senders.values():
            if _chat_of(sender.address) == _chat_of(address):
                sender.give_up(str(error))
        self._stop_turns(address)
        if told:
            self.put(told)

    async def answer_tap(self, inbound: Inbound, problem: str = "") -> None:
        """Answer `inbound`, if it is a tap: with an alert that says the problem, or without a word.

        That it failed is nobody's business either.
        """
        tap = inbound.content
        if not isinstance(tap, Button):
            return
        messenger = self._messengers[inbound.address.platform]
        try:
            await messenger.answer_tap(tap.answer_id, problem, alert=bool(problem))
        except DeliveryError as error:
            log.debug("tap_not_answered", error=str(error))

    def _sender(self, address: ConversationAddress) -> Sender:
        sender = self._senders.get(address)
        if sender is None:
            sender = self._senders[address] = Sender(
                address,
                messenger=self._messengers[address.platform],
                ledger=self._ledger,
                pace=self._pace,
                clock=self._clock,
                settled=self._tell,
                draft_refused=self._without_drafts,
                lost=self.lose,
            )
            self._begun.put_nowait(sender)
        return sender

    async def _drain(self, sender: Sender) -> None:
        known_as = sender.address
        try:
            await sender.drain()
        finally:
            del self._senders[known_as]

    def _without_drafts(self, address: ConversationAddress, error: DeliveryRefused) -> None:
        """Whoever does not know the call refuses it to all; any other refusal is this chat's."""
        everywhere = isinstance(error, NotOffered)
        log.warning("drafts_given_up", chat="" if everywhere else str(address), error=str(error))
        self._no_drafts.add((address.platform, "") if everywhere else _chat_of(address))

    def _tell(self, row: Delivery) -> None:
        future = self._waited_for.pop(row.id, None)
        if future and not future.done():
            future.set_result(row)


def _chat_of(address: ConversationAddress) -> tuple[str, str]:
    """All topics of a chat are one."""
    return address.platform, address.chat_id
