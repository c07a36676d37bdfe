"""Applies edits, reactions and changes of membership: what people do besides writing.

That the jobs of a chat wait, and go on once we are back, is decided where the news is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from aouo.agent import history
from aouo.agent.context import TurnContext
from aouo.agent.tools.undo import Undoing
from aouo.facts import events
from aouo.facts.address import ConversationAddress
from aouo.facts.errors import RecipientGone, ToolFailed
from aouo.facts.ids import SessionId
from aouo.facts.ports import ButtonSpec, Clock, stamp
from aouo.facts.records import Effect
from aouo.facts.taps import Tap, encode
from aouo.facts.transcript import UserSaid
from aouo.facts.work import Asked, Delivery, Job
from aouo.flow.replies import Replies, Said
from aouo.guard.targets import as_said
from aouo.outbound.outbox import Outbox
from aouo.plumbing.logs import log
from aouo.plumbing.web.envelope import said_by, sources_in
from aouo.queue import joining, lexer
from aouo.store import chats, contents, deliveries, edits, gone, jobs, off_record, sessions, turns
from aouo.store.database import Database, Tx
from aouo.words.catalogue import say, text


async def note_reaction(database: Database, clock: Clock, job: Job) -> None:
    """Keep it; nothing answers to a reaction by itself."""
    inbound, now = job.inbound, stamp(clock)
    reacted = inbound.content
    assert isinstance(reacted, events.Reacted)

    def write(tx: Tx) -> bool:
        jobs.check_claim(tx, job)
        known, session_id = _session_of(tx, inbound, now)
        if known:
            edits.put_reaction(
                tx,
                inbound.address,
                inbound.message_id,
                inbound.person,
                reacted.emoji,
                session_id,
                now,
            )
        jobs.settle(tx, job, "done", "kept" if known else "on a message we do not have", now)
        return known

    kept = await database.transact(write)
    log.info("reacted", emoji=reacted.emoji, message_id=inbound.message_id, kept=kept)


def _session_of(tx: Tx, inbound: events.Inbound, now: str) -> tuple[bool, str]:
    """Whether we have the message, and the session it was said in, "" = in none. A result may be
    shown before it is history: it counts as said where it is going to be."""
    if delivery := deliveries.of_message(tx, inbound.address, inbound.message_id):
        session_id = turns.shown_in(tx, delivery.turn_id)
        if delivery.turn_id and not (session_id and SessionId.parse(session_id).is_current):
            pack = turns.pack_of(tx, delivery.turn_id)
            here = (delivery.address, inbound.chat_kind)
            session_id = sessions.of_result(tx, *here, pack, now)
        return True, session_id
    if found := edits.asked_by(tx, inbound.address, inbound.message_id):
        return True, turns.session_of_job(tx, found.job_id)
    return False, ""


def untold(tx: Tx, inbound: events.Inbound, session_id: str, own: Sequence[str] = ()) -> list[str]:
    """What the session's model does not know yet, a line each; where several people talk, between
    marks unless it is about words of ours or of `own`, and by one of these."""
    lines: list[str] = []
    for message_id, person, name, emoji in edits.tell_reactions(tx, session_id):
        text, writer = _text_of(tx, inbound, message_id)
        line = history.reacted(name if own else "", emoji, text)
        strange = own and not {person, writer} <= {"", *own}
        lines.append(said_by(f"a reaction of {name}" if strange else "", line))
    return lines


def _text_of(tx: Tx, inbound: events.Inbound, message_id: int) -> tuple[str, str]:
    """Return the words of a message and whose they are, "" = ours."""
    if delivery := deliveries.of_message(tx, inbound.address, message_id):
        return delivery.message.text, ""
    found = edits.asked_by(tx, inbound.address, message_id)
    if found is None:
        return "", ""
    return joining.words_of(found.inbound, message_id), found.inbound.person.id


async def leave_chat(
    database: Database, outbox: Outbox, replies: Replies, job: Job, standing: events.Standing
) -> None:
    """Stop the chat's turns and forget what waits to be sent, unless we are back already."""
    address = job.inbound.address
    if await database.read(lambda tx: gone.is_closed(tx, address)):
        await outbox.lose(address, RecipientGone(standing.gone, muted=standing.muted))
    await replies.done(job, standing.gone)


async def move_chat(
    replies: Replies,
    moved: Callable[[ConversationAddress, str], None],
    job: Job,
    to: events.Migrated,
) -> None:
    """Let everything stored follow a group that became a supergroup, in one transaction; `moved`
    is told the new id once its jobs have changed lanes."""
    address = job.inbound.address

    def work(tx: Tx, now: str) -> Said:
        chats.rename_chat(tx, address.platform, address.chat_id, to.new_chat_id)
        return []

    await replies.settle(job, work, outcome="moved")
    if address.chat_id != to.new_chat_id:  # both chats are told, and the other one came first
        log.info("chat_moved", to=to.new_chat_id)
        moved(address, to.new_chat_id)


