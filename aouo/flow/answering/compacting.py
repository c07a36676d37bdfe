"""Summarises a session by `/compact` or near its limit, and goes on in a fresh one."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

from aouo.agent.calls import record_all
from aouo.agent.compaction import ENTRIES_MAX, KEPT_SHARE, budget_tokens, cut
from aouo.agent.context import TurnContext
from aouo.facts import errors
from aouo.facts.commands import PostAction
from aouo.facts.ids import ulid
from aouo.facts.ports import NO_MODEL, ChatModel, Clock, Rendered, stamp
from aouo.facts.records import Draft, HistoryEntry, Reach
from aouo.facts.work import Delivery, Facts, Job, OpenTurn
from aouo.flow.answering.begin import facts_of
from aouo.flow.answering.turns import Turn, Turns
from aouo.flow.commands.builtin import ROTATE, go_on_afresh, nothing_to_compact
from aouo.flow.commands.registry import Answered, PostActions
from aouo.flow.generations import Generation, Generations
from aouo.flow.intake import typing
from aouo.flow.replies import Replies
from aouo.outbound.outbox import Outbox
from aouo.plumbing.logs import log
from aouo.queue.decide import RunTurn
from aouo.queue.running import Running, StopReason
from aouo.store import deliveries, jobs, routes, sessions, turns
from aouo.store.database import Database, Tx
from aouo.words import conversations as words
from aouo.words.catalogue import say
from aouo.words.conversations import renewed

_FEWEST_MESSAGES = 4
"""Two exchanges: less than that is no shorter as a summary."""


Plan: TypeAlias = tuple[Facts, Reach, tuple[HistoryEntry, ...]]
"""A session that there is something to summarise of: a turn in it, how far its summary reaches, and
what stands after that."""


@dataclass(slots=True, eq=False, kw_only=True)
class Compacting:
    """Runs the one command that needs a model; until its last transaction nothing is changed."""

    database: Database
    clock: Clock
    outbox: Outbox
    replies: Replies
    turns: Turns
    running: Running
    generations: Generations
    post_actions: PostActions

    async def run(self, job: Job, focus: str) -> None:
        """Summarise, then rotate to a new session, put the summary there and say so, in one
        transaction. With nothing to summarise no model is asked."""
        try:
            async with self.generations.turn(job.active_pack, job.id) as generation:
                await self._run(job, focus, generation)
        except errors.RouteRequiredError as error:
            await self.replies.park(job, error.requested)

    async def _run(self, job: Job, focus: str, generation: Generation) -> None:
        if job.off_record:
            await self.replies.answer(job, say("summaries.off-record"))
            return
        plan = await self.database.read(lambda tx: _plan_of(tx, job))
        if plan is None:
            await self.replies.command(job, nothing_to_compact)
            return
        if generation.model.provider == NO_MODEL:
            await self.replies.answer(job, say("summaries.no-model"))
            return
        model = await generation.model_of(job.active_pack, "summary")
        ctx = self.turns.open(job, plan[0], generation, model).ctx

        async def work() -> Draft | Exception:
            try:
                async with typing(self.outbox.action, self.clock, job.inbound.address):
                    return await _draft(ctx, plan, generation, focus)
            except (errors.ProviderError, errors.Refused, TimeoutError) as error:
                return error

        try:
            ended = await self.running.run(job.id, generation.advanced.turn_timeout_s, work)
        except asyncio.CancelledError:
            await self.replies.give_back(job, ctx.spent)
            raise
        if ended is StopReason.SHUTDOWN:
            await self.replies.give_back(job, ctx.spent)
            return
        try:
            if isinstance(ended, Draft):
                await self._rotate(job, ctx, ended, generation)
            else:
                await self._leave(job, ctx, ended)
        except errors.StopAsked:
            await self._leave(job, ctx, StopReason.PERSON)
        except errors.PostActionFailed as error:
            await self._leave(job, ctx, error)

    async def _rotate(self, job: Job, ctx: TurnContext, draft: Draft, made: Generation) -> None:
        """Do the post-action that any command may ask for, in the transaction of the reply."""
        fresh: list[str] = []
        action = PostAction(ROTATE, asdict(draft))

        def write(tx: Tx, now: str) -> list[Rendered]:
            record_all(tx, ctx.spent, now)
            said = self.post_actions.do(tx, action, answered_in(ctx, now))
            route = routes.find(tx, job.inbound.address)
            fresh[:] = [route.session_id] if route else []
            return [said] if said else []

        await self.replies.settle(job, write)
        ctx.spent = []
        log.info("compacted", session=fresh[0], messages=draft.messages, tokens=draft.tokens)
        reach = await self.database.read(lambda tx: sessions.reach_of_summary(tx, fresh[0]))
        if reach.summary and reach.summary.facts:
            await made.compactor.flush(ctx, reach.summary)

    async def _leave(self, job: Job, ctx: TurnContext, why: Exception | StopReason) -> None:
        """Nothing is changed; what was spent is spent."""
        log.warning("compaction_failed", session=ctx.facts.session_id, error=repr(why))

        def write(tx: Tx, now: str) -> list[Rendered]:
            record_all(tx, ctx.spent, now)
            if why is StopReason.PERSON:
                return []
            return [words.not_compacted(why, f"job {job.id}")]

        await self.replies.settle(job, write, unless_stopped=why is not StopReason.PERSON)


def answered_in(ctx: TurnContext, now: str, text: str = "") -> Answered:
    """What a post-action is told of an answer in this turn's session."""
    facts = ctx.facts
    return Answered(
        facts.address,
        facts.chat_kind,
        facts.person,
        facts.session_id,
        facts.pack,
        facts.skill,
        text,
        now,
    )


