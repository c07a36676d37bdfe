"""One conversation's sender: its messages leave one after another, in the order they were meant."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import structlog

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import (
    ChatMoved,
    DeliveryError,
    DeliveryRefused,
    DeliveryUnknown,
    FloodControl,
    NotSent,
    RecipientGone,
    TopicGone,
)
from aouo.facts.ports import Clock, Messenger, Rendered
from aouo.facts.work import Delivery, DeliveryState
from aouo.outbound.flood_control import Pace
from aouo.outbound.keyboards import sendable
from aouo.outbound.ledger import Ledger
from aouo.plumbing.backoff import Backoff
from aouo.store.deliveries import ONLY_CHANGES

log = structlog.get_logger()
_BACKOFF = Backoff(first_s=0.5, factor=2, most_s=30)


class Sender:
    """Holds what waits to be said in one conversation and says it, never two things at once.

    A row stays first in `rows` until it is settled. Edits of live messages, and drafts, are
    wishes: only the newest counts, they give way to rows, and losing one loses nothing. A draft
    never leaves behind a row that was put after it, or it would stand below the answer.
    """

    def __init__(
        self,
        address: ConversationAddress,
        *,
        messenger: Messenger,
        ledger: Ledger,
        pace: Pace,
        clock: Clock,
        settled: Callable[[Delivery], None],
        draft_refused: Callable[[ConversationAddress, DeliveryRefused], None],
        lost: Callable[[ConversationAddress, RecipientGone], Awaitable[None]],
    ) -> None:
        self.address = address
        self.rows: deque[Delivery] = deque()
        self.edits: dict[int, Rendered] = {}
        self.draft: tuple[int, Rendered] | None = None
        self.sending = 0
        self._messenger = messenger
        self._ledger = ledger
        self._pace = pace
        self._clock = clock
        self._settled = settled
        self._draft_refused = draft_refused
        self._lost = lost
        self._place_kept = False
        self._left_topic = False
        self._putting_off: asyncio.Timeout | None = None

    async def drain(self) -> None:
        """Say what waits; returns when nothing does."""
        while self.rows or self.edits or self.draft:
            if self.rows:
                await self._deliver(self.rows[0])
            elif self.edits:
                await self._show()
            else:
                await self._show_draft()

    async def _deliver(self, row: Delivery) -> None:
        await self._messenger.ready()
        if not self._place_kept:
            await self._pace.wait(self.address)
        self._place_kept = False
        if not self.rows or self.rows[0] is not row:
            return  # withdrawn meanwhile
        self.sending = row.id
        try:
            if await self._ledger.begin(row):
                await self._try(row)
            elif row in self.rows:  # withdrawn in the moment in which its turn came
                self.rows.remove(row)
        finally:
            self.sending = 0

    async def _try(self, row: Delivery) -> None:
        """Make the one call of a row and settle it, or put it back for another try."""
        try:
            message_id = await self._call(row)
        except FloodControl as error:
            self._park(error)
            await self._again(row, 0.0, str(error))
        except NotSent as error:
            await self._again(row, _BACKOFF.pause_s(row.attempts + 1), str(error))
        except DeliveryUnknown as error:
            if row.edits or row.kind == "doubt":  # lost, it would leave a message without a word
                await self._again(row, 1.0, str(error))
            else:
                await self._settle(row, "unknown", error=str(error))
        except ChatMoved as error:
            await self._ledger.mark(row, "queued")
            await self._ledger.moved(self.address, error.chat_id)
            await self._move(error.chat_id)
        except TopicGone as error:
            await self._leave_topic(row, error)
        except RecipientGone as error:
            await self._settle(row, "refused", error=str(error))
            await self._lost(self.address, error)
        except DeliveryRefused as error:
            await self._refused(row, error)
        except Exception as error:  # of ours: it would end each process that takes the row up
            log.exception("delivery_broke", delivery=row.id, error=repr(error))
            await self._settle(row, "unknown", error=repr(error))
        else:
            done: DeliveryState = "live" if row.kind == "live" else "sent"
            await self._settle(row, done, message_id=message_id)

    async def _call(self, row: Delivery) -> int:
        message = sendable(row.message, row.id)
        if not row.edits:
            if self._left_topic:  # a reply would go back to where its message is
                message = replace(message, reply_to=0)
            return await self._messenger.send(self.address, message)
        if not message.text and not message.media:
            await self._messenger.delete(self.address, row.edits)
            return row.edits
        await self._messenger.edit(self.address, row.edits, message)
        return row.edits

    async def _show(self) -> None:
        """Carry out the oldest edit wish. What flood control refused waits for its turn again,
        since a full page has no final of its own; whatever else fails, the final will say it."""
        message_id = next(iter(self.edits))
        await self._pace.wait(self.address)
        if self.rows or message_id not in self.edits:
            self._place_kept = bool(self.rows)  # what came meanwhile goes at once
            return
        message = self.edits.pop(message_id)
        try:
            await self._messenger.edit(self.address, message_id, message)
        except FloodControl as error:
            self._park(error)
            if all(row.edits != message_id for row in self.rows):
                self.edits.setdefault(message_id, message)
        except RecipientGone as error:
            await self._lost(self.address, error)
        except DeliveryError as error:
            # Nobody knows here whether it is off the record, and the error may quote it.
            log.debug("edit_failed", conversation=str(self.address), kind=type(error).__name__)

    async def _show_draft(self) -> None:
        """Carry out the newest draft. What flood control kept back is shown when it is over, if
        nothing newer is; what was lost is left out, and a refusal makes it the last one."""
        await self._messenger.ready()
        await self._pace.wait(self.address)
        if self.rows or not self.draft:
            self._place_kept = bool(self.rows)
            return
        (draft_id, message), self.draft = self.draft, None
        try:
            await self._messenger.draft(self.address, draft_id, message)
        except FloodControl as error:
            self._park(error)
            self.draft = self.draft or (None if self.rows else (draft_id, message))
        except RecipientGone as error:
            await self._lost(self.address, error)
        except DeliveryRefused as error:
            self._draft_refused(self.address, error)
        except DeliveryError as error:
            log.debug("draft_failed", conversation=str(self.address), kind=type(error).__name__)

    def _park(self, error: FloodControl) -> None:
        self._pace.park(self.address, error.retry_after_s)
        log.warning("flood_control", conversation=str(self.address), s=error.retry_after_s)

    async def _again(self, row: Delivery, wait_s: float, error: str) -> None:
        """Queue a row again: if we die while waiting, it is not taken for sent."""
        await self._ledger.mark(row, "queued", error=error)
        if self.rows:  # the chat may have been given up meanwhile
            self.rows[0] = replace(row, attempts=row.attempts + 1)
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as self._putting_off:
                await self._clock.sleep(wait_s)
        self._putting_off = None

    def try_now(self) -> None:
        """Wait no longer with what was put off: whoever was not reached is reached again."""
        if self._putting_off and not self._putting_off.expired():
            self._putting_off.reschedule(0.0)

    async def _refused(self, row: Delivery, error: DeliveryRefused) -> None:
        only_changes = row.kind in ONLY_CHANGES
        if row.edits and not only_changes:  # what it was to replace is gone: say it anew
            await self._ledger.anew(row, str(error))
            self.rows[0] = replace(row, edits=0)
            return
        if not only_changes:
            hidden = await self._ledger.log_fields(row)
            log.error("delivery_refused", delivery=row.id, error=str(error), **hidden)
        await self._settle(row, "refused", error=str(error))

    async def _leave_topic(self, row: Delivery, error: TopicGone) -> None:
        """The topic is gone: its words go to the chat around it, the route is marked."""
        if not self.address.thread_id:
            await self._settle(row, "refused", error=str(error))
            return
        await self._ledger.mark(row, "queued", error=str(error))
        told = await self._ledger.gone_topic(row, error)
        self._redirect(self.address.around)
        self._left_topic = True
        if told:
            self.rows.appendleft(told)

    def give_up(self, reason: str) -> None:
        """The chat is gone, and the rows that wait are marked so: forget them."""
        self.draft = None
        self.edits.clear()
        waiting = [row for row in self.rows if row.id != self.sending]
        self.rows = deque(row for row in self.rows if row.id == self.sending)
        for row in waiting:
            self._settled(replace(row, state="refused", error=reason))

    async def _move(self, chat_id: str) -> None:
        """In the new chat messages have other numbers: nothing is edited or replied to by the old
        ones, what was to be taken away is not there, and what was to grow arrives when it is
        whole."""
        self._redirect(replace(self.address, chat_id=chat_id))
        self.draft = None
        self.edits.clear()
        for row in list(self.rows):
            if row.kind == "live" or (row.edits and not row.message.text):
                await self._settle(row, "dropped")
        self.rows = deque(
            replace(row, edits=0, message=replace(row.message, reply_to=0)) for row in self.rows
        )

    def _redirect(self, address: ConversationAddress) -> None:
        """What waits goes to another address from now on; it stays this sender's."""
        self.address = address
        self.rows = deque(replace(row, address=address) for row in self.rows)

    async def _settle(
        self, row: Delivery, state: DeliveryState, *, message_id: int = 0, error: str = ""
    ) -> None:
        follows = await asyncio.shield(
            self._ledger.mark(row, state, message_id=message_id, error=error)
        )
        if row in self.rows:
            self.rows.remove(row)
        if follows:  # before what is newer
            self.rows.appendleft(follows)
        self._settled(replace(row, state=state, message_id=message_id, error=error))
