"""Begins turns, and builds in one place all that a turn stands on."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aouo.agent.calls import Calls, Journal, spent_by
from aouo.agent.context import PackView, TurnContext
from aouo.agent.toolbox import Toolbox
from aouo.agent.tools.registry import Ask, ToolContext, prepare
from aouo.agent.tools.results import NAME as RESULT_READ
from aouo.facts.address import Lane
from aouo.facts.errors import RouteRequiredError, ToolFailed
from aouo.facts.events import Origin, TurnStarted
from aouo.facts.ports import ChatModel, Clock, stamp
from aouo.facts.transcript import Image
from aouo.facts.work import Delivery, Facts, Job
from aouo.flow.answering.begin import OtrMemory, begin
from aouo.flow.approving import Approving
from aouo.flow.generations import Generation
from aouo.flow.handlers.installing import may_begin, skill_of
from aouo.flow.handlers.places import Places
from aouo.flow.waiting import PersonWait
from aouo.guard import targets
from aouo.guard.chain import NO_MORE, Judged
from aouo.guard.flow import needs_words, uses
from aouo.guard.paths import write_new
from aouo.guard.prepared import UNASKED, Allowed, Heard, Outcome, PreparedCall
from aouo.outbound.live import LiveView
from aouo.outbound.outbox import Outbox
from aouo.outbound.pages import SilentView
from aouo.outbound.payloads import Capabilities
from aouo.packs.load import Pack
from aouo.packs.stores import targets_of
from aouo.plumbing.logs import log
from aouo.plumbing.parts import Bus
from aouo.plumbing.web.envelope import others_in, own_words
from aouo.queue.decide import RunTurn
from aouo.queue.plan import Plan, plan
from aouo.queue.running import Running, Waiting
from aouo.store import gates, sessions
from aouo.store.database import Database

_ALL_PARTS = 10_000
"""Where an answer is shown whole, however many messages it is."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn at work: its job, the generation it keeps, what it knows, shows and calls.

    `told` says whose data it uses, once it is over.
    """

    job: Job
    generation: Generation
    ctx: TurnContext
    view: LiveView | SilentView
    calls: Calls
    plan: Plan
    ask: Ask
    told: Delivery | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Turns:
    """Makes turns; `listen` tells one what its person has changed of their words meanwhile.

    `wake` is told the lanes that need not wait for a turn that waits for a person.
    """

    database: Database
    clock: Clock
    outbox: Outbox
    bus: Bus
    waiting: Waiting
    running: Running
    capabilities: Mapping[str, Capabilities]
    otr_memory: OtrMemory
    listen: Callable[[TurnContext, Job], Awaitable[None]]
    wake: Callable[[Lane], None]
    places: Places
    folder: Callable[[str, str], Path]
    """A pack's own folder, for a tenant."""

    async def _kept(self, ctx: TurnContext, image: Image) -> str:
        """Show a model the picture that a tool returned, and keep it for `msg`; return its path in
        the pack's folder, "" = off the record nothing is kept."""
        ctx.pictures.append(image)
        if ctx.facts.off_record:
            return ""
        own = self.folder(ctx.facts.pack, ctx.facts.tenant)
        name = hashlib.sha256(image.data).hexdigest()[:12]
        path = f"artifacts/{name}.{image.media_type.rpartition('/')[2]}"
        try:
            await asyncio.to_thread(_write, own, path, image.data)
        except (OSError, ToolFailed) as error:  # the call has its result all the same
            log.warning("picture_not_kept", pack=ctx.facts.pack, error=str(error))
            return ""
        return path

    async def begin(
        self, job: Job, wanted: RunTurn, generation: Generation, model: ChatModel
    ) -> Turn:
        """Begin the job's turn, or take it up, and tell whoever watches.

        Raises:
            LostClaim, StopAsked, NothingToRetry, TooLate: as `begin.begin`.
            RouteRequiredError: as `open`.
        """
        onboards = may_begin(wanted.pack, model, generation)
        now = stamp(self.clock)
        pack = generation.library.get(wanted.pack)
        begun = await begin(
            self.database,
            job,
            wanted,
            now,
            onboards=onboards,
            owner=generation.owner.id,
            place=lambda tx: self.places.settled(tx, job.inbound, pack, now),
        )
        facts = begun.facts
        if begun.resumed:
            log.info("turn_resumed", turn_id=facts.id)
            self.outbox.put(begun.resumed)
        if begun.chosen:
            self.outbox.put(begun.chosen)
        if begun.stale_key:
            log.warning(
                "tg_route_session_stale", stored=begun.stale_key, computed=facts.session_key
            )
        self.bus.publish(TurnStarted(facts.id, facts.session_id, job.id))
        if begun.carried:
            job = replace(job, carried=begun.carried)
        turn = self.open(job, facts, generation, model, live=begun.live, behind=begun.behind)
        turn = replace(turn, told=begun.told)
        turn.ctx.recording.stale_route = bool(begun.stale_key)
        turn.ctx.recording.taken_up_at = now if facts.resumes else ""
        if turn.plan.mode == "current":
            turn.ctx.listen = lambda: self.listen(turn.ctx, job)
        return turn

    def open(
        self,
        job: Job,
        facts: Facts,
        generation: Generation,
        model: ChatModel,
        *,
        live: Sequence[Delivery] = (),
        behind: Sequence[Delivery] = (),
    ) -> Turn:
        """Build what the turn that has begun stands on; `live` and `behind` as in `Begun`.

        Raises:
            RouteRequiredError: the turn's pack is not loaded any more.
        """
        planned = self._plan(job, generation)
        pack = _pack_of(facts, generation, planned)
        toolbox = Toolbox(
            generation.registry,
            permitted=generation.permitted(facts.pack),
            enabled=generation.enabled,
            skills=tuple(skill.name for skill in pack.skills),
            skill=lambda name: generation.library.resolve_skill(facts.pack, name).shown,
            off_record=facts.off_record,
            pack=facts.pack,
            onboarding=facts.skill == skill_of(facts.pack),
            memory_targets=pack.memory_targets,
            only=planned.tools,
            without=planned.without,
        )
        view = self._view(job, facts, generation, planned, live=live, behind=behind)
        view.previews = lambda: not ctx.sources
        person_wait = PersonWait(
            database=self.database,
            clock=self.clock,
            outbox=self.outbox,
            waiting=self.waiting,
            running=self.running,
            job=job,
            turn_id=facts.id,
            view=view,
            wake=self.wake,
        )
        owner = generation.owner
        approving = Approving(
            person_wait,  # whoever sits at a terminal or the page is the owner
            owner=facts.person.id if facts.address.platform in ("cli", "web") else owner.id,
            whose=owner.person.id if owner.has(facts.person.id) else facts.person.id,
            chat=owner.chat_apart(facts.address),
            asks_for=job.inbound,
            sources=lambda: tuple(ctx.sources),
            limits=generation.approvals,
        )
        tool_context = ToolContext(
            facts=facts,
            adapter=view,
            ask=person_wait.ask,
            load_tools=toolbox.load_tools,
            load_skills=toolbox.load_skills,
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
            picture=lambda image: self._kept(ctx, image),
            sources=lambda: () if ctx.by_person else tuple(ctx.sources),
            paid_for=lambda call_id, tool: ctx.paid_calls.update(
                {call_id: generation.quota.usd_per_call(tool)}
            ),
        )

        async def judge(actions: Sequence[PreparedCall]) -> list[Judged]:
            labelled = await self._labelled(ctx, actions)
            approve = approving.approve
            if generation.judging:
                approve = generation.judging.before(approve, spent_by(ctx, ""), ctx.spend)
            judged = await generation.guard.judged(labelled, approve)
            ctx.only_looks = ctx.only_looks or any(one.is_a_no for one in judged)
            return judged

        async def call_tool(judged: Judged) -> Outcome:
            run = toolbox.runner(judged.action.call.name, tool_context)
            if judged.written and isinstance(judged.verdict, Allowed):
                await approving.use(judged.action.call_id)
            outcome = await generation.guard.call(judged, run)
            if outcome.kept:
                toolbox.reveal((RESULT_READ,))
            return outcome

        recalled, sources = self.otr_memory.of(facts, owner.id)
        ctx = TurnContext(
            facts,
            pack,
            model=model,
            view=view,
            toolbox=toolbox,
            prepare=lambda call: prepare(call, toolbox.named(call.name), facts),
            propose=generation.guard.propose,
            judge=judge,
            call_tool=call_tool,
            day=generation.quota.day(),
            recalled=recalled,
            publish=self.bus.publish,
        )
        ctx.reads(sources)
        journal = Journal(database=self.database, clock=self.clock, job=job)
        return Turn(job, generation, ctx, view, Calls(journal=journal), planned, person_wait.ask)

    async def _labelled(
        self, ctx: TurnContext, actions: Sequence[PreparedCall]
    ) -> list[PreparedCall]:
        """Return calls with what their judges need to know of the conversation."""
        facts = ctx.facts
        if facts.resumes and not ctx.only_looks:
            ctx.only_looks = await self.database.read(lambda tx: gates.is_refused(tx, facts.id))
        kept = others_in(ctx.changing)
        labels, heard = tuple(ctx.sources) or tuple(kept), None
        asks = kept or any(needs_words(action, labels) for action in actions)
        if asks and not ctx.by_person:
            said = await self.database.read(
                lambda tx: sessions.words_of(tx, facts.session_id, facts.person.id)
            )
            own = targets.normal("\n".join(map(own_words, said)))
            used = any(uses(action, own, kept.values()) for action in actions)
            if used and ctx.reads([*kept]) and not facts.off_record:
                known = tuple(ctx.sources)
                await self.database.transact(lambda tx: sessions.label(tx, facts.session_id, known))
            read = [entry.text for entry in (*ctx.history, *ctx.said)]
            visits = dict.fromkeys(address for action in actions for address in action.visits)
            seen = "\n".join(targets.those_with(address, read) for address in visits)
            heard = Heard(own, seen)
        labels = tuple(ctx.sources)
        return [
            action.refused(UNASKED, NO_MORE, "flow")
            if ctx.only_looks and action.sink != "look"
            else replace(action, labels=labels, by_person=ctx.by_person, heard=heard)
            for action in actions
        ]

    def _plan(self, job: Job, generation: Generation) -> Plan:
        inbound = job.inbound
        here, telegram = inbound.address.platform, generation.telegram
        streams = here == "web" or (here == "tg" and telegram.streaming != "off")
        return plan(inbound.origin, inbound.content, streams=streams, message_id=inbound.message_id)

    def _view(
        self,
        job: Job,
        facts: Facts,
        generation: Generation,
        planned: Plan,
        *,
        live: Sequence[Delivery],
        behind: Sequence[Delivery],
    ) -> LiveView | SilentView:
        """What the turn shows in its conversation while it runs."""
        address, telegram = job.inbound.address, generation.telegram
        capabilities = self.capabilities.get(address.platform, Capabilities())
        if planned.mode == "isolated":
            return SilentView(
                database=self.database,
                turn_id=facts.id,
                capabilities=capabilities,
                redactor=generation.redactor,
            )
        return LiveView(
            outbox=self.outbox,
            database=self.database,
            clock=self.clock,
            address=address,
            turn_id=facts.id,
            streaming=planned.stream,
            drafts=telegram.streaming == "draft"
            and address.platform == "tg"
            and job.inbound.chat_kind == "private"
            and not address.thread_id,
            max_parts=telegram.max_parts if address.platform == "tg" else _ALL_PARTS,
            capabilities=capabilities,
            said_id=job.inbound.message_id,
            reply=job.inbound.chat_kind == "group",
            live=live,
            behind=behind,
            redactor=generation.redactor,
            for_owner=generation.owner.is_owner(job.inbound),
            names_tools=generation.ui.show_tool_calls,
        )