async def _draft(ctx: TurnContext, plan: Plan, generation: Generation, focus: str) -> Draft:
    compactor, model = generation.compactor, ctx.model
    _, reach, entries = plan
    scale = compactor.estimator.scale(model.provider, model.model)
    budget = budget_tokens(generation.advanced.context_window or model.context_window, 0)
    return await compactor.draft(ctx, reach, entries, budget, scale, focus=focus)


def _plan_of(tx: Tx, job: Job) -> Plan | None:
    """None = there is nothing to summarise; a summary that stands already is not enough."""
    address = job.inbound.address
    route = routes.find(tx, address)
    if route is None or sessions.key_of(tx, route.session_id) != address.session_key(
        route.active_pack
    ):
        return None
    reach = sessions.reach_of_summary(tx, route.session_id)
    entries = sessions.covered_by_summary(tx, reach, ENTRIES_MAX)
    if len(entries) < _FEWEST_MESSAGES:
        return None
    skill = route.active_skill or sessions.active_skill(tx, route.session_id)
    turn = OpenTurn(ulid(), route.session_id, route.active_pack, skill, 0)
    facts = facts_of(tx, job, turn, sessions.named(tx, route.session_id), planned=True)
    return facts, reach, tuple(entries)


_LEAST_TURNS = 20
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
            except errors.StopAsked:
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
        if wanted.fresh or wanted.again or wanted.off_record or job.off_record:
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
        return await self.database.read(lambda tx: _plan_of(tx, job))

    async def _drafted(self, turn: Turn, plan: Plan) -> Draft | StopReason | None:
        """None = there is no summary."""
        ctx, job, generation = turn.ctx, turn.job, turn.generation
        limits, compactor = generation.advanced, generation.compactor
        facts, reach, entries = plan
        scale = compactor.estimator.scale(ctx.model.provider, ctx.model.model)
        keep = min(
            scale.entries([entry.message for entry in entries]) * KEPT_SHARE,
            limits.session_tokens_max / _LEAST_TURNS,
        )
        older, _ = cut(entries, int(keep), scale)
        budget = budget_tokens(limits.context_window or ctx.model.context_window, 0)

        async def work() -> Draft | None:
            if not older:
                return None
            try:
                async with typing(self.outbox.action, self.clock, job.inbound.address):
                    return await compactor.draft(ctx, reach, older, budget, scale)
            except (errors.ProviderError, errors.Refused, TimeoutError) as error:
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
