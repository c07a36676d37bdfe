"""Fills the live messages of a turn, or shows nothing of one that nobody watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Clock, Payload, Rendered, Sent, stamp
from aouo.facts.transcript import AsksAgain
from aouo.facts.work import Delivery
from aouo.outbound.clean import without_secrets
from aouo.outbound.outbox import Outbox
from aouo.outbound.payloads import Capabilities, degraded, messages_of
from aouo.plumbing.redact import Redactor
from aouo.plumbing.waiting import finish
from aouo.store import deliveries, rendered
from aouo.store.database import Database, Tx


@dataclass(frozen=True, slots=True)
class Filled:
    """What the final text finds: messages to edit (`ids`, in order) and to delete (`stale_ids`).

    `ids[at]` was being filled: those before it are complete, those after it are from before a
    restart. `text` is the part of the answer for it, `shown` the part that a person saw; "" =
    none. `drafted`: they saw it as a draft, which does not stay by itself. `edits` counts how
    often they saw it grow.
    """

    ids: tuple[int, ...] = ()
    stale_ids: tuple[int, ...] = ()
    at: int = 0
    text: str = ""
    shown: str = ""
    drafted: bool = False
    edits: int = 0

    def cut_short(self) -> Filled:
        """Return what is left to end when the answer stays incomplete; complete messages stay."""
        behind = self.ids[self.at + 1 :]
        return replace(
            self, ids=self.ids[self.at : self.at + 1], stale_ids=(*self.stale_ids, *behind)
        )


@dataclass(slots=True, eq=False)
class _Page:
    """A live message: the words it holds, and whether a status line may stand below them."""

    row_id: int
    message_id: int
    words: Rendered
    has_status: bool


@dataclass(eq=False, kw_only=True)
class Pages:
    """The live messages of one turn; a resumed turn fills those from before the restart.

    `live` are those, `behind` the ones that were left behind: other messages of the turn stand
    below them.
    """

    outbox: Outbox
    database: Database
    clock: Clock
    address: ConversationAddress
    turn_id: str
    reply_to: int
    live: Sequence[Delivery] = ()
    behind: Sequence[Delivery] = ()

    def __post_init__(self) -> None:
        self._pages = [_former(row) for row in self.live]
        self._stale = [_former(row) for row in self.behind]
        self._at = 0
        self._beginning: tuple[_Page, Delivery, asyncio.Future[Delivery]] | None = None
        self._left = False
        self._edits = 0

    @property
    def number(self) -> int:
        """The number of the message that is being filled, from 1."""
        return self._at + 1

    @property
    def former(self) -> Rendered:
        """The words on the current page from before a restart; a status line does not count."""
        return self._pages[self._at].words if self._at < len(self._pages) else Rendered("")

    async def show(self, message: Rendered, kept: Rendered | None = None) -> None:
        """Put `message` on the current page; the first time this sends it and waits for its id.

        `kept` is what it holds besides a status line; it is stored in its place, for a process
        that resumes the turn.
        """
        words, has_status = kept or message, kept is not None
        if self._at < len(self._pages):
            page = self._pages[self._at]
            page.words, page.has_status = words, has_status
            await self.database.transact(
                lambda tx: deliveries.show_live(tx, page.row_id, words), brief=True
            )
            if page in self._pages:  # a tool may have sent a message below it meanwhile
                self.outbox.show(self.address, page.message_id, message, self.count)
            return
        if not self._pages and not self._stale:
            message = replace(message, reply_to=self.reply_to)
        now, self._left = stamp(self.clock), False
        row = await self.database.transact(
            lambda tx: deliveries.add(tx, self.address, "live", message, now, turn_id=self.turn_id)
        )
        # Kept for `settle`: the message can arrive in the very moment in which we are cancelled.
        arrival = self.outbox.arrival(row)
        page = _Page(row.id, 0, words, has_status)
        self._beginning = page, row, arrival
        self.outbox.put(row)
        self._begun(page, (await asyncio.shield(arrival)).message_id)

    def turn_over(self) -> None:
        """Go on to the next page, because the current one is full."""
        self._at = min(self._at + 1, len(self._pages))

    def leave_behind(self) -> None:
        """Give up the pages shown so far: another message stands below them now."""
        self._stale += self._pages
        self._pages.clear()
        self._at = 0
        self._left = True

    async def end_status(self) -> None:
        """Take the status lines away from the pages left behind, and the pages without words."""
        bare: list[_Page] = []
        for page in self._stale:
            if page.has_status and page.words.text:
                self.outbox.show(self.address, page.message_id, page.words)
            elif page.has_status:
                bare.append(page)
            page.has_status = False
        if not bare:
            return
        now = stamp(self.clock)

        def write(tx: Tx) -> list[Delivery]:
            for page in bare:
                deliveries.mark(tx, page.row_id, "dropped", now)
            ids = [page.message_id for page in bare]
            return taken_away(tx, self.address, self.turn_id, ids, now)

        self.outbox.put(*await self.database.transact(write, brief=True))
        self._stale = [page for page in self._stale if page not in bare]

    async def settle(self) -> Filled:
        """Return the messages to edit and to delete, once nothing is in flight."""
        if self._beginning:
            page, row, arrival = self._beginning
            if not self.outbox.withdraw(row):
                self._begun(page, (await finish(arrival)).message_id)
        ids, stale_ids = (
            tuple(page.message_id for page in pages) for pages in (self._pages, self._stale)
        )
        return Filled(ids, stale_ids, self._at, edits=self._edits)

    def count(self) -> None:
        """Count one edit of what grows, which the platform took."""
        self._edits += 1

    def _begun(self, page: _Page, message_id: int) -> None:
        self._beginning = None
        if message_id:
            page.message_id = message_id
            (self._stale if self._left else self._pages).append(page)


def taken_away(
    tx: Tx, address: ConversationAddress, turn_id: str, message_ids: Iterable[int], now: str
) -> list[Delivery]:
    """Return rows that take messages away which a turn was filling."""
    return [
        deliveries.add(
            tx,
            address,
            "notice",
            Rendered(""),
            now,
            turn_id=turn_id,
            key=f"unused:{turn_id}:{message_id}",
            edits=message_id,
        )
        for message_id in message_ids
    ]


def _former(row: Delivery) -> _Page:
    """Return a page of an earlier process; its row does not say whether a status line is shown."""
    words = row.message if row.message.preview else Rendered("")
    return _Page(row.id, row.message_id, words, has_status=True)


_LATER = "It is shown together with your answer, once that is complete."
_NO_REPLY = "It replies to no message: this runs by itself."


@dataclass(slots=True, eq=False, kw_only=True)
class SilentView:
    """A `TurnView` of a triggered turn; see `outbound.live.LiveView` for the one people watch."""

    database: Database
    turn_id: str
    capabilities: Capabilities
    redactor: Redactor
    previews: Callable[[], bool] = lambda: True

    streams = False
    """Nobody sees words before the turn has ended."""

    async def run(self) -> None:
        """Nothing has to be kept up to date."""

    async def settle(self) -> Filled:
        return Filled()

    def stand_by(self) -> None:
        """Nothing is shown while it waits, either."""

    def go_on(self) -> None:
        """See `stand_by`."""

    async def show_tool_call(self, name: str, args: str) -> None:
        del name, args

    async def show_tool_result(self) -> None: ...

    async def show_asking_again(self, asks: AsksAgain) -> None:
        del asks

    async def streaming_reply(self, delta: str) -> None:
        del delta

    async def start_over(self) -> None: ...

    async def dispatch_message(self, payload: Payload, key: str) -> Sent:
        """Keep one payload for the result; `key` makes this idempotent."""
        if payload.type == "action":
            return Sent(ok=True)
        shown, note = degraded(payload, self.capabilities)
        messages = [message for item in shown for message in messages_of(item, 0)]
        shows = self.previews()
        messages = [without_secrets(one, self.redactor, previews=shows) for one in messages]
        messages[-1] = replace(messages[-1], tag=payload.tag)
        await self.database.transact(
            lambda tx: rendered.keep_part(tx, self.turn_id, key, messages), durable=True
        )
        notes = (note, _NO_REPLY if payload.reply_to.strip() else "", _LATER)
        return Sent(ok=True, note=" ".join(filter(None, notes)))
