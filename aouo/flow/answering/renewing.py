"""Lets a session near its limit of tokens go on in a fresh one, before the next turn begins."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import structlog

from aouo.commands.summaries import go_on_afresh
from aouo.facts.errors import ProviderError, Refused, StopAsked
from aouo.facts.history import Draft
from aouo.facts.ports import ChatModel, Clock, stamp
from aouo.facts.work import Delivery, Job
from aouo.flow.answering.compacting import Plan, answered_in, plan_of
from aouo.flow.answering.turns import Turn, Turns
from aouo.flow.files.activity import typing
from aouo.flow.generation import Generation
from aouo.flow.replies import Replies
from aouo.outbound.outbox import Outbox
from aouo.queue.running import Running, StopReason
from aouo.routing.decisions import RunTurn
from aouo.store import deliveries, jobs, routes, turns
from aouo.store.database import Database, Tx
from aouo.turn.compaction import KEPT_SHARE, budget_tokens, cut
from aouo.turn.journal import record_all
from aouo.words.summaries import renewed

log = structlog.get_logger()
LEAST_TURNS = 20
"""What goes along word for word takes so small a share of the fresh session, each turn anew."""


@dataclass(slots=True, eq=False, kw_only=True)
class Renewing:
    """Compacts the older part of a session into a fresh one; the newest messages go along."""

    database: Database
    clock: Clock
    outbox: Outbox
    replies: Replies
    turns: Turns
    running: Running

    async def goes_on(
        self, job: Job, wanted: RunTurn, generation: Generation, model: ChatModel
    ) -> bool:
        """Renew the session of the turn that is to begin, if it is time to; False: the job was
        stopped meanwhile, and is settled or given back.

        Whatever keeps it from being renewed is logged, and the session goes on as it is.

        Raises:
            StopAsked: its person said /stop.
        """
        plan = await self._plan(job, wanted, generation, model)
        if plan is None:
            return True
        facts = plan[0]
        turn = self.turns.open(job, facts, generation, model)
        draft = await self._drafted(turn, plan)
        if isinstance(draft, Draft):
            try:
                row = await self.database.transact(lambda tx: self._write(tx, turn, draft))
            except StopAsked:
                await self._pay(turn)
                raise
            self.outbox.put(row)
            log.info("session_renewed", was=facts.session_id, messages=draft.messages)
            return True
        generation.compactor.rest(facts.session_id)
        await self._pay(turn)
        if draft is None or draft is StopReason.TIMEOUT:
            return True
        await self.replies.end_early(job, draft)
        return False

    async def _pay(self, turn: Turn) -> None:
        """What was spent is spent, whatever came of it."""
        now = stamp(self.clock)
        await self.database.transact(lambda tx: record_all(tx, turn.ctx.spent, now))

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

        session_id = await self.database.read(session_of)
        if not session_id or not await generation.quota.is_near_its_cap(session_id):
            return None
        if generation.compactor.rests(session_id):
            return None
        return await self.database.read(lambda tx: plan_of(tx, job))

    async def _drafted(self, turn: Turn, plan: Plan) -> Draft | StopReason | None:
        """None = there is no summary."""
        ctx, job, generation = turn.ctx, turn.job, turn.generation
        limits, compactor = generation.advanced, generation.compactor
        facts, reach, entries = plan
        scale = compactor.estimator.scale(ctx.model.provider, ctx.model.model)
        keep = min(
            scale.entries([entry.message for entry in entries]) * KEPT_SHARE,
            limits.session_tokens_max / LEAST_TURNS,
        )
        older, _ = cut(entries, int(keep), scale)
        budget = budget_tokens(limits.context_window or ctx.model.context_window, 0)

        async def work() -> Draft | None:
            if not older:
                return None
            try:
                async with typing(self.outbox.action, self.clock, job.inbound.address):
                    return await compactor.draft(ctx, reach, older, budget, scale)
            except (ProviderError, Refused, TimeoutError) as error:
                log.warning("session_not_renewed", session=facts.session_id, error=repr(error))
                return None

        try:
            draft = await self.running.run(job.id, limits.turn_timeout_s, work)
        except asyncio.CancelledError:
            await self.replies.give_back(job, ctx.spent)
            raise
        if isinstance(draft, Draft):
            return replace(draft, through_message_id=entries[-1].id)
        return draft

    def _write(self, tx: Tx, turn: Turn, draft: Draft) -> Delivery:
        job, now = turn.job, stamp(self.clock)
        jobs.check_claim(tx, job, unless_stopped=True)
        record_all(tx, turn.ctx.spent, now)
        _, summary = go_on_afresh(tx, answered_in(turn.ctx, now), draft)
        said = renewed(draft.messages, summary)
        key = f"summary:{summary}"
        return deliveries.add(tx, job.inbound.address, "notice", said, now, key=key)
