"""Runs the turn of one job: begins or takes it up, lets it work, ends it in one transaction."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

import structlog

from aouo import notices
from aouo.bus import Bus
from aouo.errors import BudgetExceeded, ProviderError, QuotaExceededError, Refused
from aouo.events import ResponseComplete, TurnCompleted, TurnSettled, TurnStarted
from aouo.flow.affording import Affording
from aouo.flow.approving import approving_of
from aouo.flow.asking import Asking
from aouo.flow.begin import Begun, begin
from aouo.flow.commit import Commit
from aouo.flow.desk import Desk
from aouo.flow.generation import Generation
from aouo.flow.patience import Patience
from aouo.flow.prepare import facts_of, proposal_of, toolbox_of
from aouo.flow.recall import Recall
from aouo.guard.chain import Guard, Outcome
from aouo.outbound.degrade import Capabilities
from aouo.outbound.live import LiveView
from aouo.outbound.outbox import Outbox
from aouo.outbound.pages import Filled
from aouo.ports import Clock, stamp
from aouo.queue.gates import Waiting
from aouo.queue.lanes import Slot
from aouo.queue.running import Deadline, Running, StopReason
from aouo.routing.decide import RunTurn
from aouo.store import jobs
from aouo.store.database import Database
from aouo.store.jobs import Job
from aouo.tools.registry import ToolContext
from aouo.tools.results import NAME as RESULT_READ
from aouo.transcript import ToolCall, UserSaid
from aouo.turn.calls import Calls, spent_by
from aouo.turn.context import Abort, Ack, Ending, Facts, Nack, TurnContext
from aouo.turn.execute import Executor
from aouo.turn.journal import Journal
from aouo.turn.loop import run_turn
from aouo.turn.pipelines import failed_in, settle
from aouo.turn.quota import Quota

log = structlog.get_logger()


class Turns:
    """Runs turns; see `flow.job` for when."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        bus: Bus,
        desk: Desk,
        running: Running,
        waiting: Waiting,
        guard: Guard,
        quota: Quota,
        affording: Affording,
        generation: Callable[[], Generation],
        capabilities: Mapping[str, Capabilities],
    ) -> None:
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._bus = bus
        self._desk = desk
        self._running = running
        self._waiting = waiting
        self._guard = guard
        self._quota = quota
        self._affording = affording
        self._generation = generation
        self._capabilities = capabilities
        self._recall = Recall()
        self._commit = Commit(database=database, clock=clock, outbox=outbox)

    def beginning(self, lane: str) -> AbstractContextManager[None]:
        """See `Running.beginning`."""
        return self._running.beginning(lane)

    async def run(self, job: Job, wanted: RunTurn, slot: Slot) -> None:
        """Answer one job. A shutdown gives the job back, to be taken up by the next process."""
        if not wanted.said.strip() and not wanted.again:
            await self._desk.answer(job, notices.EmptyMessage())
            return
        begun_s = time.perf_counter()
        generation = self._generation()
        begun = await begin(self._database, job, wanted, stamp(self._clock))
        if begun.resumed:
            log.info("turn_resumed", turn_id=begun.turn.id)
            self._outbox.put(begun.resumed)
        if begun.stale_key:
            log.warning(
                "tg_route_session_stale", stored=begun.stale_key, computed=begun.session_key
            )
        view = self._view(job, begun, generation)
        deadline = Deadline(float(generation.settings.advanced.turn_timeout_s))
        ctx = self._context(job, begun, generation, view, slot, deadline)
        ctx.model = await self._affording.model_for(job.inbound.address, ctx.model)
        journal = Journal(database=self._database, clock=self._clock, job=job)
        calls = Calls(journal=journal)
        executor = _executor(generation, calls, self._quota)

        async def work() -> Ending:
            async with asyncio.TaskGroup() as group:
                shows = group.create_task(view.run())
                try:
                    return await run_turn(ctx, generation.pipelines, executor, calls, journal)
                finally:
                    shows.cancel()

        try:
            self._bus.publish(TurnStarted(begun.turn.id, begun.turn.session_id))
            ended = await self._running.run(job.inbound.address.lane, deadline, work)
            if ended is StopReason.SHUTDOWN:
                await self._give_back(job)
                return
            filled = await view.settle()
        except asyncio.CancelledError:
            await self._give_back(job)
            raise
        shown = await self._settle(job, ctx, ended, filled, generation)
        self._tell(job, ctx, ended, shown, (time.perf_counter() - begun_s) * 1000)
        await settle(generation.pipelines.settled, ctx, _status(ended))

    async def _give_back(self, job: Job) -> None:
        """The process ends: the turn stays open and the next process takes it up."""
        await self._database.transact(lambda tx: jobs.release(tx, job))

    async def _settle(
        self,
        job: Job,
        ctx: TurnContext,
        ended: Ending | StopReason,
        filled: Filled,
        generation: Generation,
    ) -> int:
        """End the turn in one transaction; returns how many messages are queued by it."""
        match ended:
            case Ack(text):
                badge = _badge(ctx.facts, generation)
                return await self._commit.answer(job, ctx, text, filled, badge=badge)
            case Nack(error):
                _log_failure(error, ctx)
                return await self._commit.fail(job, ctx, error, filled)
            case Abort(reason):
                return await self._commit.stop(job, ctx, reason, filled)
            case StopReason():
                return await self._commit.stop(job, ctx, ended, filled)

    def _tell(
        self, job: Job, ctx: TurnContext, ended: Ending | StopReason, shown: int, ms: float
    ) -> None:
        """The canonical line of a turn, and the events for whoever watches."""
        facts = ctx.facts
        total = ctx.total
        log.info(
            "turn_done",
            turn_id=facts.turn.id,
            pack=facts.pack.name,
            origin=facts.origin,
            status=_status(ended),
            duration_ms=round(ms),
            provider_ms=round(ctx.provider_ms),
            own_ms=round(ms - ctx.provider_ms),
            dispatches=ctx.dispatches,
            tool_calls=ctx.tool_calls,
            input_tokens=total.input_tokens,
            output_tokens=total.output_tokens,
            cost_usd=round(ctx.cost_usd, 9),
            deliveries=shown,
        )
        turn = facts.turn
        self._bus.publish(TurnSettled(turn.id, turn.session_id, _status(ended)))
        if not isinstance(ended, Ack):
            return
        self._bus.publish(
            ResponseComplete(turn.id, turn.session_id, ended.text, tuple(ctx.thoughts))
        )
        said = next((entry.text for entry in ctx.said if isinstance(entry, UserSaid)), "")
        self._recall.add(facts, said, ended.text)
        self._bus.publish(
            TurnCompleted(
                said,
                ended.text,
                turn.session_id,
                facts.address.platform,
                facts.address.chat_id,
                stamp(self._clock),
            )
        )

    def beside(
        self, job: Job, begun: Begun, generation: Generation, slot: Slot, deadline: Deadline
    ) -> TurnContext:
        """What work of this job that is no turn needs: nothing of it is shown or recorded."""
        view = self._view(job, begun, generation)
        return self._context(job, begun, generation, view, slot, deadline)

    def _context(
        self,
        job: Job,
        begun: Begun,
        generation: Generation,
        view: LiveView,
        slot: Slot,
        deadline: Deadline,
    ) -> TurnContext:
        facts = facts_of(job, begun, generation)
        toolbox = toolbox_of(facts, generation)
        patience = Patience(
            database=self._database,
            clock=self._clock,
            outbox=self._outbox,
            waiting=self._waiting,
            address=facts.address,
            turn_id=facts.turn.id,
            slot=slot,
            deadline=deadline,
        )
        approving = approving_of(facts, patience, generation.settings)
        tool_context = ToolContext(
            adapter=view,
            config=generation.settings,
            session_id=facts.turn.session_id,
            session_key=facts.session_key,
            pack=facts.pack.name,
            asker=Asking(patience, facts.person.id),
            owner=facts.owner,
            toolbox=toolbox,
            turn_id=facts.turn.id,
            spend=lambda scope, provider, model, ms: ctx.spend(
                replace(spent_by(ctx, scope), provider=provider, model=model, duration_ms=ms)
            ),
        )

        async def call_tool(call: ToolCall, objection: str) -> Outcome:
            runner = toolbox.bind(call.name, tool_context, objection)
            outcome = await self._guard.call(
                proposal_of(call, facts), runner, toolbox.names, approving
            )
            if outcome.kept:
                toolbox.reveal((RESULT_READ,))
            return outcome

        ctx = TurnContext(
            facts,
            model=generation.model,
            view=view,
            toolbox=toolbox,
            call_tool=call_tool,
            day=self._quota.day(),
            recalled=self._recall.of(facts),
            publish=self._bus.publish,
        )
        return ctx

    def _view(self, job: Job, begun: Begun, generation: Generation) -> LiveView:
        address = job.inbound.address
        settings = generation.settings
        return LiveView(
            outbox=self._outbox,
            database=self._database,
            clock=self._clock,
            address=address,
            turn_id=begun.turn.id,
            streaming=address.platform == "tg" and settings.telegram.streaming != "off",
            capabilities=self._capabilities.get(address.platform, Capabilities()),
            said_id=job.inbound.message_id,
            reply=job.inbound.chat_kind == "group",
            live=begun.live,
        )


