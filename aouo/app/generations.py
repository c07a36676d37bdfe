"""Builds a generation: packs, tools, the model and the pipelines, from settings and a home."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from aouo.app.base import Base
from aouo.app.budgets import Served, budget_of, pack_budgets
from aouo.app.extensions import extended
from aouo.app.guarding import Guarding, guarding
from aouo.app.knowing import served_price
from aouo.app.memories import Memories
from aouo.app.models import model_of
from aouo.app.outside import outside
from aouo.app.persona import PersonaFiles
from aouo.app.proxied import secrets_of
from aouo.app.speech import Speech, speech_of
from aouo.facts.ports import ChatModel
from aouo.flow.generation import Generation
from aouo.flow.leases import GiveBack, Leases
from aouo.guard.reach import Reach
from aouo.installer.installed import scanned
from aouo.memory.keeping import Keeping
from aouo.outbound.clean import AsShown
from aouo.packs.apart import bot_owner
from aouo.packs.library import Library
from aouo.packs.stores import PackStores
from aouo.plumbing.redact import Redactor
from aouo.plumbing.zones import zone_of
from aouo.sandbox.run import Sandbox
from aouo.spending.money import PackBudget
from aouo.spending.quota import Quota
from aouo.tools.clarify import clarify
from aouo.tools.db import db
from aouo.tools.files import check_room
from aouo.tools.load import load_skills, load_tools
from aouo.tools.mcp_servers import Servers, supervised
from aouo.tools.memory import memory
from aouo.tools.msg import msg
from aouo.tools.onboarding import onboarding_done
from aouo.tools.pack_tools import Workshop, pack_tools
from aouo.tools.persist import persist
from aouo.tools.registry import Registry, Tool
from aouo.tools.sessions import sessions
from aouo.tools.skill_view import skill_view
from aouo.tools.tts import tts
from aouo.turn.asides import Asides
from aouo.turn.compaction import Compactor
from aouo.turn.default import default
from aouo.turn.tokens import Estimator
from aouo.web.gate import Gate
from aouo.web.offline import nobody_looks_up, nowhere

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Built:
    """The first generation, and what all share with the path around them.

    `renewed` makes the next generation, for packs that have changed.
    """

    leases: Leases
    renewed: Callable[[Library], Generation]
    quota: Quota
    asides: Asides
    door: Guarding
    servers: Servers
    speech: Speech
    stores: PackStores
    keeping: Keeping
    redactor: Redactor
    sandbox: Sandbox


async def build_generation(
    base: Base, *, model: ChatModel | None, more_tools: Sequence[Tool], give_back: GiveBack
) -> Built:
    """Build it on the base; what has to be closed is closed with the base's stack.

    Raises:
        SetupError: something the owner has to change.
    """
    home, settings, clock, database = base.home, base.settings, base.clock, base.database
    leases: Leases

    def library() -> Library:
        return leases.library

    stores = PackStores(home, library, clock, bot_owner=bot_owner(settings))
    base.stack.callback(stores.close)
    memories = Memories(library, stores.private)
    keeping = Keeping(database=database, clock=clock, files_of=memories.files)
    door = guarding(
        home,
        settings.security,
        library,
        stores,
        database=database,
        clock=clock,
        scan_dirs=settings.packs.scan_dirs,
    )
    servers = await base.stack.enter_async_context(
        supervised(settings.mcp.servers, clock, base.session)
    )
    speech = speech_of(settings, base.session, base.stack)
    sandbox = Sandbox(settings.security.sandbox, home=home.path)
    gate = Gate() if base.online else Gate(lookup=nobody_looks_up, admits=nowhere)
    shop = Workshop(sandbox, stores, Reach(door.fence, door.protection), door.sent, gate)
    tools = [*_tools(base, library, stores, keeping, speech), *door.tools, *more_tools]
    redactor = Redactor(secrets_of(settings))
    quota = await _quota(
        base,
        lambda: leases.now.budgets,
        lambda provider, name: served_price(leases.now.model, provider, name),
    )
    asides = Asides(quota=quota)
    compactor = Compactor(database=database, clock=clock, asides=asides, estimator=Estimator())
    pipelines = default(
        database=database,
        clock=clock,
        quota=quota,
        persona=PersonaFiles(home).persona,
        read_memory=memories.read,
        redact=redactor.text,
        max_history_messages=settings.advanced.max_history_messages,
        max_dispatches=settings.advanced.max_react_loops,
        session_tokens_max=settings.advanced.session_tokens_max,
        max_tokens=settings.provider.max_tokens,
        context_window=settings.advanced.context_window,
        compress_threshold=settings.advanced.compress_threshold,
        compactor=compactor,
    )
    installed = await scanned(home, settings, database)
    first = Generation(
        settings,
        installed,
        Registry([*tools, *pack_tools(installed, shop)], servers.sources),
        model or await model_of(settings, base.session, base.stack, clock, base.dialects),
        extended(pipelines),
        compactor,
        pack_budgets(installed),
    )
    leases = Leases(first, give_back)

    def renewed(packs: Library) -> Generation:
        own = pack_tools(packs, shop)
        registry = Registry([*tools, *own], servers.sources)
        budgets = pack_budgets(packs)
        return replace(leases.now, library=packs, registry=registry, budgets=budgets)

    return Built(
        leases,
        renewed,
        quota,
        asides,
        door,
        servers,
        speech,
        stores,
        keeping,
        redactor,
        sandbox,
    )


def _tools(
    base: Base,
    library: Callable[[], Library],
    stores: PackStores,
    keeping: Keeping,
    speech: Speech,
) -> list[Tool]:
    settings, session, clock = base.settings, base.session, base.clock
    return [
        msg(),
        skill_view(library),
        memory(keeping),
        clarify(),
        persist(stores.open, clock),
        onboarding_done(base.database, clock),
        db(stores.open),
        load_tools(),
        load_skills(),
        sessions(base.database),
        *outside(settings.tools, library, stores, session=session, clock=clock, online=base.online),
        tts(speech.voice, stores.folder, check_room),
    ]


async def _quota(
    base: Base, budgets: Callable[[], Mapping[str, PackBudget]], served: Served
) -> Quota:
    settings = base.settings
    quota = Quota(
        database=base.database,
        clock=base.clock,
        zone=zone_of(settings.cron.timezone),
        session_tokens_max=settings.advanced.session_tokens_max,
        daily_tokens_max=settings.advanced.daily_tokens_max,
        budget=budget_of(settings, base.clock, served),
        pack_budgets=budgets,
        redactor=AsShown(secrets_of(settings)),
    )
    if lost := await quota.recover():
        log.warning("calls_written_off", calls=lost)
    return quota
