"""Begins turns, and builds in one place all that a turn stands on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import structlog

from aouo.facts.address import Lane
from aouo.facts.errors import RouteRequiredError, ToolFailed
from aouo.facts.events import Origin, TurnStarted
from aouo.facts.ports import ChatModel, Clock, stamp
from aouo.facts.work import Job
from aouo.flow.answering.begin import Begun, begin
from aouo.flow.answering.otr_memory import OtrMemory
from aouo.flow.generation import Generation
from aouo.flow.handlers.onboarding import may_begin, skill_of
from aouo.flow.questions.approving import Approving
from aouo.flow.questions.waiting import PersonWait
from aouo.guard.action import Action, Outcome
from aouo.outbound.degrade import Capabilities
from aouo.outbound.live import LiveView
from aouo.outbound.outbox import Outbox
from aouo.outbound.silent import SilentView
from aouo.packs.load import Pack
from aouo.packs.memories import targets_of
from aouo.plumbing.bus import Bus
from aouo.queue.gates import Waiting
from aouo.queue.running import Running
from aouo.routing.decisions import RunTurn
from aouo.routing.plan import Plan, plan
from aouo.store.database import Database
from aouo.tools.prepare import prepare
from aouo.tools.registry import ToolContext
from aouo.tools.results import NAME as RESULT_READ
from aouo.turn.calls import Calls, spent_by
from aouo.turn.context import Facts, PackView, SkillView, TurnContext
from aouo.turn.journal import Journal
from aouo.turn.toolbox import Toolbox

log = structlog.get_logger()
_ALL_PARTS = 10_000
"""Where an answer is shown whole, however many messages it is."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn at work: its job, the generation it keeps, what it knows, shows and calls."""

    job: Job
    generation: Generation
    ctx: TurnContext
    view: LiveView | SilentView
    calls: Calls
    plan: Plan


