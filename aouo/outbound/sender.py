"""Sends the messages of one conversation, one after another, in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TypeAlias

from aouo.facts import errors
from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Clock, Messenger, Rendered
from aouo.facts.work import Delivery, DeliveryState
from aouo.outbound.flood_control import Pace
from aouo.outbound.ledger import Ledger
from aouo.outbound.payloads import sendable
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import pause_s
from aouo.store.deliveries import ONLY_CHANGES

_BACKOFF = partial(pause_s, first_s=0.5, factor=2, most_s=30)


_Growing: TypeAlias = tuple[Rendered, Callable[[], None]]
"""A live message as it is to be shown, and what to call each time the platform took it."""


@dataclass(eq=False)
class Sender:
    """Holds the rows, live edits and draft of one conversation, and makes one call at a time.

    A row stays first in `rows` until it is settled. Live edits and drafts may be lost: only the
    newest counts, and rows go first. A draft is never sent after a row that was put later, or it
    would stand below the answer.
    """

    address: ConversationAddress
    _: KW_ONLY
    messenger: Messenger
    ledger: Ledger
    pace: Pace
    clock: Clock
    settled: Callable[[Delivery], None]
    draft_refused: Callable[[ConversationAddress, errors.DeliveryRefused], None]
    lost: Callable[[ConversationAddress, errors.RecipientGone], Awaitable[None]]

    def __post_init__(self) -> None:
        self.rows: deque[Delivery] = deque()
        self.edits: dict[int, _Growing] = {}
        self.draft: tuple[int, _Growing] | None = None
        self.sending = 0
        self._place_kept = False
        self._left_topic = False
        self._putting_off: asyncio.Timeout | None = None

    async def drain(self) -> None:
        """Send what waits; return when nothing is left."""
        while self.rows or self.edits or self.draft:
            if self.rows:
                await self._deliver(self.rows[0])
            elif self.edits:
                await self._show()
            else:
                await self._show_draft()

    async def _deliver(self, row: Delivery) -> None:
        await self.messenger.ready()
        if not self._place_kept:
            await self.pace.wait(self.address)
        self._place_kept = False
        if not self.rows or self.rows[0] is not row:
            return  # withdrawn meanwhile
        self.sending = row.id
        try:
            if await self.ledger.begin(row):
                await self._try(row)
            elif row in self.rows:  # withdrawn while it began
                self.rows.remove(row)
        finally:
            self.sending = 0

    async def _try(self, row: Delivery) -> None:
        """Make the call of a row and settle it, or queue it again."""
        try:
            message_id = await self._call(row)
        except errors.FloodControl as error:
            self._park(error)
            await self._again(row, 0.0, str(error))
        except errors.NotSent as error:
            await self._again(row, _BACKOFF(row.attempts + 1), str(error))
        except errors.DeliveryUnknown as error:
            if row.edits or row.kind == "doubt":  # lost, it would leave a stale message
                await self._again(row, 1.0, str(error))
            else:
                await self._settle(row, "unknown", error=str(error))
        except errors.ChatMoved as error:
            await self.ledger.mark(row, "queued")
            await self.ledger.moved(self.address, error.chat_id)
            await self._move(error.chat_id)
        except errors.TopicGone as error:
            await self._leave_topic(row, error)
        except errors.RecipientGone as error:
            await self._settle(row, "refused", error=str(error))
            await self.lost(self.address, error)
        except errors.DeliveryRefused as error:
            await self._refused(row, error)
        except Exception as error:  # a bug: raised, it would end every process that takes the row
            log.exception("delivery_broke", delivery=row.id, error=repr(error))
            await self._settle(row, "unknown", error=repr(error))
        else:
            done: DeliveryState = "live" if row.kind == "live" else "sent"
            await self._settle(row, done, message_id=message_id)

    async def _call(self, row: Delivery) -> int:
        message = sendable(row.message, row.id)
        if not row.edits:
            if self._left_topic:  # a reply would go to the topic of its message
                message = replace(message, reply_to=0)
            return await self.messenger.send(self.address, message)
        if not message.text and not message.media:
            await self.messenger.delete(self.address, row.edits)
            return row.edits
        await self.messenger.edit(self.address, row.edits, message)
        return row.edits

    async def _show(self) -> None:
        """Carry out the oldest live edit.

        An edit that flood control refused is queued again, since a full page has no final row;
        after any other failure the final row repairs it.
        """
        message_id = next(iter(self.edits))
        await self.pace.wait(self.address)
        if self.rows or message_id not in self.edits:
            self._place_kept = bool(self.rows)  # a row that came meanwhile is sent at once
            return
        message, shown = growing = self.edits.pop(message_id)
        try:
            await self.messenger.edit(self.address, message_id, message)
            shown()
        except errors.FloodControl as error:
            self._park(error)
            if all(row.edits != message_id for row in self.rows):
                self.edits.setdefault(message_id, growing)
        except errors.RecipientGone as error:
            await self.lost(self.address, error)
        except errors.DeliveryError as error:
            # The message may be off the record, and the error may quote it.
            log.debug("edit_failed", conversation=str(self.address), kind=type(error).__name__)

    async def _show_draft(self) -> None:
        """Show the newest draft.

        One that flood control refused is shown later, unless there is a newer one; a lost one is
        skipped; after a refusal there are no more drafts here.
        """
        await self.messenger.ready()
        await self.pace.wait(self.address)
        if self.rows or not self.draft:
            self._place_kept = bool(self.rows)
            return
        (draft_id, (message, shown)), self.draft = self.draft, None
        try:
            await self.messenger.draft(self.address, draft_id, message)
            shown()
        except errors.FloodControl as error:
            self._park(error)
            self.draft = self.draft or (None if self.rows else (draft_id, (message, shown)))
        except errors.RecipientGone as error:
            await self.lost(self.address, error)
        except errors.DeliveryRefused as error:
            self.draft_refused(self.address, error)
        except errors.DeliveryError as error:
            log.debug("draft_failed", conversation=str(self.address), kind=type(error).__name__)

    def _park(self, error: errors.FloodControl) -> None:
        self.pace.park(self.address, error.retry_after_s)
        log.warning("flood_control", conversation=str(self.address), s=error.retry_after_s)

    async def _again(self, row: Delivery, wait_s: float, error: str) -> None:
        """Queue a row again, and wait; a process that dies meanwhile leaves it queued."""
        await self.ledger.mark(row, "queued", error=error)
        if self.rows:  # the chat may have been given up meanwhile
            self.rows[0] = replace(row, attempts=row.attempts + 1)
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as self._putting_off:
                await self.clock.sleep(wait_s)
        self._putting_off = None

    def try_now(self) -> None:
        """End the pause before a retry, because the platform can be reached again."""
        if self._putting_off and not self._putting_off.expired():
            self._putting_off.reschedule(0.0)

    async def _refused(self, row: Delivery, error: errors.DeliveryRefused) -> None:
        only_changes = row.kind in ONLY_CHANGES
        if row.edits and not only_changes:  # the message to replace is gone: send a new one
            await self.ledger.anew(row, str(error))
            self.rows[0] = replace(row, edits=0)
            return
        if not only_changes:
            hidden = await self.ledger.log_fields(row)
            log.error("delivery_refused", delivery=row.id, error=str(error), **hidden)
        await self._settle(row, "refused", error=str(error))

    async def _leave_topic(self, row: Delivery, error: errors.TopicGone) -> None:
        """Send the rows of a topic that is gone to the chat around it, and pause its route."""
        if not self.address.thread_id:
            await self._settle(row, "refused", error=str(error))
            return
        await self.ledger.mark(row, "queued", error=str(error))
        told = await self.ledger.gone_topic(row, error)
        self._redirect(self.address.around)
        self._left_topic = True
        if told:
            self.rows.appendleft(told)

    def give_up(self, reason: str) -> None:
        """Forget the waiting rows of a chat that is gone, which are marked refused already."""
        self.draft = None
        self.edits.clear()
        waiting = [row for row in self.rows if row.id != self.sending]
        self.rows = deque(row for row in self.rows if row.id == self.sending)
        for row in waiting:
            self.settled(replace(row, state="refused", error=reason))

    async def _move(self, chat_id: str) -> None:
        """Go on in a chat with a new id, where the old message ids are not valid.

        Edits become new messages without replies; deletions and live messages are dropped.
        """
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
        """Send the waiting rows to another address from now on."""
        self.address = address
        self.rows = deque(replace(row, address=address) for row in self.rows)

    async def _settle(
        self, row: Delivery, state: DeliveryState, *, message_id: int = 0, error: str = ""
    ) -> None:
        follows = await asyncio.shield(
            self.ledger.mark(row, state, message_id=message_id, error=error)
        )
        if row in self.rows:
            self.rows.remove(row)
        if follows:  # before what is newer
            self.rows.appendleft(follows)
        self.settled(replace(row, state=state, message_id=message_id, error=error))
