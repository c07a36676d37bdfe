"""Ends a turn: one transaction makes it history, queues what is said and settles its job."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from aouo.agent.calls import record_all
from aouo.agent.context import Abort, Ack, Ending, Facts, Nack, TurnContext
from aouo.agent.pipelines import settle
from aouo.facts.address import Lane
from aouo.facts.errors import PostActionFailed, ProviderError, StopAsked
from aouo.facts.ports import Clock, Rendered, iso, stamp
from aouo.facts.records import Refusal
from aouo.facts.transcript import AssistantSaid
from aouo.facts.work import Delivery, DeliveryKind, Job
from aouo.flow import waiting
from aouo.flow.answering.begin import OtrMemory
from aouo.flow.answering.compacting import answered_in
from aouo.flow.answering.reporting import Bringing, log_failure, said_by_person, status_of, tell
from aouo.flow.answering.turns import Turn
from aouo.flow.commands.registry import PostActions
from aouo.flow.generations import Generation
from aouo.flow.handlers.editing import offer_untold
from aouo.flow.handlers.gates import Ask, BudgetRefusals, refusal_by
from aouo.outbound.clean import without_secrets
from aouo.outbound.outbox import Outbox
from aouo.outbound.pages import Filled, taken_away
from aouo.outbound.payloads import is_among, messages_of_answer
from aouo.plumbing.parts import Bus
from aouo.queue.running import StopReason
from aouo.schedules.journaling import GAP
from aouo.schedules.ticking import RunEnd
from aouo.store import (
    audit,
    contents,
    deliveries,
    gates,
    jobs,
    journal,
    off_record,
    rendered,
    routes,
    sessions,
    traces,
    turns,
    usage,
)
from aouo.store.database import Database, Tx
from aouo.store.turns import Status
from aouo.words import conversations, receipts, sentences
from aouo.words.catalogue import below, say, text

_LINE_S = 2.0
_Line: TypeAlias = Callable[[Sequence[str]], str]
_Model: TypeAlias = tuple[str, str]
"""A provider, and its model."""
_Work: TypeAlias = Callable[[Tx, str], list[Delivery]]


@dataclass(slots=True, eq=False, kw_only=True)
class Commit:
    """Ends turns. `forget` removes the files of a job that was off the record; `undoable` tells
    whether what a call changed can be put back."""

    database: Database
    clock: Clock
    outbox: Outbox
    bus: Bus
    budget_refusals: BudgetRefusals
    otr_memory: OtrMemory
    forget: Callable[[Job], None]
    post_actions: PostActions
    bringing: Bringing
    undoable: Callable[[str], Awaitable[bool]]
    stand_ins: dict[str, tuple[_Model, _Model]] = field(
        default_factory=dict[str, "tuple[_Model, _Model]"]
    )
    """The model that was asked last and the one that answered in its place, by conversation; a
    start forgets it."""
    without_history: set[str] = field(default_factory=set[str])
    """Sessions that were told that messages before were left out."""

    async def end(
        self, turn: Turn, ended: Ending | StopReason, filled: Filled, begun_s: float
    ) -> None:
        """End a turn that began at `begun_s` (`time.perf_counter`), and tell whoever watches."""
        turn.ctx.recording.edits = filled.edits
        try:
            shown = await self._write(turn, ended, filled)
        except StopAsked:  # its person was told that it is stopped; it has to end so
            ended = StopReason.PERSON
            shown = await self._write(turn, ended, filled)
        except PostActionFailed as error:  # nothing of the answer is kept
            ended = Nack(error)
            shown = await self._write(turn, ended, filled)
        self.forget(turn.job)
        if isinstance(ended, Ack):
            said, read = said_by_person(turn.ctx), turn.ctx.sources
            self.otr_memory.add(turn.ctx.facts, said, ended.text, read)
        ms = (time.perf_counter() - begun_s) * 1000
        command, now = turn.plan.slash_name, stamp(self.clock)
        tell(self.bus, turn.ctx, ended, command=command, shown=shown, ms=ms, now=now)
        await settle(turn.generation.pipelines.settled, turn.ctx, status_of(ended))

    async def _write(self, turn: Turn, ended: Ending | StopReason, filled: Filled) -> int:
        """Returns how many messages are queued.

        Raises:
            StopAsked: it ends by its person's /stop, and by nothing else.
            PostActionFailed: what its command wanted done with the answer failed.
        """
        if turn.plan.goes != "here":
            return await self._end_run(turn, ended)
        match ended:
            case Ack():
                return await self._answer(turn, ended, filled)
            case Nack(error):
                log_failure(error, turn.ctx)
                return await self._fail(turn, error, filled)
            case Abort(reason):
                return await self._stop(turn, reason, filled)
            case StopReason():
                return await self._stop(turn, ended, filled)

    async def _end_run(self, turn: Turn, ended: Ending | StopReason) -> int:
        """End a triggered turn: its run is settled, and its report filed."""
        ctx, row, lanes = turn.ctx, turn.ctx.facts, list[Lane]()
        if isinstance(ended, Nack):
            log_failure(ended.error, ctx)

        def write(tx: Tx, now: str) -> list[Delivery]:
            lanes.clear()
            rows: list[Delivery] = []
            if isinstance(ended, Ack):
                said = AssistantSaid(ended.text, native=ended.native)
                turns.close_ack(tx, row, said, ctx.thoughts, now)
                rows = self._also(tx, turn, ended.text, now)
            else:
                for call in ctx.at_work:
                    turns.cut_off(tx, call.id, now)
                line = _line_of(ended)(turns.effects(tx, row.id))
                turns.close_without_answer(tx, row, _status_of(ended), line, now)
            spoke = rendered.any_parts(tx, row.id)
            end = _run_end(turn, ended, spoke=spoke)
            if lane := self.bringing.settle(tx, turn.job, end, now):
                lanes.append(lane)
            return rows

        await self._settle(turn, write, unless_stopped=ended is not StopReason.PERSON)
        for lane in lanes:
            self.bringing.wake(lane)
        return len(lanes)

    async def _line_is_out(self, turn: Turn) -> None:
        """Wait a moment until the line that told of a restart is where it can be taken away."""
        key = deliveries.resumed_key(turn.ctx.facts.id)
        line = await self.database.read(lambda tx: deliveries.keyed(tx, key))
        if line and line.state in ("queued", "sending") and not self.outbox.withdraw(line):
            with suppress(TimeoutError):
                async with asyncio.timeout(_LINE_S):
                    await self.outbox.settled(line)

    async def _answer(self, turn: Turn, answer: Ack, filled: Filled) -> int:
        """Make the whole turn history and queue its answer."""
        if turn.ctx.facts.resumes:
            await self._line_is_out(turn)
        text, facts, generation = answer.text, turn.ctx.facts, turn.generation
        badge = _badge(facts, generation, answer.signed)
        receipt, undo = await self._receipt(turn, answer)
        tail = f"\n\n{receipt}" if receipt else ""
        tail += self._other_model(turn) + self._without_history(turn)
        tail += sentences.badge(badge) if badge else ""
        max_parts = generation.telegram.max_parts if facts.address.platform == "tg" else 0
        shown = len(filled.ids)
        messages = messages_of_answer(text, tail=tail, max_parts=max_parts, shown=shown)
        if answer.drawn:
            messages = [below(one, tail.strip()) if tail else one for one in answer.drawn]
            filled = replace(filled, ids=(answer.in_place,) if answer.in_place else ())
        messages = _clean(messages, turn)

        def write(tx: Tx, now: str) -> list[Delivery]:
            said = AssistantSaid(text, native=answer.native)
            turns.close_ack(tx, facts, said, turn.ctx.thoughts, now)
            if not answer.drawn:
                sessions.want_title(tx, facts.session_id)
            if not answer.drawn and _is_noted(turn):
                due = iso(self.clock.now() + GAP)
                journal.wish(tx, facts.session_id, facts.id, due)
            rows = [*self._also(tx, turn, text, now), *_without_restart(tx, turn, now)]
            if answer.shown or (not answer.drawn and _said_already(tx, facts.id, text)):
                alone = _clean([Rendered(receipt)] if receipt else [], turn)
                return [*_queued(tx, turn, alone, filled, now, undo), *rows]
            skips = facts.onboarding and routes.offer_onboarding(tx, facts.pack, facts.tenant)
            buttons = (*undo, *(sentences.skip_introduction() if skips else ()))
            return [*_queued(tx, turn, messages, filled, now, buttons), *rows]

        return await self._settle(turn, write, unless_stopped=True)

    async def _receipt(self, turn: Turn, answer: Ack) -> tuple[str, sentences.Rows]:
        """Return the line that says what a model's turn changed, with what puts it back; an
        action's answer is its own."""
        ctx = turn.ctx
        if answer.drawn or not (ctx.effects or ctx.facts.resumes):
            return "", ()
        effects = ctx.effects
        if ctx.facts.resumes:
            effects = await self.database.read(lambda tx: turns.effects_in(tx, ctx.facts.id))
        can = [one.id for one in effects if await self.undoable(one.id)]
        said = receipts.line(effects, turn.generation.library, ctx.facts.person.language)
        return said, receipts.buttons(can)

    def _without_history(self, turn: Turn) -> str:
        """Return the line that messages before were left out, once a session; "" = none were."""
        session, unread = turn.ctx.facts.session_id, turn.ctx.unread
        if not unread or session in self.without_history:
            return ""
        self.without_history.add(session)
        return text("models.without-history", count=unread)

    def _other_model(self, turn: Turn) -> str:
        """Return the line that another model answered than was asked, or that it is back, where
        that is new; "" = it is not."""
        ctx = turn.ctx
        key, asked = str(ctx.facts.address), (ctx.model.provider, ctx.model.model)
        if not any(ctx.answered_by):
            return ""
        before = self.stand_ins.pop(key, None)
        if ctx.answered_by == asked:
            is_back = before is not None and before[0] == asked
            return text("models.back", model=asked[1]) if is_back else ""
        self.stand_ins[key] = now = (asked, ctx.answered_by)
        said = text("models.stands-in", model=ctx.answered_by[1], usual=asked[1])
        return "" if now == before else said

    def _also(self, tx: Tx, turn: Turn, text: str, now: str) -> list[Delivery]:
        """Do what the turn's command wants done with the answer, and tell of it."""
        carried, facts = turn.job.carried, turn.ctx.facts
        if carried is None or carried.post_action is None:
            return []
        said: Rendered | None = say("commands.not-done-off-record")
        if not facts.off_record:
            action = jobs.take_post_action(tx, turn.job)
            answered = answered_in(turn.ctx, now, text)
            said = self.post_actions.do(tx, action, answered) if action else None
        if said is None:
            return []
        turn_id = facts.id
        key = f"post_action:{turn_id}"
        return [deliveries.add(tx, facts.address, "notice", said, now, turn_id=turn_id, key=key)]

    async def _fail(self, turn: Turn, error: Exception, filled: Filled) -> int:
        """Say what happened; history keeps the person's words and one line."""
        job, turn_id, generation = turn.job, turn.ctx.facts.id, turn.generation
        asking = await self.budget_refusals.asking(job, error, turn_id, generation)
        for_owner = generation.owner.is_owner(job.inbound)
        said = sentences.failure(error, turn_id, for_owner=for_owner)
        said += f" {text('taps.asks-owner')}" if asking else ""
        return await self._without_answer(
            turn,
            "nack",
            said,
            partial(sentences.failed_in_history, error),
            filled,
            refusal=refusal_by(error, turn_id),
            asking=asking,
        )

    async def _stop(self, turn: Turn, reason: StopReason | str, filled: Filled) -> int:
        """End a turn that was stopped. After its person's /stop nothing new is said: what they
        have seen of the answer ends there."""
        why = reason.value if isinstance(reason, StopReason) else reason
        asked = reason is StopReason.PERSON
        if reason in (StopReason.GONE, StopReason.TAKEN_OFF):
            filled = Filled()
        if asked:
            filled = replace(filled, text=filled.shown)
        if reason is StopReason.TIMEOUT:
            said = text("turns.timed-out")
        else:
            said = sentences.CUT_SHORT if _seen(filled) else ""
        line = partial(sentences.stopped_in_history, why)
        return await self._without_answer(turn, "aborted", said, line, filled, asked=asked)

    async def _without_answer(
        self,
        turn: Turn,
        status: Status,
        said: str,
        line: _Line,
        filled: Filled,
        *,
        refusal: Refusal | None = None,
        asking: Ask | None = None,
        asked: bool = False,
    ) -> int:
        ctx, row = turn.ctx, turn.ctx.facts
        shown = "\n\n".join(filter(None, (_seen(filled), said)))
        messages = _clean(messages_of_answer(shown, tail="") if said else (), turn)
        last = filled.cut_short()
        if asked and not last.drafted:
            messages = messages[: len(last.ids)]
        buttons: sentences.Rows = ()
        if refusal:
            raises_usd = 0 if asking else refusal.raise_usd
            buttons = sentences.ways_on(row.id, raises_usd, refusal.model)

        def write(tx: Tx, now: str) -> list[Delivery]:
            for call in ctx.at_work:
                if not gates.waits(tx, call.id):
                    turns.cut_off(tx, call.id, now)
            turns.close_without_answer(tx, row, status, line(turns.effects(tx, row.id)), now)
            if refusal:
                usage.put_refusal(tx, refusal, now)
            kind = "ending" if asked else "reply"
            rows = _queued(tx, turn, messages, last, now, buttons, kind=kind)
            return [*rows, asking(tx, now)] if asking else rows

        return await self._settle(turn, write, unless_stopped=not asked)

    async def _settle(self, turn: Turn, work: _Work, *, unless_stopped: bool) -> int:
        now, job, ctx = stamp(self.clock), turn.job, turn.ctx
        row = ctx.facts
        kept = ctx.recording.prompts() if not row.off_record else dict[str, str]()

        def write(tx: Tx) -> list[Delivery]:
            jobs.check_claim(tx, job, unless_stopped=unless_stopped)
            record_all(tx, ctx.spent, now)
            rows = work(tx, now)
            if not job.isolated:
                rows += _made_room(tx, job, ctx, now)
            if not (row.off_record or job.isolated):
                rows += offer_untold(tx, job, now)
            rows += waiting.close_card(tx, row.id, now)
            audit.close_of_turn(tx, row.id, now)
            sessions.touch(tx, row.session_id, now)
            contents.keep_prompts(tx, row.id, kept)
            traces.record(tx, row.id, ctx.meter.steps, ctx.recording.recorded(tuple(kept)))
            jobs.settle(tx, job, "done", "turn", now)
            if row.off_record:
                off_record.wipe(tx, job.id, job.inbound)
            return rows

        # A post-action may take its time, and not on the event loop's thread.
        rows = await self.database.transact(write, brief=job.carried is None)
        self.outbox.put(*rows, *filter(None, (turn.told,)))
        return len(rows)


