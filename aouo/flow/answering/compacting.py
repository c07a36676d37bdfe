"""Obeys `/compact`: summarises the whole session and begins a new one with the summary."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TypeAlias

import structlog

from aouo.commands.post_actions import Answered, PostActions
from aouo.commands.summaries import ROTATE, nothing_to_compact
from aouo.facts.commands import PostAction
from aouo.facts.errors import (
    PostActionFailed,
    ProviderError,
    Refused,
    RouteRequiredError,
    StopAsked,
)
from aouo.facts.history import Draft, HistoryEntry, Reach
from aouo.facts.ids import ulid
from aouo.facts.ports import Clock, Rendered
from aouo.facts.work import Facts, Job, OpenTurn
from aouo.flow.answering.begin import facts_of
from aouo.flow.answering.turns import Turns
from aouo.flow.files.activity import typing
from aouo.flow.generation import Generation
from aouo.flow.generations import Generations
from aouo.flow.replies import Replies
from aouo.outbound.outbox import Outbox
from aouo.queue.running import Running, StopReason
from aouo.store import routes, sessions, summaries
from aouo.store.database import Database, Tx
from aouo.turn.compaction import ENTRIES_MAX, budget_tokens
from aouo.turn.context import TurnContext
from aouo.turn.journal import record_all
from aouo.words import summaries as words
from aouo.words.catalogue import say

log = structlog.get_logger()
FEWEST_MESSAGES = 4
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
        except RouteRequiredError as error:
            await self.replies.park(job, error.requested)

    async def _run(self, job: Job, focus: str, generation: Generation) -> None:
        if job.off_record:
            await self.replies.answer(job, say("summaries.off-record"))
            return
        plan = await self.database.read(lambda tx: plan_of(tx, job))
        if plan is None:
            await self.replies.command(job, nothing_to_compact)
            return
        if generation.model.brief:
            await self.replies.answer(job, say("summaries.too-small"))
            return
        ctx = self.turns.open(job, plan[0], generation, generation.model).ctx

        async def work() -> Draft | Exception:
            try:
                async with typing(self.outbox.action, self.clock, job.inbound.address):
                    return await _draft(ctx, plan, generation, focus)
            except (ProviderError, Refused, TimeoutError) as error:
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
        except StopAsked:
            await self._leave(job, ctx, StopReason.PERSON)
        except PostActionFailed as error:
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
        reach = await self.database.read(lambda tx: summaries.reach(tx, fresh[0]))
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


def plan_of(tx: Tx, job: Job) -> Plan | None:
    """None = there is nothing to summarise; a summary that stands already is not enough."""
    address = job.inbound.address
    route = routes.find(tx, address)
    if route is None or sessions.key_of(tx, route.session_id) != address.session_key(
        route.active_pack
    ):
        return None
    reach = summaries.reach(tx, route.session_id)
    entries = summaries.covered(tx, reach, ENTRIES_MAX)
    if len(entries) < FEWEST_MESSAGES:
        return None
    skill = route.active_skill or sessions.active_skill(tx, route.session_id)
    turn = OpenTurn(ulid(), route.session_id, route.active_pack, skill, 0)
    facts = facts_of(tx, job, turn, address.session_key(route.active_pack))
    return facts, reach, tuple(entries)
