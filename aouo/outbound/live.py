"""Shows a turn's progress while it runs: activity, a status line, the growing answer.

A live message is a row like any other, so a process that resumes the turn also resumes its
message. The final text is not sent from here: it is committed with the turn, and edits the messages
that `settle` names. A draft is neither a message nor a row; it vanishes when the final text, or the
part that was seen of an answer that ended early, is sent.

Words that are shown already, of an earlier process or attempt, stay until there are more new ones,
or the new ones are complete: a message that a person reads does not shrink. The status line
stands below them, but not while a person is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from aouo.facts.address import ConversationAddress
from aouo.facts.ids import draft_id
from aouo.facts.ports import Clock, Payload, Rendered, Sent, stamp
from aouo.facts.transcript import AsksAgain
from aouo.facts.work import Delivery
from aouo.outbound.clean import without_end, without_secrets
from aouo.outbound.outbox import Outbox
from aouo.outbound.pages import Filled, Pages
from aouo.outbound.payloads import Capabilities, degraded, messages_of
from aouo.plumbing.redact import Redactor
from aouo.store import deliveries
from aouo.store.database import Database
from aouo.words import sentences
from aouo.words.catalogue import below
from aouo.words.catalogue import text as sentence
from aouo.words.markdown.render import render, stable_prefix

_TYPING_AFTER_S = 0.3  # an answer that comes sooner needs no announcement
_TYPING_EVERY_S = 4.5
_STATUS_AFTER_S = 1.5
_TOOL_AFTER_S = 0.3  # most tools are done by then, and a line that only flashes says nothing
_LOOK_EVERY_S = 0.25
_EDIT_CHARS = 50
_MOST_DIGITS = 18  # of a message id; a tag may be a longer number
_DRAFT_AGAIN_S = 20.0
"""Telegram shows a draft for 30 s. Source: core.telegram.org/bots/api#sendmessagedraft."""
_SPEAKING = frozenset({"msg", "clarify"})  # their effect is visible without a status line