def _is_noted(turn: Turn) -> bool:
    """Whether the journal looks at what was said in this turn."""
    facts = turn.ctx.facts
    return (
        turn.generation.memory.journal
        and turn.plan.mode == "current"
        and not facts.off_record
        and turn.ctx.pack.memory_policy == "full"
    )


def _line_of(ended: Nack | Abort | StopReason) -> _Line:
    match ended:
        case Nack(error):
            return partial(sentences.failed_in_history, error)
        case Abort(reason):
            return partial(sentences.stopped_in_history, reason)
        case StopReason():
            return partial(sentences.stopped_in_history, ended.value)


def _status_of(ended: Nack | Abort | StopReason) -> Status:
    return "nack" if isinstance(ended, Nack) else "aborted"


def _run_end(turn: Turn, ended: Ending | StopReason, *, spoke: bool) -> RunEnd:
    """What a triggered turn ended with, for whoever settles its run."""
    turn_id = turn.ctx.facts.id
    match ended:
        case Ack(answer):
            return RunEnd(turn_id, "done", answer, spoke=spoke)
        case Nack(error):
            for_owner = turn.generation.owner.is_owner(turn.job.inbound)
            said = sentences.failure(error, turn_id, for_owner=for_owner)
            return RunEnd(turn_id, "failed", said, may_retry=isinstance(error, ProviderError))
        case Abort(reason):
            return RunEnd(turn_id, "failed", reason)
        case StopReason.TIMEOUT:
            return RunEnd(turn_id, "failed", text("runs.timed-out"), may_retry=True)
        case StopReason():
            return RunEnd(turn_id, "stopped", ended.value)