def _pack_of(facts: Facts, generation: Generation, planned: Plan) -> PackView:
    """The pack that the turn began with, whatever happens meanwhile.

    Raises:
        RouteRequiredError: that pack is not loaded any more.
    """
    pack = generation.library.get(facts.pack)
    if facts.pack and pack is None:
        raise RouteRequiredError(generation.library.names, facts.pack)
    view = _view_of(pack, facts.skill, generation) if pack else PackView()
    return _bounded(view, planned.tokens_max, facts.origin)


def _bounded(pack: PackView, tokens_max: int, origin: Origin) -> PackView:
    """The pack with what one run may take at most, 0 = as any turn."""
    if not tokens_max or 0 < pack.turn_tokens_max <= tokens_max:
        return pack
    whose = "heartbeat.daily_tokens_max" if origin == "heartbeat" else "the limit of this schedule"
    return replace(pack, turn_tokens_max=tokens_max, turn_tokens_key=whose)


def _view_of(pack: Pack, active_skill: str, generation: Generation) -> PackView:
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
            skill if eager else replace(skill, body="")
            for skill in pack.skills.values()
            if skill.qualified != active_skill
        ),
        history_messages=context.history_window,
        memory_policy=context.memory_policy,
        prompt_tokens_max=context.max_tokens,
        turn_tokens_max=manifest.budget.turn_tokens,
        platforms=tuple(
            "tg" if name == "telegram" else name for name in manifest.permissions.platforms
        ),
        memory_targets=targets_of(pack),
        skill_body=_skill_body(pack.name, active_skill, generation),
    )


def _skill_body(pack: str, active_skill: str, generation: Generation) -> str:
    """The active skill's text; a skill that is gone, or of another pack, is no skill."""
    if not active_skill:
        return ""
    try:
        skill = generation.library.resolve_skill(pack, active_skill)
    except ToolFailed:
        return ""
    return f"{skill.display_name}\n{skill.body}"


def _write(own: Path, path: str, data: bytes) -> None:
    """Write a file that only the owner of this machine reads, unless it is there."""
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = own.resolve()
    if not (own / path).exists():
        write_new(own / path, data, own=own)
