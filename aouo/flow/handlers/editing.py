"""Applies edits: what waits is replaced, a running turn is told, an answer is offered anew."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import structlog

from aouo.facts.events import Album, Attached, Command, Content, Edited, Inbound, Text
from aouo.facts.ports import ButtonSpec, Clock, stamp
from aouo.facts.taps import Tap, encode
from aouo.facts.transcript import UserSaid
from aouo.facts.work import Asked, Delivery, Job
from aouo.flow.replies import Replies
from aouo.outbound.outbox import Outbox
from aouo.queue import edited
from aouo.routing import lexer
from aouo.store import asked as asked_jobs
from aouo.store import deliveries, edits, jobs, media, off_record, turns
from aouo.store.database import Database, Tx
from aouo.turn import heard
from aouo.turn.context import TurnContext
from aouo.words.catalogue import say, text

log = structlog.get_logger()


@dataclass(slots=True, eq=False, kw_only=True)
class Editing:
    """Applies edits, each in one transaction with the job that brought it."""

    database: Database
    clock: Clock
    outbox: Outbox
    replies: Replies
    _fresh: set[int] = field(init=False, default_factory=set[int])

    async def apply(self, job: Job) -> None:
        """Do with an edit what its message's job still allows."""
        now = stamp(self.clock)

        def write(tx: Tx) -> tuple[str, int, Delivery | None]:
            jobs.check_claim(tx, job)
            outcome, job_id, shown = _apply(tx, job, now)
            jobs.settle(tx, job, "done", outcome, now)
            jobs.forget_words(tx, job)
            if job.off_record:
                tx.forget()
            return outcome, job_id, shown

        outcome, job_id, shown = await self.database.transact(write, durable=True)
        log.info("message_edited", message_id=job.inbound.message_id, outcome=outcome)
        if outcome == _TOLD:
            self._fresh.add(job_id)
        if shown:
            self.outbox.put(shown)

    async def tell(self, ctx: TurnContext, job: Job) -> None:
        """What the person changed since the last dispatch becomes a line that the model reads."""
        taken_up = ctx.facts.resumes and not ctx.dispatches
        if job.id not in self._fresh and not taken_up:
            return
        self._fresh.discard(job.id)
        now = stamp(self.clock)

        def write(tx: Tx) -> list[str]:
            jobs.check_claim(tx, job)
            lines = [heard.edited(said) for said, _ in edits.untold(tx, job.id)]
            for line in lines:
                turns.record_line(tx, ctx.facts, line, now)
            edits.forget_untold(tx, job.id)
            return lines

        ctx.said += map(UserSaid, await self.database.transact(write))

    async def tap(self, job: Job, tap: Tap) -> None:
        """Answer the new words, because the person wants it; or explain why not."""
        address, edits = job.inbound.address, job.inbound.message_id

        def work(tx: Tx, now: str) -> str | list[Delivery]:
            if problem := _take(tx, int(tap.values[0]), job.inbound, now):
                return problem
            said = say("edits.answering")
            return [deliveries.add(tx, address, "notice", said, now, edits=edits)]

        await self.replies.answer_tap(job, work, "answers an edited message", wakes=True)


def offer_untold(tx: Tx, job: Job, now: str) -> list[Delivery]:
    """The turn ends without having heard of the newest words: they can be answered anew."""
    rows = edits.untold(tx, job.id)
    if not rows:
        return []
    edits.forget_untold(tx, job.id)
    shown = _offer(tx, job.id, rows[-1][1], now)
    return [shown] if shown else []


_TOLD = "the running turn is told"


def _apply(tx: Tx, job: Job, now: str) -> tuple[str, int, Delivery | None]:
    """(what was done, the message's job, what there is to show)."""
    inbound = job.inbound
    assert isinstance(inbound.content, Edited)
    asked = asked_jobs.of(tx, inbound.address, inbound.message_id)
    if asked is None or asked.inbound.person.id != inbound.person.id:
        return "a message that we do not have", 0, None
    if asked.inbound.content == Text("") or off_record.is_once(asked.inbound):
        tx.forget()
    if asked.inbound.content == Text(""):
        return "words that were not kept", 0, None
    said = _said(inbound.content)
    new = edited.rewritten(asked.inbound, inbound.message_id, said)
    if new is None:
        return "a kind that stays as it is", 0, None
    if edited.same(new.content, asked.inbound.content):
        return "unchanged", 0, None
    if not asked.begun:
        if edited.files_differ(new.content, asked.inbound.content):
            media.wipe(tx, asked.job_id)
        jobs.rewrite(tx, asked.job_id, new)
        return "replaced before its turn", 0, None
    return _too_late(tx, asked, new, inbound.content.text, now)


def _said(new: Edited) -> edited.Said:
    command = lexer.command(new.text)
    if new.item:
        return Attached(new.item, new.about, command)
    return command or Text(new.text, new.about)


def _commands(content: Content) -> bool:
    match content:
        case Command() | Attached(command=Command()) | Album(command=Command()):
            return True
        case _:
            return False


def _too_late(
    tx: Tx, asked: Asked, new: Inbound, said: str, now: str
) -> tuple[str, int, Delivery | None]:
    if _commands(asked.inbound.content) or _commands(new.content):
        return "a command runs once", 0, None
    if asked.runs:
        jobs.rewrite(tx, asked.job_id, new)
        if edited.files_differ(asked.inbound.content, new.content):
            said = f"{said} {heard.OTHER_FILE}".lstrip()
        edits.note(tx, asked.job_id, said, new, now)
        return _TOLD, asked.job_id, None
    if not asked.answered:
        return "its job is over", 0, None
    jobs.rewrite(tx, asked.job_id, new)  # another of its messages may be edited next
    return "offered to answer again", 0, _offer(tx, asked.job_id, new, now)


def _offer(tx: Tx, job_id: int, new: Inbound, now: str) -> Delivery | None:
    """One message with a button; None = it is there already, and gives the newest words now."""
    offer_id, fresh = edits.offer(tx, job_id, new, now)
    if not fresh:
        return None
    button = ButtonSpec(text("edits.again"), encode("edited", offer_id))
    said = say("edits.too-late", [button])
    return deliveries.add(tx, new.address, "notice", said, now, key=f"edited:{offer_id}")


def _take(tx: Tx, offer_id: int, tapped: Inbound, now: str) -> str:
    """Put the new words into their lane; why not, "" = done."""
    found, inbound = edits.offered(tx, offer_id)
    if inbound is None:
        return text("taps.expired" if found else "taps.unknown")
    if inbound.person.id != tapped.person.id:
        return text("taps.not-yours")
    if inbound.address.thread_id != tapped.address.thread_id:
        return text("taps.unknown")
    edits.take(tx, offer_id)
    jobs.add(tx, tapped.address.lane, replace(inbound, address=tapped.address), now)
    return ""
