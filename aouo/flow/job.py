"""Takes one job from its claim to its end: decided, then done, or answered by a turn.

A reader follows a message here, from the claim to `run_turn`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from aouo.agent.context import Ending
from aouo.agent.loop import run_turn
from aouo.facts.commands import COMMANDS, STOP
from aouo.facts.errors import LostClaim, NothingToRetry, RouteRequiredError, StopAsked, TooLate
from aouo.facts.ports import NO_MODEL
from aouo.facts.work import Act, Job
from aouo.flow.answering.acting import Acting
from aouo.flow.answering.begin import Words
from aouo.flow.answering.commit import Commit
from aouo.flow.answering.compacting import Renewing
from aouo.flow.answering.correcting import Correcting
from aouo.flow.answering.reporting import Bringing, streamed
from aouo.flow.answering.turns import Turn, Turns
from aouo.flow.generations import Generations
from aouo.flow.handlers.gates import BudgetRefusals
from aouo.flow.handlers.taps import Handlers
from aouo.flow.handlers.topics import TopicEvents
from aouo.flow.intake import Intake, has_files
from aouo.flow.replies import Replies
from aouo.packs.settings import Languages
from aouo.plumbing.logs import log
from aouo.plumbing.parts import Bus
from aouo.queue import decide as to
from aouo.queue.decide import decide
from aouo.queue.lanes import Slots
from aouo.queue.lexer import Installed, Phrased
from aouo.queue.running import Running, StopReason
from aouo.store.off_record import is_once
from aouo.words.catalogue import say, speaking, text

_DEATHS_MAX = 3
_CLAIMS_MAX = 100
"""Each death makes two of them: so many say that it dies before its turn begins."""


@dataclass(slots=True, eq=False, kw_only=True)
class Flow:
    """Handles one job at a time per lane; never raises but for cancellation.

    `handlers` do what was decided. `forget` removes the files of a job that was off the record.
    `let_in` answers for the owner whether a person is let in; see `LettingIn.decide`.
    """

    running: Running
    replies: Replies
    topics: TopicEvents
    handlers: Handlers
    bringing: Bringing
    correcting: Correcting
    forget: Callable[[Job], None]
    languages: Languages
    let_in: Callable[[str, str], Awaitable[bool]]
    _suspects: Slots = field(init=False, default_factory=lambda: Slots(lambda: 1))

    async def handle(self, job: Job, slots: Slots) -> None:
        """Decide what the job asks for, do it, settle it. Of those that were at work when a process
        died one runs at a time, so that the next death tells which of them it was."""
        if not job.suspect or job.lane.bypasses:
            await self._handle_in(slots, job)
            return
        async with slots.parked(), self._suspects.taken():
            await self._handle_in(self._suspects, job)

    async def _handle_in(self, slots: Slots, job: Job) -> None:
        job = self._in_language(job)
        fields: dict[str, object] = {"job": job.id, "conversation": str(job.inbound.address)}
        if job.off_record or is_once(job.inbound):
            fields["off_record"] = True
        with (
            structlog.contextvars.bound_contextvars(**fields),
            speaking(job.inbound.person.language),
            self.running.beginning(job.id, job.lane, slots),
        ):
            try:
                try:
                    await self._handle(job)
                except StopAsked:
                    await self._end_stopped(job)
            except LostClaim as error:
                log.warning("claim_lost", error=str(error))
            except Exception as error:
                log.exception("job_failed", error=repr(error))
                await self._break(job)

    def _in_language(self, job: Job) -> Job:
        person = job.inbound.person
        person = replace(person, language=self.languages.of(person))
        return replace(job, inbound=replace(job.inbound, person=person))

    async def _handle(self, job: Job) -> None:
        if job.stopped:
            raise StopAsked(f"job {job.id}")
        if job.deaths >= _DEATHS_MAX or job.claim_number > _CLAIMS_MAX:
            log.error("job_set_aside", deaths=job.deaths, claims=job.claim_number)
            if job.isolated:
                await self.bringing.give_up(job, text("runs.broke", reference=f"job {job.id}"))
                return
            await self.replies.set_aside(job, say("asides.broke"), "broke")
            return
        job = await self.topics.first_message(job)
        installed = self.replies.installed(job.active_pack)
        # Words in the lane itself were said before the question: a turn that is taken up again
        # must not answer its own.
        answers = job.asked and job.lane.bypasses
        hints = job.carried.hints if job.carried and not job.isolated else None
        decision = decide(
            job.inbound, job.active_pack, installed, answers_gate=answers, hints=hints
        )
        if isinstance(decision, to.AnswerGate) and not decision.gate_id:
            decision = await self._rather(job, decision, installed)
        if isinstance(decision, Phrased) and decision.correction:
            plain = replace(installed, phrases=self.replies.phrasing.uncorrected)
            corrected = await self.correcting.decide(job, decision.correction)
            decision = corrected or decide(job.inbound, job.active_pack, plain, hints=hints)
        if isinstance(decision, Phrased) and decision.tied:
            settled = await self.correcting.settle(job, decision)
            unheard = replace(installed, phrases=Installed().phrases)
            decision = settled or decide(job.inbound, job.active_pack, unheard, hints=hints)
        match decision:
            case _ if job.lane.bypasses and _leaves_question(decision):
                await self.replies.leave_question(job)
            case to.RunTurn() | to.PickPack() if job.lane.bypasses:
                await self.replies.defer(job)  # the question it was to answer is closed by now
            case _:
                await self.handlers[type(decision)](job, decision)

    async def _rather(self, job: Job, answer: to.AnswerGate, installed: Installed) -> to.Decision:
        """Return what is rather meant than an answer: words that do not fit the question of an
        action's form, and are a phrase, leave it."""
        question = await self.replies.form_question(job)
        if question is None:
            return answer
        if self.replies.phrasing.stops(job.inbound):
            return to.ObeyCommand(STOP.name, "")
        if self.replies.phrasing.fits(job.inbound, *question):
            return answer
        other = decide(job.inbound, job.active_pack, installed)
        return other if isinstance(other, to.RunTurn) and other.act is not None else answer

    async def _end_stopped(self, job: Job) -> None:
        """End a job whose person said /stop, wherever that met it."""
        if job.isolated:
            await self.bringing.give_up(job, StopReason.PERSON.value, "stopped")
            return
        await self.replies.end_stopped(job, StopReason.PERSON)
        self.forget(job)

    async def _break(self, job: Job) -> None:
        """Something of ours failed; say so, unless the job was settled before that.

        Where even that fails its rows are broken: it is put aside without touching them, at last
        without a word, or it would end every process that takes it up.
        """
        reference, replies = f"job {job.id}", self.replies
        said = say("turns.broken", reference=reference)

        async def give_up() -> None:
            if job.isolated:
                await self.bringing.give_up(job, text("runs.broke", reference=reference))
                return
            try:
                await replies.give_up(job, said, state="done", why="something broke")
            except StopAsked:
                await self._end_stopped(job)

        ways: tuple[Callable[[], Awaitable[None]], ...] = (
            give_up,
            lambda: replies.set_aside(job, said, "failed", broken=True),
            lambda: replies.put_aside(job),
        )
        with suppress(LostClaim):
            for way in ways:
                try:
                    await way()
                except LostClaim:
                    raise
                except Exception as error:
                    log.exception("job_set_aside", error=repr(error))
                else:
                    return