def _queued(
    tx: Tx,
    turn: Turn,
    messages: Sequence[Rendered],
    filled: Filled,
    now: str,
    buttons: sentences.Rows = (),
    *,
    kind: DeliveryKind = "reply",
) -> list[Delivery]:
    """The texts replace the live messages one by one; what is more are new messages, and
    messages that no text is for are taken away; `buttons` stand under the last message."""
    inbound, turn_id = turn.job.inbound, turn.ctx.facts.id
    deliveries.end_live(tx, turn_id, now)
    first_reply = inbound.message_id if inbound.chat_kind == "group" else 0
    rows: list[Delivery] = []
    texts = [message for message in messages if not message.media]
    for number, message in enumerate(messages):
        edits = filled.ids[number] if number < min(len(filled.ids), len(texts)) else 0
        if number == len(messages) - 1:
            message = replace(message, buttons=buttons or message.buttons)
        if number == 0 and not edits:
            message = replace(message, reply_to=first_reply)
        key = f"reply:{turn_id}:{number}"
        if message.buttons and turn.ctx.tool_calls and not buttons and not turn.ctx.dispatches:
            key = f"{deliveries.menu_key(turn.ctx.facts.pack)}:{key}"
        rows.append(
            deliveries.add(
                tx, inbound.address, kind, message, now, turn_id=turn_id, key=key, edits=edits
            )
        )
    unused = (*filled.ids[len(texts) :], *filled.stale_ids)
    return [*rows, *taken_away(tx, inbound.address, turn_id, unused, now)]


