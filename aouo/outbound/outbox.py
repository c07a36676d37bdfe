"""The only way to a chat: durable rows, one sender per conversation, each call paced.

A row goes `queued → sending → sent | refused | unknown`. A row that fails before its request was
written is queued again; a row that may have arrived is not sent again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from shlex import quote

from aouo.facts import errors
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound
from aouo.facts.ports import Clock, Messenger, Rendered, iso, stamp
from aouo.facts.work import Delivery
from aouo.outbound.flood_control import Pace
from aouo.outbound.ledger import Ledger, Lost
from aouo.outbound.payloads import sendable
from aouo.outbound.sender import Sender
from aouo.plumbing.home import Home, home_path
from aouo.plumbing.logs import log
from aouo.store import deliveries
from aouo.store.database import TROUBLE, Database, Tx
from aouo.words.catalogue import message, speaking, text


def _nothing() -> None: ...


@dataclass(eq=False, kw_only=True)
class Outbox:
    """Sends committed rows, in order within a conversation, many conversations in parallel.

    It owns its senders: when `run` ends, none is left, and unsent rows are still queued.
    `stop_turns` ends the turns of a chat that is gone.
    """

    ledger: Ledger
    clock: Clock
    messengers: Mapping[str, Messenger]
    stop_turns: Callable[[ConversationAddress], None]

    def __post_init__(self) -> None:
        self._pace = Pace(self.clock)
        self._senders: dict[ConversationAddress, Sender] = {}
        self._begun: asyncio.Queue[Sender | None] = asyncio.Queue()
        self._waited_for: dict[int, asyncio.Future[Delivery]] = {}
        self._lost: Lost = ()
        self._removed = asyncio.Event()
        self._no_drafts: set[tuple[str, str]] = set()
        """(platform, chat) that refused a draft, "" = all its chats; edits are used there."""

    async def run(self) -> None:
        """Send until closed."""
        try:
            async with asyncio.TaskGroup() as group:
                removing = group.create_task(self._remove_lost())
                while (sender := await self._begun.get()) is not None:
                    group.create_task(self._drain(sender), name=f"sender {sender.address}")
                removing.cancel()
        finally:
            for waiting in self._waited_for.values():  # no sender is left that could settle it
                waiting.cancel()

    def close(self) -> None:
        """Start no more senders; `run` returns when the running ones have sent everything."""
        self._begun.put_nowait(None)

    def try_now(self, platform: str) -> None:
        """End the pauses between retries on a platform that can be reached again."""
        for sender in self._senders.values():
            if sender.address.platform == platform:
                sender.try_now()

    async def recover(self) -> int:
        """Take over the rows that an earlier process left; return how many are queued."""
        rows, self._lost = await self.ledger.recover()
        self.put(*rows)
        return len(rows)

    async def _remove_lost(self) -> None:
        """Delete the live messages whose ids died with their process, before anything is sent.

        An edit tells which message it is: it is the only one of ours that nobody knows.
        """
        for row, message_ids in self._lost:
            if not self._reaches(row.address):  # Telegram is switched off by now
                continue
            messenger = self.messengers[row.address.platform]
            await messenger.ready()
            for message_id in message_ids:
                await self._pace.wait(row.address)
                try:
                    await messenger.edit(row.address, message_id, sendable(row.message, row.id))
                    await messenger.delete(row.address, message_id)
                    break
                except errors.DeliveryRefused:
                    continue
                except Exception as error:  # noqa: BLE001 - raised, it would end every start
                    log.warning("lost_message_stays", delivery=row.id, error=repr(error))
                    break
        self._removed.set()

    def put(self, *rows: Delivery) -> None:
        """Hand over rows whose transaction is committed.

        A row that waits already is not added twice; one that is no longer queued is withdrawn.
        Where there is no messenger, since Telegram is switched off, rows wait for a later start.
        """
        for row in rows:
            if row.state != "queued":
                self.withdraw(row)
                self._tell(row)
                continue
            if not self._reaches(row.address):
                log.warning("delivery_waits_for_a_channel", platform=row.address.platform)
                continue
            sender = self._sender(row.address)
            sender.edits.pop(row.edits, None)
            sender.draft = None
            if all(waiting.id != row.id for waiting in sender.rows):
                sender.rows.append(row)

    def show(
        self,
        address: ConversationAddress,
        message_id: int,
        message: Rendered,
        shown: Callable[[], None] = _nothing,
    ) -> None:
        """Edit a live message soon; a newer edit, or the final row, replaces this one. `shown` is
        called if it takes place.

        In a group that got a new id meanwhile, the message id means another message, so nothing
        is edited.
        """
        if not self._reaches(address):
            return
        sender = self._sender(address)
        if _chat_of(sender.address) == _chat_of(address):
            sender.edits[message_id] = message, shown

    def show_draft(
        self,
        address: ConversationAddress,
        draft_id: int,
        message: Rendered,
        shown: Callable[[], None] = _nothing,
    ) -> None:
        """Show a draft soon; a newer draft, or a message, replaces this one. `shown` as in
        `show`."""
        if self._reaches(address):
            self._sender(address).draft = draft_id, (message, shown)

    def takes_drafts(self, address: ConversationAddress) -> bool:
        """Whether no draft has been refused here yet."""
        return self._no_drafts.isdisjoint({(address.platform, ""), _chat_of(address)})

    def drop_draft(self, address: ConversationAddress) -> None:
        """Forget a draft that has not been shown yet."""
        if sender := self._senders.get(address):
            sender.draft = None

    def withdraw(self, row: Delivery) -> bool:
        """Take back a row that is not being sent yet; the caller then marks it."""
        if not self._reaches(row.address):
            return True
        sender = self._senders.get(row.address)
        waiting = next((one for one in sender.rows if one.id == row.id), None) if sender else None
        if sender is None or waiting is None or sender.sending == row.id:
            return False
        sender.rows.remove(waiting)
        return True

    def arrival(self, row: Delivery) -> asyncio.Future[Delivery]:
        """Return a future that is done when a row is sent, refused or unknown.

        Call it before `put`: for a row that is settled already it is never done. Await it shielded.
        """
        return self._waited_for.setdefault(row.id, asyncio.get_running_loop().create_future())

    async def say(self, address: ConversationAddress, words: str) -> None:
        """Send one message without a row, for while none can be written; a failure is logged."""
        await self._pace.wait(address)
        try:
            await self.messengers[address.platform].send(address, Rendered(words))
        except errors.DeliveryError as error:
            log.warning("not_said", conversation=str(address), error=str(error))

    async def settled(self, row: Delivery) -> Delivery:
        """Wait until a row is sent, refused or unknown."""
        return await asyncio.shield(self.arrival(row))

    def edit_interval_s(self, address: ConversationAddress) -> float:
        """Return the seconds between live edits here; it grows after flood control."""
        if address.platform == "web":
            return 0.2  # nobody counts there
        base_s = 3.0 if address.chat_id.startswith("-") else 1.2
        return base_s * self._pace.slower(address)

    async def action(self, address: ConversationAddress, action: str) -> None:
        """Show an activity; a failure is only logged."""
        if self._pace.is_parked(address) or not self._reaches(address):
            return
        try:
            await self.messengers[address.platform].action(address, action)
        except errors.FloodControl as error:
            self._pace.park(address, error.retry_after_s)
        except errors.RecipientGone as error:
            await self.lose(address, error)
        except errors.DeliveryError as error:
            log.debug("action_failed", error=str(error))

    async def lose(self, address: ConversationAddress, error: errors.RecipientGone) -> None:
        """Give up a chat with its topics: refuse its queued rows, and stop its turns."""
        told = await self.ledger.gone(address, error)
        for sender in self._senders.values():
            if _chat_of(sender.address) == _chat_of(address):
                sender.give_up(str(error))
        self.stop_turns(address)
        if told:
            self.put(told)

    async def answer_tap(self, inbound: Inbound, problem: str = "") -> None:
        """Answer `inbound` if it is a tap that waits for it: with the problem as an alert, or
        without words.

        A failure is only logged.
        """
        tap = inbound.content
        if not isinstance(tap, Button) or not tap.answer_id or not self._reaches(inbound.address):
            return
        messenger = self.messengers[inbound.address.platform]
        try:
            await messenger.answer_tap(tap.answer_id, problem, alert=bool(problem))
        except errors.DeliveryError as error:
            log.debug("tap_not_answered", error=str(error))

    def _reaches(self, address: ConversationAddress) -> bool:
        return address.platform in self.messengers

    def _sender(self, address: ConversationAddress) -> Sender:
        sender = self._senders.get(address)
        if sender is None:
            sender = self._senders[address] = Sender(
                address,
                messenger=self.messengers[address.platform],
                ledger=self.ledger,
                pace=self._pace,
                clock=self.clock,
                settled=self._tell,
                draft_refused=self._without_drafts,
                lost=self.lose,
            )
            self._begun.put_nowait(sender)
        return sender

    async def _drain(self, sender: Sender) -> None:
        known_as = sender.address
        try:
            if known_as.platform == "tg":
                await self._removed.wait()
            await sender.drain()
        finally:
            del self._senders[known_as]

    def _without_drafts(self, address: ConversationAddress, error: errors.DeliveryRefused) -> None:
        """Use no drafts in this chat, or on the platform if it does not know the call."""
        everywhere = isinstance(error, errors.NotOffered)
        log.warning("drafts_given_up", chat="" if everywhere else str(address), error=str(error))
        self._no_drafts.add((address.platform, "") if everywhere else _chat_of(address))

    def _tell(self, row: Delivery) -> None:
        future = self._waited_for.pop(row.id, None)
        if future and not future.done():
            future.set_result(row)


_TROUBLE_S = 10.0
"""A shorter one is nothing to tell."""


def _chat_of(address: ConversationAddress) -> tuple[str, str]:
    """Return the key of a chat, the same for all its topics."""
    return address.platform, address.chat_id


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
    language: Callable[[], str]

    async def tell(self, words: Callable[[], str], *, daily: bool = True, about: str = "") -> None:
        """Queue what `words` says in the owner's language, once for the same text and day, or once
        for the same text; again if it is `about` something else."""
        chat = self.chat()
        if chat is None:
            return
        with speaking(self.language()):
            said = words()
        now = stamp(self.clock)
        digest = hashlib.sha256(f"{said}{about}".encode()).hexdigest()[:16]

        def write(tx: Tx) -> Delivery:
            key = f"owner:{now[:10] if daily else 'once'}:{digest}"
            return deliveries.add(tx, chat, "notice", message(said), now, key=key)

        row = await self.database.transact(write)
        if row.state == "queued":
            self.outbox.put(row)

    async def tell_of_trouble(self) -> None:
        """Say why nothing can be written, without writing it, and when that is over; for ever."""
        changed = asyncio.Event()
        self.database.listen(TROUBLE, changed.set)
        while True:
            await changed.wait()
            changed.clear()
            await self.clock.sleep(_TROUBLE_S)
            if not (trouble := self.database.trouble):
                continue
            since = self.clock.now()
            if (chat := self.chat()) and chat.platform == "tg":  # others live in the database
                with speaking(self.language()):
                    await self.outbox.say(chat, text(f"storage.{trouble}"))
            while self.database.trouble:
                await changed.wait()
                changed.clear()
            await self.tell(partial(text, "storage.over"), about=iso(since))