@dataclass(slots=True, eq=False, kw_only=True)
class Editing:
    """Applies edits, each in one transaction with the job that brought it."""

    replies: Replies
    undoing: Undoing
    _fresh: set[int] = field(init=False, default_factory=set[int])

    async def apply(self, job: Job) -> None:
        """Do with an edit what its message's job still allows."""
        now = stamp(self.replies.clock)

        def write(tx: Tx) -> tuple[str, int, Delivery | None]:
            jobs.check_claim(tx, job)
            outcome, job_id, shown = _apply(tx, job, now)
            jobs.settle(tx, job, "done", outcome, now)
            jobs.forget_words(tx, job)
            if job.off_record:
                tx.forget()
            return outcome, job_id, shown

        outcome, job_id, shown = await self.replies.database.transact(write, durable=True)
        log.info("message_edited", message_id=job.inbound.message_id, outcome=outcome)
        if outcome == _TOLD:
            self._fresh.add(job_id)
        if shown:
            self.replies.outbox.put(shown)

    async def tell(self, ctx: TurnContext, job: Job) -> None:
        """What the person changed since the last dispatch becomes a line that the model reads."""
        taken_up = ctx.facts.resumes and not ctx.dispatches
        if job.id not in self._fresh and not taken_up:
            return
        self._fresh.discard(job.id)
        now = stamp(self.replies.clock)

        def write(tx: Tx) -> list[str]:
            jobs.check_claim(tx, job)
            lines = [history.edited(as_said("", said)) for said, _ in edits.untold(tx, job.id)]
            if ctx.reads(sources_in("\n".join(lines))) and not ctx.facts.off_record:
                sessions.label(tx, ctx.facts.session_id, tuple(ctx.sources))
            for line in lines:
                turns.record_line(tx, ctx.facts, line, now)
            edits.forget_untold(tx, job.id)
            return lines

        ctx.said += map(UserSaid, await self.replies.database.transact(write))

    async def tap(self, job: Job, tap: Tap) -> None:
        """Answer the new words, because the person wants it, in place of what a phrase did by the
        old ones; or explain why not."""
        address, edits, offer_id = job.inbound.address, job.inbound.message_id, int(tap.values[0])
        for effect in await self.replies.database.read(lambda tx: _done_by(tx, offer_id, job)):
            with suppress(ToolFailed):  # it was changed since, and stays
                await self.undoing.take_back(effect, job)

        def work(tx: Tx, now: str) -> str | list[Delivery]:
            if problem := _take(tx, offer_id, job.inbound, now):
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
    assert isinstance(inbound.content, events.Edited)
    asked = edits.asked_by(tx, inbound.address, inbound.message_id)
    if asked is None or asked.inbound.person.id != inbound.person.id:
        return "a message that we do not have", 0, None
    if asked.inbound.content == events.Text("") or off_record.is_once(asked.inbound):
        tx.forget()
    if asked.inbound.content == events.Text(""):
        return "words that were not kept", 0, None
    said = _said(inbound.content)
    new = joining.rewritten(asked.inbound, inbound.message_id, said)
    if new is None:
        return "a kind that stays as it is", 0, None
    if joining.same(new.content, asked.inbound.content):
        return "unchanged", 0, None
    if not asked.begun:
        if joining.files_differ(new.content, asked.inbound.content):
            contents.wipe_files(tx, asked.job_id)
        jobs.rewrite(tx, asked.job_id, new)
        return "replaced before its turn", 0, None
    return _too_late(tx, asked, new, inbound.content.text, now)


def _said(new: events.Edited) -> joining.Said:
    command = lexer.command(new.text)
    if new.item:
        return events.Attached(new.item, new.about, command)
    return command or events.Text(new.text, new.about, theirs=new.theirs)


def _commands(content: events.Content) -> bool:
    match content:
        case (
            events.Command()
            | events.Attached(command=events.Command())
            | events.Album(command=events.Command())
        ):
            return True
        case _:
            return False


def _too_late(
    tx: Tx, asked: Asked, new: events.Inbound, said: str, now: str
) -> tuple[str, int, Delivery | None]:
    if _commands(asked.inbound.content) or _commands(new.content):
        return "a command runs once", 0, None
    if asked.runs:
        jobs.rewrite(tx, asked.job_id, new)
        if joining.files_differ(asked.inbound.content, new.content):
            said = f"{said} {history.OTHER_FILE}".lstrip()
        edits.note(tx, asked.job_id, said, new, now)
        return _TOLD, asked.job_id, None
    if not asked.answered:
        return "its job is over", 0, None
    jobs.rewrite(tx, asked.job_id, new)  # another of its messages may be edited next
    return "offered to answer again", 0, _offer(tx, asked.job_id, new, now)


def _offer(tx: Tx, job_id: int, new: events.Inbound, now: str) -> Delivery | None:
    """One message with a button; None = it is there already, and gives the newest words now."""
    offer_id, fresh = edits.offer(tx, job_id, new, now)
    if not fresh:
        return None
    button = ButtonSpec(text("edits.again"), encode("edited", offer_id))
    said = say("edits.too-late", [button])
    return deliveries.add(tx, new.address, "notice", said, now, key=f"edited:{offer_id}")


def _done_by(tx: Tx, offer_id: int, tapped: Job) -> list[Effect]:
    """Return what the old words of an offer did without a model, the newest first."""
    job_id, inbound = edits.edited(tx, offer_id)
    ours = inbound is not None and inbound.person.id == tapped.inbound.person.id
    return turns.effects_of_phrase(tx, job_id) if ours else []


def _take(tx: Tx, offer_id: int, tapped: events.Inbound, now: str) -> str:
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