def _executor(generation: Generation, calls: Calls, quota: Quota) -> Executor:
    provider = generation.settings.provider
    return Executor(
        calls=calls,
        quota=quota,
        max_tokens=provider.max_tokens,
        temperature=provider.temperature,
    )


def _badge(facts: Facts, generation: Generation) -> str:
    """A person sees which pack answered where that could be in doubt."""
    several = len(generation.library.names) > 1
    private = facts.chat_kind == "private" and not facts.address.thread_id
    return facts.pack.name if several and private and facts.address.platform == "tg" else ""


def _log_failure(error: Exception, ctx: TurnContext) -> None:
    """A refusal is a fact, a provider's failure a warning, anything else has a traceback."""
    turn_id = ctx.facts.turn.id
    match error:
        case QuotaExceededError(scope=scope, used_tokens=used, cap_tokens=cap):
            log.info("quota_exceeded", turn_id=turn_id, scope=scope, used=used, cap=cap)
        case BudgetExceeded(kind=kind, name=name, used_usd=used, cap_usd=cap, worst_usd=worst):
            log.info(
                "budget_exceeded",
                turn_id=turn_id,
                scope=kind,
                name=name,
                used=used,
                cap=cap,
                worst=worst,
            )
        case ProviderError():  # the model has told each failure as `provider_error`
            log.warning("turn_failed", turn_id=turn_id, kind=type(error).__name__, error=str(error))
        case Refused():
            log.info("turn_refused", turn_id=turn_id, error=str(error))
        case _:
            log.error(
                "turn_failed",
                turn_id=turn_id,
                step=failed_in(error),
                error=repr(error),
                exc_info=error,
            )


def _status(ended: Ending | StopReason) -> str:
    match ended:
        case Ack():
            return "ack"
        case Nack():
            return "nack"
        case Abort() | StopReason():
            return "aborted"