def _clean(messages: Sequence[Rendered], turn: Turn) -> Sequence[Rendered]:
    """No secret is stored in what will be sent."""
    redactor, previews = turn.generation.redactor, not turn.ctx.sources
    return [without_secrets(message, redactor, previews=previews) for message in messages]


def _without_restart(tx: Tx, turn: Turn, now: str) -> list[Delivery]:
    """Take away the line that told of a restart: what it promised is there."""
    facts = turn.ctx.facts
    line = deliveries.keyed(tx, deliveries.resumed_key(facts.id)) if facts.resumes else None
    if line and line.state == "queued":
        deliveries.mark(tx, line.id, "dropped", now)
    told = [line.message_id] if line and line.message_id else []
    return taken_away(tx, facts.address, facts.id, told, now)


def _badge(facts: Facts, generation: Generation, signed: str | None) -> str:
    """The pack's name where a person could wonder who answered, "" = nowhere else."""
    several = len(generation.library.names) > 1
    private = facts.chat_kind == "private" and not facts.address.thread_id
    shows = several and private and facts.address.platform == "tg"
    return (facts.pack if signed is None else signed) if shows else ""


def _made_room(tx: Tx, job: Job, ctx: TurnContext, now: str) -> list[Delivery]:
    """Tells of a summary that this turn had to make, with the way back."""
    summary = ctx.summarised
    if summary is None:
        return []
    said = conversations.made_room(summary.messages, summary.id)
    key = f"summary:{summary.id}"
    return [
        deliveries.add(tx, job.inbound.address, "notice", said, now, turn_id=ctx.facts.id, key=key)
    ]


def _said_already(tx: Tx, turn_id: str, text: str) -> bool:
    """Only the very same text is not said twice."""
    return is_among(text, deliveries.texts_of(tx, turn_id))


def _seen(filled: Filled) -> str:
    """What is told again where no whole answer comes, "" = nobody saw any of it."""
    return filled.text if filled.ids or filled.drafted else ""
