"""Runs the turn of one job: begins or takes it up, lets it work, ends it in one transaction."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager
from dataclasses import replace

import structlog

from aouo.facts import notices
from aouo.facts.errors import StopAsked
from aouo.facts.events import Album, Attached, TurnStarted
from aouo.facts.ports import ChatModel, Clock, stamp
from aouo.facts.work import Job
from aouo.flow.answering.begin import Begun, begin
from aouo.flow.answering.commit import Commit
from aouo.flow.answering.contexts import Contexts
from aouo.flow.answering.prepare import openers
from aouo.flow.answering.renewing import Renewing
from aouo.flow.answering.reporting import log_failure, said_by_person, status_of, tell
from aouo.flow.files.intake import Audience, Intake
from aouo.flow.generation import Generation
from aouo.flow.generations import Generations
from aouo.flow.handlers.budget_refusals import BudgetRefusals
from aouo.flow.handlers.editing import Editing
from aouo.flow.handlers.onboarding import may_begin
from aouo.flow.replies import Replies
from aouo.outbound.live import LiveView
from aouo.outbound.outbox import Outbox
from aouo.outbound.pages import Filled
from aouo.plumbing.bus import Bus
from aouo.queue.lanes import Slot
from aouo.queue.running import Deadline, Running, StopReason
from aouo.routing.decisions import RunTurn
from aouo.store import jobs
from aouo.store.database import Database, Tx
from aouo.store.off_record import is_once
from aouo.turn.calls import Calls
from aouo.turn.caps import TurnCaps
from aouo.turn.context import Abort, Ack, Ending, Nack, TurnContext
from aouo.turn.execute import Executor
from aouo.turn.journal import Journal, record_all
from aouo.turn.loop import run_turn
from aouo.turn.pipelines import settle

log = structlog.get_logger()
_MISSED = "a file could not be taken in"
_READS_NO_SKILLS = "the model reads no skills"


class Turns:
    """Runs turns; see `flow.job` for when."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        bus: Bus,
        replies: Replies,
        running: Running,
        budget_refusals: BudgetRefusals,
        contexts: Contexts,
        intake: Intake,
        renewing: Renewing,
        editing: Editing,
        generations: Generations,
    ) -> None:
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._bus = bus
        self._replies = replies
        self._running = running
        self._budget_refusals = budget_refusals
        self._editing = editing
        self._generations = generations
        self._contexts = contexts
        self._intake = intake
        self._renewing = renewing
        self._commit = Commit(
            database=database,
            clock=clock,
            outbox=outbox,
            budget_refusals=budget_refusals,
        )

    def beginning(self, job: Job) -> AbstractContextManager[None]:
        """See `Running.beginning`."""
        return self._running.beginning(job.id, job.lane)

    async def run(self, job: Job, wanted: RunTurn, slot: Slot) -> None:
        """Answer one job. A shutdown gives the job back, to be taken up by the next process, and so
        does a change of its pack.

        Raises:
            RouteRequiredError: its pack is not loaded any more.
            StopAsked: /stop came before it began.
        """
        async with self._generations.turn(wanted.pack, job.id) as generation:
            await self._run(job, wanted, slot, generation)

    async def end_stopped(self, job: Job) -> None:
        """End a job whose person said /stop, wherever that met it."""
        await self._replies.end_stopped(job, StopReason.PERSON)
        self._forget(job)

    async def _run(self, job: Job, wanted: RunTurn, slot: Slot, generation: Generation) -> None:
        begun_s = time.perf_counter()
        model = await self._budget_refusals.model_for(job.inbound.address, generation)
        ready = await self._ready(job, wanted, model, generation)
        if ready is None:
            return
        wanted = ready
        if why := await self._renewing.run(job, wanted, slot, generation, model):
            await self._end_early(job, why)
            return
        begun = await begin(
            self._database,
            job,
            wanted,
            stamp(self._clock),
            onboards=may_begin(wanted.pack, model, generation),
        )
        self._tell_begun(begun)
        view = self._contexts.view(job, begun, generation)
        deadline = Deadline(generation.limits.turn_timeout_s)
        ctx = self._contexts.context(job, begun, generation, view, slot, deadline)
        ctx.model = model
        ctx.listen = lambda: self._editing.tell(ctx, job)
        try:
            if _has_files(job) or wanted.again:
                ctx.images = await self._intake.images_of(job, model)
            ended = await self._work(job, ctx, view, deadline, generation)
            if ended is StopReason.SHUTDOWN:
                await self._give_back(job, ctx)
                return
            filled = await view.settle()
        except asyncio.CancelledError:
            await self._give_back(job, ctx)
            raise
        try:
            shown = await self._settle(job, ctx, ended, filled, generation)
        except StopAsked:
            ended = StopReason.PERSON
            shown = await self._settle(job, ctx, ended, filled, generation)
        self._forget(job)
        if isinstance(ended, Ack):
            self._contexts.otr_memory.add(ctx.facts, said_by_person(ctx), ended.text)
        ms = (time.perf_counter() - begun_s) * 1000
        tell(self._bus, ctx, ended, shown=shown, ms=ms, now=stamp(self._clock))
        await settle(generation.pipelines.settled, ctx, status_of(ended))

    async def _ready(
        self, job: Job, wanted: RunTurn, model: ChatModel, generation: Generation
    ) -> RunTurn | None:
        """What the turn is to answer, None = there will be none, and the person was told."""
        if wanted.skill and model.brief:
            notice = notices.ReadsNoSkills(wanted.skill.rpartition(":")[2])
            await self._replies.give_up(job, notice, state="done", why=_READS_NO_SKILLS)
            self._forget(job)
            return None
        if _has_files(job) and not wanted.again:
            taken = await self._take_in(job, wanted, model, generation)
            return None if taken is None else replace(wanted, said=taken)
        if not wanted.said.strip() and not wanted.again:
            await self._replies.answer(job, notices.Plain.EMPTY_MESSAGE)
            return None
        return wanted

    async def _take_in(
        self, job: Job, wanted: RunTurn, model: ChatModel, generation: Generation
    ) -> str | None:
        """The words of the files that came, None = there will be no turn."""
        deadline = Deadline(generation.limits.turn_timeout_s)
        off_record = job.off_record or wanted.off_record
        may_open = openers(wanted.pack, generation, off_record=off_record)
        reader = Audience(model, wanted.pack, may_open, generation.senses, generation.quota)
        try:
            taken = await self._running.run(
                job.id, deadline, lambda: self._intake.take_in(job, wanted.said, reader)
            )
        except asyncio.CancelledError:
            await self._release(job)
            raise
        match taken:
            case str():
                return taken
            case StopReason.TIMEOUT:
                await self._replies.give_up(
                    job, notices.FilesTookTooLong(), state="done", why=_MISSED
                )
            case StopReason():
                await self._end_early(job, taken)
                return None
            case notice:
                await self._replies.give_up(job, notice, state="done", why=_MISSED)
        self._forget(job)
        return None

    async def _end_early(self, job: Job, why: StopReason) -> None:
        """It was stopped before its turn began; a shutdown gives it back."""
        if why is StopReason.SHUTDOWN:
            await self._release(job)
        else:
            await self._replies.end_stopped(job, why)
            self._forget(job)

    async def _release(self, job: Job) -> None:
        """The process ends before the turn began: what is done of its files is written down."""
        await self._database.transact(lambda tx: jobs.release(tx, job))

    def _forget(self, job: Job) -> None:
        """Nothing stays of a file that was sent off the record."""
        if _has_files(job) and (job.off_record or is_once(job.inbound)):
            self._intake.forget(job)

    async def _work(
        self,
        job: Job,
        ctx: TurnContext,
        view: LiveView,
        deadline: Deadline,
        generation: Generation,
    ) -> Ending | StopReason:
        """Let the turn run beside what shows it, until it ends or is stopped."""
        journal = Journal(database=self._database, clock=self._clock, job=job)
        calls = Calls(journal=journal)
        executor = _executor(generation, calls)

        async def work() -> Ending:
            async with asyncio.TaskGroup() as group:
                shows = group.create_task(view.run())
                try:
                    return await run_turn(ctx, generation.pipelines, executor, calls, journal)
                finally:
                    shows.cancel()

        return await self._running.run(job.id, deadline, work)

    def _tell_begun(self, begun: Begun) -> None:
        if begun.resumed:
            log.info("turn_resumed", turn_id=begun.turn.id)
            self._outbox.put(begun.resumed)
        if begun.chosen:
            self._outbox.put(begun.chosen)
        if begun.stale_key:
            log.warning(
                "tg_route_session_stale", stored=begun.stale_key, computed=begun.session_key
            )
        self._bus.publish(TurnStarted(begun.turn.id, begun.turn.session_id))

    async def _give_back(self, job: Job, ctx: TurnContext) -> None:
        """The process ends: the turn stays open and the next process takes it up."""
        now = stamp(self._clock)

        def write(tx: Tx) -> None:
            record_all(tx, ctx.spent, now)
            jobs.release(tx, job)

        await self._database.transact(write)

    async def _settle(
        self,
        job: Job,
        ctx: TurnContext,
        ended: Ending | StopReason,
        filled: Filled,
        generation: Generation,
    ) -> int:
        """End the turn in one transaction; returns how many messages are queued by it.

        Raises:
            StopAsked: it ends by its person's /stop, and by nothing else.
        """
        match ended:
            case Ack():
                return await self._commit.answer(job, ctx, ended, filled, generation)
            case Nack(error):
                log_failure(error, ctx)
                return await self._commit.fail(job, ctx, error, filled, generation)
            case Abort(reason):
                return await self._commit.stop(job, ctx, reason, filled, generation)
            case StopReason():
                return await self._commit.stop(job, ctx, ended, filled, generation)


def _has_files(job: Job) -> bool:
    return isinstance(job.inbound.content, Attached | Album)


def _executor(generation: Generation, calls: Calls) -> Executor:
    wish = generation.wish
    return Executor(
        calls=calls,
        quota=generation.quota,
        estimator=generation.compactor.estimator,
        max_tokens=wish.max_tokens,
        temperature=wish.temperature,
        effort=wish.effort,
        caps=TurnCaps(generation.limits.session_tokens_max),
    )