@dataclass(eq=False, kw_only=True)
class LiveView:
    """One turn's `TurnView`; `run` belongs to a task that ends before `settle` is called."""

    outbox: Outbox
    database: Database
    clock: Clock
    address: ConversationAddress
    turn_id: str
    streaming: bool
    capabilities: Capabilities
    max_parts: int
    drafts: bool = False
    said_id: int = 0
    reply: bool = False
    live: Sequence[Delivery] = ()
    behind: Sequence[Delivery] = ()
    redactor: Redactor
    previews: Callable[[], bool] = lambda: True
    for_owner: bool = False
    names_tools: bool = True

    def __post_init__(self) -> None:
        self.drafts = self.drafts and not self.live
        self._draft_id = draft_id(self.turn_id)
        self._drafted = Rendered("")
        self._drafted_before = ""  # the pages of the draft that were full
        self._pages = Pages(
            outbox=self.outbox,
            database=self.database,
            clock=self.clock,
            address=self.address,
            turn_id=self.turn_id,
            reply_to=self.said_id if self.reply else 0,
            live=self.live,
            behind=self.behind,
        )
        self._text: str = ""
        self._status = ""
        self._line = ""  # the status line that is shown
        self._shown = ""
        self._words = self._pages.former  # as `_shown`, rendered; perhaps of an earlier process
        self._outdated = bool(self._words.text)
        self._asks_again = False
        self._shown_at_s = 0.0
        self._fresh = False
        self._full = False
        self._asks = False
        self._since_s = self.clock.monotonic_s()

    @property
    def streams(self) -> bool:
        """Whether the chat sees words before the turn has ended."""
        return self.streaming

    async def run(self) -> None:
        """Keep what the person sees up to date, until cancelled."""
        await self.clock.sleep(_TYPING_AFTER_S)
        typed_s = 0.0
        while True:
            now_s = self.clock.monotonic_s()
            if self._asks:  # it is the person's turn now, perhaps until tomorrow
                self._leave_behind()
                await self._pages.end_status()
                await self.clock.sleep(_LOOK_EVERY_S)
                continue
            if not typed_s or now_s - typed_s >= _TYPING_EVERY_S:
                typed_s = now_s
                await self.outbox.action(self.address, "typing")
            if self.streaming:
                await self._refresh(now_s)
            await self.clock.sleep(_LOOK_EVERY_S)

    async def settle(self) -> Filled:
        """Return what the final text finds in the chat, once nothing is in flight."""
        self.outbox.drop_draft(self.address)
        filled = await self._pages.settle()
        if self._fresh:  # the words so far do not count
            return replace(filled, at=0)
        text = self._shown if self._full else self._text
        drafted = self.drafts and bool(self._shown or self._drafted_before)
        begun = drafted or filled.at < len(filled.ids)
        shown = self._shown if begun and self._text.startswith(self._shown) else ""
        if drafted:
            text, shown = self._drafted_before + text, self._drafted_before + shown
        return replace(filled, text=text.strip(), shown=shown.strip(), drafted=drafted)

    async def show_tool_call(self, name: str, args: str) -> None:
        del args  # may hold anything; the name is enough for a status line
        self._fresh = True
        self._forget_words()
        self._asks = name == "clarify"
        self._since_s = self.clock.monotonic_s()
        if name in _SPEAKING:
            self._status = ""
        else:
            self._status = (
                sentence("turns.calling", tool=name)
                if self.names_tools
                else sentence("turns.thinking")
            )

    async def show_asking_again(self, asks: AsksAgain) -> None:
        """Show that the same or another service is asked, because one gave no answer."""
        self._asks_again = True
        self._since_s = self.clock.monotonic_s()
        self._status = sentences.asking_again(asks, why=self.for_owner)

    async def show_tool_result(self) -> None:
        self.go_on()
        self._since_s = self.clock.monotonic_s()
        self._status = ""

    def stand_by(self) -> None:
        """Show nothing while a person is asked, perhaps until tomorrow."""
        self._asks = True

    def go_on(self) -> None:
        """Go on after the person's answer, in a new message below it."""
        if self._asks:
            self._asks = False
            self._leave_behind()

    async def streaming_reply(self, delta: str) -> None:
        """Add to the answer; after a tool call the text begins again."""
        if self._fresh:
            self._text, self._fresh, self._full = "", False, False
            self._drafted_before = ""
        if self._asks_again:
            self._asks_again, self._status = False, ""
        self._text += delta

    async def start_over(self) -> None:
        """Discard the text so far; what is shown of it is replaced by the new text."""
        self._fresh = True
        self._outdated = bool(self._words.text)

    async def dispatch_message(self, payload: Payload, key: str) -> Sent:
        """Send one payload in order and wait for it; `key` makes this idempotent."""
        if payload.type == "action":
            await self.outbox.action(self.address, payload.action)
            return Sent(ok=True)
        shown, note = degraded(payload, self.capabilities)
        reply_to, missing = await self._reply_to(payload)
        messages = [
            message
            for number, item in enumerate(shown)
            for message in messages_of(item, 0 if number else reply_to)
        ]
        messages = [self._clean(message) for message in messages]
        messages[-1] = replace(messages[-1], tag=payload.tag)
        rows = await self._queue(messages, key)
        settled = [await self._wait(row) for row in rows]
        self._leave_behind()
        return _sent(settled, note, missing)

    async def _queue(self, parts: Sequence[Rendered], key: str) -> list[Delivery]:
        now = stamp(self.clock)
        rows = await self.database.transact(
            lambda tx: [
                deliveries.add(
                    tx, self.address, "msg", part, now, turn_id=self.turn_id, key=f"{key}:{n}"
                )
                for n, part in enumerate(parts)
            ],
            durable=True,
        )
        self.outbox.put(*(row for row in rows if row.state == "queued"))
        return rows

    async def _wait(self, row: Delivery) -> Delivery:
        return await self.outbox.settled(row) if row.state in ("queued", "sending") else row

    async def _reply_to(self, payload: Payload) -> tuple[int, str]:
        """Return the id of the message that a payload replies to, and a note if there is none.

        A payload names it by its id, by a tag of this turn, also one from before a restart, or as
        `user`, the person's own.
        """
        wanted = payload.reply_to.strip()
        if not wanted or wanted == "user":
            return self.said_id if wanted else 0, ""
        if wanted.isascii() and wanted.isdigit() and len(wanted) <= _MOST_DIGITS:
            return int(wanted), ""
        found = await self.database.read(lambda tx: deliveries.tagged(tx, self.turn_id, wanted))
        return found, "" if found else f"no message of this turn has the tag {wanted!r}"

    async def _refresh(self, now_s: float) -> None:
        """Show the newest text, or a status line while there is none."""
        if self.drafts and not self.outbox.takes_drafts(self.address):
            self.drafts = False
            self._forget_words()
        if self.drafts and self._drafted.text and now_s - self._shown_at_s >= _DRAFT_AGAIN_S:
            self._shown_at_s = now_s
            await self._put(self._drafted)
        says = self._text and not self._fresh and not self._asks_again
        if says and not self._falls_short():
            if not self._full:
                await self._show_text(now_s)
        elif self._status_due(now_s):
            self._line, self._shown_at_s = self._status or sentence("turns.thinking"), now_s
            await self._put(below(self._words, self._line), self._words)

    def _status_due(self, now_s: float) -> bool:
        """Whether to show a status line now: soon for a running tool, later for silence."""
        if self._asks:
            return False
        due = now_s - self._since_s >= (_TOOL_AFTER_S if self._status else _STATUS_AFTER_S)
        quiet = now_s - self._shown_at_s >= self.outbox.edit_interval_s(self.address)
        return due and quiet and self._line != (self._status or sentence("turns.thinking"))

    def _falls_short(self) -> bool:
        """Whether the new text is still shorter than the old one that is shown."""
        if self._outdated and len(self._text) > len(self._words.text):
            finished, _ = stable_prefix(self._text)
            if finished or len(self._page(self._text).text) >= len(self._words.text):
                self._outdated = False
        return self._outdated

    def _forget_words(self) -> None:
        self._shown, self._words, self._outdated = "", Rendered(""), False

    def _leave_behind(self) -> None:
        self._pages.leave_behind()
        self._forget_words()
        self._line = ""

    async def _show_text(self, now_s: float) -> None:
        grown = len(self._text) - len(self._shown) >= _EDIT_CHARS
        first = not self._shown or not self._text.startswith(self._shown)
        paced = now_s - self._shown_at_s >= self.outbox.edit_interval_s(self.address)
        if not (paced and (grown or first)):
            return
        text = self._text
        finished, rest = stable_prefix(text)
        if finished:
            await self._show(finished, now_s, whole=True)
            self._full = self._pages.number >= self.max_parts
            if self._full or not self._text.startswith(text):  # it began anew meanwhile
                return
            if self.drafts:
                self._drafted_before += finished
            self._pages.turn_over()
            rest += self._text.removeprefix(text)
            self._text, self._shown, self._words = rest, "", self._pages.former
            self._outdated = bool(self._words.text)
            if self._falls_short():
                return
        await self._show(self._text, now_s)

    async def _show(self, text: str, now_s: float, *, whole: bool = False) -> None:
        """Show a page's text; it may still grow, unless the page is `whole`."""
        self._shown, self._shown_at_s, self._line = text, now_s, ""
        message = self._page(text, whole=whole)
        if message.text:
            self._words = message
            await self._put(message)

    def _page(self, text: str, *, whole: bool = False) -> Rendered:
        """Return the first message of a text, without secrets and without what may become one."""
        for part in render(text)[:1]:
            message = self._clean(Rendered(part.text, part.entities))
            return message if whole else without_end(message, self.redactor)
        return Rendered("")

    def _clean(self, message: Rendered) -> Rendered:
        return without_secrets(message, self.redactor, previews=self.previews())

    async def _put(self, message: Rendered, kept: Rendered | None = None) -> None:
        if self.drafts:
            self._drafted = message
            self.outbox.show_draft(self.address, self._draft_id, message, self._pages.count)
        else:
            await self._pages.show(message, kept)


def _sent(rows: Sequence[Delivery], *notes: str) -> Sent:
    """Return the result of a payload's messages; it is `unknown` if one of them is."""
    arrived = sum(row.state == "sent" for row in rows)
    lost = [row for row in rows if row.state != "sent"]
    unknown = any(row.state == "unknown" for row in lost)
    part = f"{arrived} of its {len(rows)} messages arrived" if lost and arrived else ""
    why = lost[0].error if lost else ""
    said = "; ".join(dict.fromkeys(filter(None, (*notes, part, why))))
    return Sent(not lost, rows[-1].message_id, said, unknown)