class Turns:
    """Makes turns; `listen` tells one what its person has changed of their words meanwhile.

    `wake` is told the lanes that need not wait for a turn that waits for a person.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        bus: Bus,
        waiting: Waiting,
        running: Running,
        capabilities: Mapping[str, Capabilities],
        otr_memory: OtrMemory,
        listen: Callable[[TurnContext, Job], Awaitable[None]],
        wake: Callable[[Lane], None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._bus = bus
        self._waiting = waiting
        self._running = running
        self._capabilities = capabilities
        self._otr_memory = otr_memory
        self._listen = listen
        self._wake = wake

    async def begin(
        self, job: Job, wanted: RunTurn, generation: Generation, model: ChatModel
    ) -> Turn:
        """Begin the job's turn, or take it up, and tell whoever watches.

        Raises:
            LostClaim, StopAsked, NothingToRetry, TooLate: as `begin.begin`.
            RouteRequiredError: as `open`.
        """
        onboards = may_begin(wanted.pack, model, generation)
        now = stamp(self._clock)
        begun = await begin(self._database, job, wanted, now, onboards=onboards)
        if begun.resumed:
            log.info("turn_resumed", turn_id=begun.turn.id)
            self._outbox.put(begun.resumed)
        if begun.chosen:
            self._outbox.put(begun.chosen)
        if begun.stale_key:
            log.warning(
                "tg_route_session_stale", stored=begun.stale_key, computed=begun.session_key
            )
        self._bus.publish(TurnStarted(begun.turn.id, begun.turn.session_id, job.id))
        if begun.carried:
            job = replace(job, carried=begun.carried)
        turn = self.open(job, begun, generation, model)
        turn.ctx.recording.stale_route = bool(begun.stale_key)
        turn.ctx.recording.taken_up_at = now if begun.turn.resumes else ""
        if turn.plan.mode == "current":
            turn.ctx.listen = lambda: self._listen(turn.ctx, job)
        return turn

    def open(self, job: Job, begun: Begun, generation: Generation, model: ChatModel) -> Turn:
        """Build what the turn that has begun stands on.

        Raises:
            RouteRequiredError: the turn's pack is not loaded any more.
        """
        planned = self._plan(job, generation)
        facts = _facts_of(job, begun, generation, planned)
        toolbox = Toolbox(
            generation.registry,
            permitted=generation.permitted(facts.pack.name),
            enabled=generation.enabled,
            skills=tuple(skill.name for skill in facts.pack.skills),
            skill=lambda name: generation.library.resolve_skill(facts.pack.name, name).shown,
            off_record=facts.turn.off_record,
            pack=facts.pack.name,
            onboarding=facts.turn.skill == skill_of(facts.pack.name),
            memory_targets=facts.pack.memory_targets,
            only=planned.tools,
            without=planned.without,
        )
        view = self._view(job, begun, generation, planned)
        person_wait = PersonWait(
            database=self._database,
            clock=self._clock,
            outbox=self._outbox,
            waiting=self._waiting,
            running=self._running,
            job=job,
            turn_id=facts.turn.id,
            view=view,
            wake=self._wake,
        )
        owner = generation.owner
        approving = Approving(
            person_wait,  # whoever sits at a terminal or the page is the owner
            owner=facts.person.id if facts.address.platform in ("cli", "web") else owner.id,
            chat=owner.chat_apart(facts.address),
            asks_for=job.inbound,
            limits=generation.approvals,
        )
        tool_context = ToolContext(
            adapter=view,
            session_id=facts.turn.session_id,
            session_key=facts.session_key,
            pack=facts.pack.name,
            asker=person_wait,
            tenant=facts.tenant,
            load_tools=toolbox.load_tools,
            load_skills=toolbox.load_skills,
            turn_id=facts.turn.id,
            address=facts.address,
            chat_kind=job.inbound.chat_kind,
            person=facts.person.id,
            origin=facts.origin,
            media=facts.address.folder,
            off_record=facts.turn.off_record,
            spend=lambda scope, provider, model, ms, usd: ctx.spend(
                replace(
                    spent_by(ctx, scope),
                    provider=provider,
                    model=model,
                    duration_ms=ms,
                    cost_usd=usd or 0.0,
                    unpriced=usd is None,
                )
            ),
            paid_for=lambda call_id, tool: ctx.paid_calls.update(
                {call_id: generation.quota.usd_per_call(tool)}
            ),
        )

        async def call_tool(action: Action, proposed: bool) -> Outcome:
            run = toolbox.runner(action.call.name, tool_context)
            outcome = await generation.guard.call(action, run, approving, proposed=proposed)
            if outcome.kept:
                toolbox.reveal((RESULT_READ,))
            return outcome

        ctx = TurnContext(
            facts,
            model=model,
            view=view,
            toolbox=toolbox,
            prepare=lambda call: prepare(
                call,
                toolbox.named(call.name),
                origin=facts.origin,
                pack=facts.pack.name,
                turn_id=facts.turn.id,
                tenant=facts.tenant,
                session_id=facts.turn.session_id,
                off_record=facts.turn.off_record,
                media=facts.address.folder,
            ),
            propose=generation.guard.propose,
            call_tool=call_tool,
            day=generation.quota.day(),
            recalled=self._otr_memory.of(facts),
            publish=self._bus.publish,
        )
        journal = Journal(database=self._database, clock=self._clock, job=job)
        return Turn(job, generation, ctx, view, Calls(journal=journal), planned)

    def _plan(self, job: Job, generation: Generation) -> Plan:
        inbound = job.inbound
        here, showing = inbound.address.platform, generation.showing
        streams = here == "web" or (here == "tg" and showing.streaming != "off")
        return plan(inbound.origin, inbound.content, streams=streams, message_id=inbound.message_id)

    def _view(
        self, job: Job, begun: Begun, generation: Generation, planned: Plan
    ) -> LiveView | SilentView:
        """What the turn shows in its conversation while it runs."""
        address, showing = job.inbound.address, generation.showing
        capabilities = self._capabilities.get(address.platform, Capabilities())
        if planned.mode == "isolated":
            return SilentView(
                database=self._database,
                turn_id=begun.turn.id,
                capabilities=capabilities,
                redactor=generation.redactor,
            )
        return LiveView(
            outbox=self._outbox,
            database=self._database,
            clock=self._clock,
            address=address,
            turn_id=begun.turn.id,
            streaming=planned.stream,
            drafts=showing.streaming == "draft"
            and address.platform == "tg"
            and job.inbound.chat_kind == "private"
            and not address.thread_id,
            max_parts=showing.max_parts if address.platform == "tg" else _ALL_PARTS,
            capabilities=capabilities,
            said_id=job.inbound.message_id,
            reply=job.inbound.chat_kind == "group",
            live=begun.live,
            behind=begun.behind,
            redactor=generation.redactor,
            for_owner=generation.owner.is_owner(job.inbound),
            names_tools=showing.names_tools,
        )


def _facts_of(job: Job, begun: Begun, generation: Generation, planned: Plan) -> Facts:
    """The turn's facts; the pack is the one it began with, whatever happens meanwhile.

    Raises:
        RouteRequiredError: that pack is not loaded any more.
    """
    inbound, turn = job.inbound, begun.turn
    pack = generation.library.get(turn.pack)
    if turn.pack and pack is None:
        raise RouteRequiredError(generation.library.names, turn.pack)
    return Facts(
        turn=turn,
        session_key=begun.session_key,
        tenant=begun.tenant,
        onboarding=begun.onboarding,
        address=inbound.address,
        person=inbound.person,
        origin=inbound.origin,
        chat_kind=inbound.chat_kind,
        pack=_bounded(
            _view_of(pack, turn.skill) if pack else PackView(), planned.tokens_max, inbound.origin
        ),
        skill_body=_skill_body(begun, generation),
    )


def _bounded(pack: PackView, tokens_max: int, origin: Origin) -> PackView:
    """The pack with what one run may take at most, 0 = as any turn."""
    if not tokens_max or 0 < pack.turn_tokens_max <= tokens_max:
        return pack
    whose = "heartbeat.daily_tokens_max" if origin == "heartbeat" else "the limit of this schedule"
    return replace(pack, turn_tokens_max=tokens_max, turn_tokens_key=whose)


def _view_of(pack: Pack, active_skill: str) -> PackView:
    """The pack as a turn sees it; the active skill is elsewhere in the prompt."""
    manifest = pack.manifest
    context = manifest.context
    eager = context.skill_loading == "eager"
    return PackView(
        name=pack.name,
        display_name=manifest.display_name,
        description=manifest.description,
        soul_additions=pack.soul_additions,
        rules_additions=pack.rules_additions,
        skills=tuple(
            SkillView(skill.name, skill.description, skill.triggers, skill.body if eager else "")
            for skill in pack.skills.values()
            if skill.qualified != active_skill
        ),
        examples=pack.examples,
        history_messages=context.history_window,
        memory_policy=context.memory_policy,
        prompt_tokens_max=context.max_tokens,
        turn_tokens_max=manifest.budget.turn_tokens,
        platforms=tuple(
            "tg" if name == "telegram" else name for name in manifest.permissions.platforms
        ),
        memory_targets=targets_of(pack),
    )


def _skill_body(begun: Begun, generation: Generation) -> str:
    """The active skill's text; a skill that is gone, or of another pack, is no skill."""
    if not begun.turn.skill:
        return ""
    try:
        skill = generation.library.resolve_skill(begun.turn.pack, begun.turn.skill)
    except ToolFailed:
        return ""
    return f"{skill.display_name}\n{skill.body}"
