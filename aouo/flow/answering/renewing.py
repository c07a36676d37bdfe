"""A session near its limit of tokens goes on in a fresh one, before the next turn begins."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import structlog

from aouo.facts import notices
from aouo.facts.errors import ProviderError, Refused, StopAsked
from aouo.facts.history import Draft
from aouo.facts.ports import ChatModel, Clock, stamp
from aouo.facts.work import Delivery, Job
from aouo.flow.answering.compacting import Plan, plan_of, rotate
from aouo.flow.answering.contexts import Contexts
from aouo.flow.files.activity import typing
from aouo.flow.generation import Generation
from aouo.outbound.outbox import Outbox
from aouo.outbound.wording import sentences
from aouo.queue.lanes import Slot
from aouo.queue.running import Deadline, Running, StopReason
from aouo.routing.decisions import RunTurn
from aouo.store import deliveries, jobs, routes, turns
from aouo.store.database import Database, Tx
from aouo.turn.compaction import KEPT_SHARE, budget_tokens, cut
from aouo.turn.context import TurnContext
from aouo.turn.journal import record_all

log = structlog.get_logger()
LEAST_TURNS = 20
"""What goes along word for word takes so small a share of the fresh session, each turn anew."""


class Renewing:
    """Compacts the older part of a session into a fresh one; the newest messages go along."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        contexts: Contexts,
        running: Running,
    ) -> None:
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._contexts = contexts
        self._running = running

    async def run(
        self, job: Job, wanted: RunTurn, slot: Slot, generation: Generation, model: ChatModel
    ) -> StopReason | None:
        """Renew the session of the turn that is to begin, if it is time to.

        Whatever keeps it from that is logged, and the session goes on as it is. Returns why the
        job ends before its turn, None = it goes on.

        Raises:
            StopAsked: its person said /stop.
        """
        plan = await self._plan(job, wanted, generation, model)
        if plan is None:
            return None
        deadline = Deadline(generation.limits.turn_timeout_s)
        view = self._contexts.view(job, plan.begun, generation)
        ctx = self._contexts.context(job, plan.begun, generation, view, slot, deadline)
        ctx.model = model
        draft = await self._drafted(job, ctx, plan, generation, deadline)
        if isinstance(draft, Draft):
            try:
                row = await self._database.transact(lambda tx: self._write(tx, job, ctx, draft))
            except StopAsked:
                await self._pay(ctx)
                raise
            self._outbox.put(row)
            log.info("session_renewed", was=plan.begun.turn.session_id, messages=draft.messages)
            return None
        generation.compactor.rest(plan.begun.turn.session_id)
        await self._pay(ctx)
        return draft if draft is not StopReason.TIMEOUT else None

    async def _pay(self, ctx: TurnContext) -> None:
        """What was spent is spent, whatever came of it."""
        now = stamp(self._clock)
        await self._database.transact(lambda tx: record_all(tx, ctx.spent, now))

    async def _plan(
        self, job: Job, wanted: RunTurn, generation: Generation, model: ChatModel
    ) -> Plan | None:
        """What there is to summarise, None = it is not time to, or not the moment."""
        if model.brief or wanted.fresh or wanted.again or wanted.off_record or job.off_record:
            return None

        def session_of(tx: Tx) -> str:
            route = routes.find(tx, job.inbound.address)
            begun = turns.open_of(tx, job.id) is not None
            return (
                "" if begun or not route or route.active_pack != wanted.pack else route.session_id
            )

        session_id = await self._database.read(session_of)
        if not session_id or not await generation.quota.is_near_its_cap(session_id):
            return None
        if generation.compactor.rests(session_id):
            return None
        return await self._database.read(lambda tx: plan_of(tx, job))

    async def _drafted(
        self, job: Job, ctx: TurnContext, plan: Plan, generation: Generation, deadline: Deadline
    ) -> Draft | StopReason | None:
        """None = there is no summary."""
        limits, compactor = generation.limits, generation.compactor
        scale = compactor.estimator.scale(ctx.model.provider, ctx.model.model)
        keep = min(
            scale.entries([entry.message for entry in plan.entries]) * KEPT_SHARE,
            limits.session_tokens_max / LEAST_TURNS,
        )
        parts = cut(plan.entries, int(keep), scale)
        budget = budget_tokens(limits.context_window or ctx.model.context_window, 0)

        async def work() -> Draft | None:
            if not parts.older:
                return None
            try:
                async with typing(self._outbox.action, self._clock, job.inbound.address):
                    return await compactor.draft(ctx, plan.reach, parts.older, budget, scale)
            except (ProviderError, Refused, TimeoutError) as error:
                session_id = plan.begun.turn.session_id
                log.warning("session_not_renewed", session=session_id, error=repr(error))
                return None

        try:
            draft = await self._running.run(job.id, deadline, work)
        except asyncio.CancelledError:
            await self._pay(ctx)
            await self._database.transact(lambda tx: jobs.release(tx, job))
            raise
        if isinstance(draft, Draft):
            return replace(draft, through_message_id=plan.entries[-1].id)
        return draft

    def _write(self, tx: Tx, job: Job, ctx: TurnContext, draft: Draft) -> Delivery:
        now = stamp(self._clock)
        jobs.check_claim(tx, job, unless_stopped=True)
        record_all(tx, ctx.spent, now)
        _, summary = rotate(tx, ctx, draft, now)
        said = sentences.word(notices.Renewed(draft.messages, summary))
        key = f"summary:{summary}"
        return deliveries.add(tx, job.inbound.address, "notice", said, now, key=key)
