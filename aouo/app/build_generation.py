"""Builds a generation: a function of the settings and of what lies on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from aouo.agent.compaction import Compactor
from aouo.agent.judging import Judging
from aouo.agent.loop import Executor
from aouo.agent.persona import persona_of
from aouo.agent.pipelines import Pipelines, extended
from aouo.agent.spending.quota import Quota
from aouo.agent.steps import default
from aouo.agent.tools.mcp_servers import Server
from aouo.app import services
from aouo.app.tools import Shared, guarded_tools
from aouo.config.sections import McpServer
from aouo.config.settings import Settings
from aouo.facts.people import AT_HOME, Admission, Owner
from aouo.facts.ports import ChatModel, stamp
from aouo.flow.generations import Generation
from aouo.guard.sandbox.run import Sandbox
from aouo.installer.installed import as_if, going_on, scanned
from aouo.outbound.clean import AsShown
from aouo.packs.library import Library
from aouo.packs.settings import Kept
from aouo.plumbing.redact import Redactor
from aouo.plumbing.resources import Holder
from aouo.plumbing.waiting import finish
from aouo.plumbing.web.session import secrets_of
from aouo.plumbing.zones import zone_of
from aouo.store import gates, installs, usage


async def build_generation(
    settings: Settings, shared: Shared, *, also_secret: Collection[str] = ()
) -> Generation:
    """Build it over what is shared; what it opens is its own, but for what is open already and
    was made from the same settings. If it fails, what it opened is closed. `also_secret` is hidden
    like the secrets of the settings.

    Raises:
        SetupError: something the owner has to change.
    """
    held = Holder(shared.things)
    try:
        own = await asyncio.to_thread(Kept(shared.home.settings).secrets)
        redactor = Redactor(secrets_of({*settings.secrets(), *also_secret, *own}))
        return await _built(settings, shared, held, redactor)
    except BaseException:
        await finish(held.aclose())
        raise


async def _built(
    settings: Settings, shared: Shared, held: Holder, redactor: Redactor
) -> Generation:
    wish = settings.security.sandbox
    sandbox = held.take(("sandbox", wish), lambda: Sandbox(wish, home=shared.home.path))
    servers = _servers(settings, shared, held)
    prices = services.budget_of(settings, shared.clock).prices
    ears, voice = services.speech_of(settings, shared.session, held, prices)
    guard, registry_of, looking = guarded_tools(
        settings.security,
        settings.tools,
        shared,
        scan_dirs=settings.packs.scan_dirs,
        is_owner=Owner.of(settings.telegram.owner).has,
        files_for=partial(_files_for, settings, _admission(settings, shared)),
        sandbox=sandbox,
        servers=servers,
        voice=voice,
        zone_of=partial(zone_of, default=settings.cron.timezone),
        schedules_run=settings.cron.enabled,
        redact=redactor.text,
        held=held,
    )
    packs = await _scanned(settings, shared)
    model = shared.model or await _model(settings, shared, held)
    quota = _quota(settings, shared, model)
    causes = (model, settings.budgets, settings.advanced)
    compactor = Compactor(
        database=shared.database,
        clock=shared.clock,
        quota=quota,
        estimator=shared.estimator,
        resting=held.take(("resting", *causes), dict[str, int]),
        too_long=held.take(("too long", *causes), dict[str, int]),
    )
    return Generation(
        held=held,
        log_level=settings.log.level,
        owner=Owner.of(settings.telegram.owner),
        admission=_admission(settings, shared),
        roles=settings.roles,
        redactor=redactor,
        cron=settings.cron,
        heartbeat=settings.heartbeat,
        attention=settings.attention.rules,
        looking=looking,
        memory=settings.memory,
        library=packs,
        scanned=partial(_scanned, settings, shared),
        as_if=partial(as_if, shared.home, settings.packs, settings.tools.enabled, shared.database),
        registry_of=registry_of,
        trusted_keys=settings.packs.trusted_keys,
        muted=settings.packs.without_phrases,
        default_pack=settings.packs.default,
        registry=registry_of(packs),
        enabled=settings.tools.enabled,
        servers=servers,
        sandbox=sandbox,
        guard=guard,
        approvals=settings.security.approvals,
        judging=_judging(settings, shared, held, quota),
        model=model,
        other_model=_others(settings, shared, held),
        named_model=partial(_named_model, settings),
        offers=services.offers(settings, prices),
        anybody_chooses=settings.models.chosen_by == "everybody",
        pipelines=_pipelines(settings, shared, redactor, quota, compactor),
        compactor=compactor,
        quota=quota,
        advanced=settings.advanced,
        executor=_executor(settings, shared, quota),
        telegram=settings.telegram,
        ui=settings.ui,
        ears=ears,
        stt=settings.stt,
        eyes=services.eyes_of(settings, shared.session, quota),
        retention=settings.retention,
        paid=services.paid_for(settings),
    )


def _admission(settings: Settings, shared: Shared) -> Admission:
    telegram, now = settings.telegram, partial(stamp, shared.clock)
    return Admission(telegram.allowed_user_ids, telegram.groups == "all", shared.decided, now)


def _files_for(settings: Settings, admission: Admission, person: str) -> Sequence[str] | None:
    """Return what of this machine is open to the role of `person`, None = as to the owner; "" is
    nobody: a pack looks by itself, as its card says."""
    if person in ("", str(settings.telegram.owner or AT_HOME), AT_HOME):
        return None
    roles = settings.roles
    return (roles.guest if admission.role(person) == "guest" else roles.member).files


def _role_of(settings: Settings, admission: Admission, person: str) -> str:
    """Return the role whose budget is that of `person`; the owner has none."""
    return "" if person == str(settings.telegram.owner) else admission.role(person)


def _executor(settings: Settings, shared: Shared, quota: Quota) -> Executor:
    provider = settings.provider
    return Executor(
        quota=quota,
        estimator=shared.estimator,
        max_tokens=provider.max_tokens,
        temperature=provider.temperature,
        effort=provider.effort,
        session_tokens_max=settings.advanced.session_tokens_max,
    )


def _servers(settings: Settings, shared: Shared, held: Holder) -> Sequence[Server]:
    def made(name: str, one: McpServer) -> Server:
        return Server(
            name, one, shared.clock, shared.tasks, shared.session, partial(_pinned, shared)
        )

    named = settings.mcp.servers.items()
    return [held.take(("mcp", *item), partial(made, *item), Server.aclose) for item in named]


async def _pinned(
    shared: Shared, name: str, settings: str, said: Mapping[str, str]
) -> frozenset[str]:
    return await shared.database.transact(
        lambda tx: gates.untrusted_tools(tx, name, settings, said)
    )


async def _model(settings: Settings, shared: Shared, held: Holder) -> ChatModel:
    return await services.model_of(settings, shared.session, held, shared.clock, shared.dialects)


def _named_model(settings: Settings, pack: str, kind: str) -> usage.Chosen | None:
    """Return the model of `models` that a pack, or else a kind of work, names."""
    small, cron, memory = settings.models.small, settings.cron.model, settings.memory.model
    kinds = {"cron": cron, "watch": cron, "heartbeat": settings.heartbeat.model}
    kinds |= dict.fromkeys(("journal", "consolidate", "title", "summary"), memory)
    if not small.backend or not (settings.packs.models.get(pack) or kinds.get(kind)):
        return None
    model = small.model or services.DEFAULT_MODELS.get(small.backend, "")
    return usage.Chosen(small.backend, model, small.effort)


def _others(
    settings: Settings, shared: Shared, held: Holder
) -> Callable[[str, str], Awaitable[ChatModel]]:
    async def other(backend: str, name: str) -> ChatModel:
        return await _model(services.with_model(settings, backend, name), shared, held)

    return other


def _judging(settings: Settings, shared: Shared, held: Holder, quota: Quota) -> Judging | None:
    judge = settings.security.judge
    if not judge.backend:
        return None
    name = judge.model or services.DEFAULT_MODELS.get(judge.backend, "")
    return Judging(
        database=shared.database,
        clock=shared.clock,
        quota=quota,
        model=partial(_others(settings, shared, held), judge.backend, name),
        daily=judge.daily,
    )


async def _scanned(settings: Settings, shared: Shared) -> Library:
    """What is installed; what is edited where it lies goes on while it does not load."""
    found = await scanned(shared.home, settings.packs, settings.tools.enabled, shared.database)
    pinned = await shared.database.read(installs.all_of)
    return going_on(shared.library.now, found, shared.home, pinned)


def _quota(settings: Settings, shared: Shared, model: ChatModel) -> Quota:
    budget = services.budget_of(settings, shared.clock, partial(services.served_price, model))
    return Quota(
        database=shared.database,
        clock=shared.clock,
        zone=lambda: zone_of(shared.timezone.now),
        session_tokens_max=settings.advanced.session_tokens_max,
        daily_tokens_max=settings.advanced.daily_tokens_max,
        budget=replace(budget, role_of=partial(_role_of, settings, _admission(settings, shared))),
        pack_budgets=lambda: services.pack_budgets(shared.library.now),
        redactor=AsShown(secrets_of(settings.secrets())),
        reservations=shared.reservations,
    )


def _pipelines(
    settings: Settings, shared: Shared, redactor: Redactor, quota: Quota, compactor: Compactor
) -> Pipelines:
    advanced = settings.advanced
    return extended(
        default(
            database=shared.database,
            clock=shared.clock,
            quota=quota,
            persona=persona_of(shared.home),
            read_memory=shared.memories.read,
            redact=redactor.text,
            max_history_messages=advanced.max_history_messages,
            owner=Owner.of(settings.telegram.owner).id,
            max_dispatches=advanced.max_react_loops,
            session_tokens_max=advanced.session_tokens_max,
            max_tokens=settings.provider.max_tokens,
            context_window=advanced.context_window,
            compress_threshold=advanced.compress_threshold,
            compactor=compactor,
        )
    )