def _leaves_question(decision: to.Decision) -> bool:
    match decision:
        case to.RunTurn(again=True) | to.RunTurn(act=Act()):
            return True
        case to.ObeyCommand(name):
            return name in COMMANDS and COMMANDS[name].bypass == "leaving"
        case _:
            return False


@dataclass(slots=True, eq=False, kw_only=True)
class Answering:
    """Answers jobs by turns."""

    generations: Generations
    running: Running
    replies: Replies
    budget_refusals: BudgetRefusals
    intake: Intake
    words: Words
    renewing: Renewing
    turns: Turns
    commit: Commit
    bringing: Bringing
    acting: Acting
    bus: Bus

    async def answer(self, job: Job, wanted: to.RunTurn) -> None:
        """Run the job's turn and end it. A shutdown gives the job back, to be taken up by the next
        process, and so does a change of its pack.

        Raises:
            StopAsked: /stop came before it began.
        """
        if self.generations.now.keeps_from(job.inbound.person.id, wanted.pack):
            said = say("people.not-this-pack", pack=wanted.pack)
            if job.isolated:
                await self.bringing.give_up(job, said.text)
            else:
                await self.replies.answer(job, said)
            return
        try:
            if wanted.act or self.generations.now.model.provider == NO_MODEL:
                await self.acting.run(job, wanted)
                return
            async with self.generations.turn(wanted.pack, job.id) as generation:
                begun_s = time.perf_counter()
                here = job.inbound.address
                origin = job.inbound.origin
                model, chosen = await self.budget_refusals.model_for(
                    here, generation, wanted.pack, origin
                )
                generation = chosen
                ready = await self.words.taken_in(job, wanted, model, generation)
                if ready and (
                    job.isolated or await self.renewing.goes_on(job, ready, generation, model)
                ):
                    turn = await self.turns.begin(job, ready, generation, model)
                    pictured = has_files(job) or ready.again or job.carried is not None
                    await self._run(turn, begun_s, pictured=pictured)
        except RouteRequiredError as error:  # taken up, and its pack is gone meanwhile
            if job.isolated:
                await self.bringing.give_up(job, text("runs.without-pack", pack=error.requested))
            else:
                await self.replies.park(job, error.requested)
        except NothingToRetry:
            await self.replies.answer(job, say("turns.nothing-to-retry"))
        except TooLate:
            await self.replies.done(job, "chosen before")

    async def _run(self, turn: Turn, begun_s: float, *, pictured: bool) -> None:
        """Let a turn run beside what shows it, until it ends or is stopped; then end it."""
        job, ctx, generation = turn.job, turn.ctx, turn.generation

        async def work() -> Ending:
            late: asyncio.Task[None] | None = None
            async with asyncio.TaskGroup() as group:
                shows = group.create_task(turn.view.run())
                if job.inbound.origin == "cron":
                    late = group.create_task(self.bringing.tell_late(job))
                try:
                    return await run_turn(
                        ctx, generation.pipelines, generation.executor, turn.calls
                    )
                finally:
                    shows.cancel()
                    if late:
                        late.cancel()

        try:
            if pictured:
                ctx.images = await self.intake.images_of(job, ctx.model)
            limit_s = turn.plan.timeout_s or generation.advanced.turn_timeout_s
            run = self.running.run(job.id, limit_s, work)
            if turn.view.streams:
                run = streamed(self.bus, ctx.facts, turn.plan.hints, run)
            ended = await run
            if ended is StopReason.SHUTDOWN:
                await self.replies.give_back(job, ctx.spent)
                return
            filled = await turn.view.settle()
        except asyncio.CancelledError:
            await self.replies.give_back(job, ctx.spent)
            raise
        await self.commit.end(turn, ended, filled, begun_s)
