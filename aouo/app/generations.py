"""Builds a generation: packs, tools, the model and the pipelines, from settings and a home."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import structlog

from aouo.app.base import Base
from aouo.app.budgets import budget_of, pack_budgets
from aouo.app.extensions import extended
from aouo.app.guarding import Guarding, guarding
from aouo.app.mcp import Servers, supervised
from aouo.app.models import model_of
from aouo.app.outside import outside
from aouo.app.persona import PersonaFiles
from aouo.app.speech import Speech, speech_of
from aouo.app.stores import PackStores
from aouo.flow.generation import Generation
from aouo.packs import library as packs
from aouo.packs.library import Library
from aouo.ports import ChatModel
from aouo.redact import Redactor
from aouo.settings import Settings
from aouo.tools.clarify import clarify
from aouo.tools.load import load_skills, load_tools
from aouo.tools.memory import memory
from aouo.tools.msg import msg
from aouo.tools.persist import persist
from aouo.tools.registry import Registry, Tool
from aouo.tools.sessions import sessions
from aouo.tools.skill_view import skill_view
from aouo.tools.tts import tts
from aouo.turn.asides import Asides
from aouo.turn.compaction import Compactor
from aouo.turn.default import default
from aouo.turn.quota import Quota
from aouo.turn.tokens import Estimator

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Built:
    """A generation, and what it shares with the path around it."""

    generation: Generation
    quota: Quota
    asides: Asides
    door: Guarding
    servers: Servers
    speech: Speech
    redact: Callable[[str], str]


async def build_generation(
    base: Base, *, model: ChatModel | None, more_tools: Sequence[Tool]
) -> Built:
    """Build it on the base; what has to be closed is closed with the base's stack.

    Raises:
        SetupError: something the owner has to change.
    """
    home, settings, clock, database = base.home, base.settings, base.clock, base.database
    library = _library(base)
    stores = PackStores(home, lambda: library)
    base.stack.callback(stores.close)
    door = guarding(
        home,
        settings.security,
        lambda: library,
        stores,
        database=database,
        clock=clock,
        scan_dirs=settings.packs.scan_dirs,
    )
    servers = await base.stack.enter_async_context(supervised(settings.mcp.servers, clock))
    speech = speech_of(settings, base.session, base.stack)
    tools = [*_tools(base, library, stores, speech), *door.tools, *more_tools]
    redact = Redactor(settings.secrets()).text
    quota = await _quota(base, lambda: library)
    asides = Asides(quota=quota, redact=redact)
    compactor = Compactor(database=database, clock=clock, asides=asides, estimator=Estimator())
    pipelines = default(
        database=database,
        clock=clock,
        quota=quota,
        persona=PersonaFiles(home).persona,
        read_memory=stores.read_memory,
        redact=redact,
        max_history_messages=settings.advanced.max_history_messages,
        max_dispatches=settings.advanced.max_react_loops,
        max_tokens=settings.provider.max_tokens,
        context_window=settings.advanced.context_window,
        compress_threshold=settings.advanced.compress_threshold,
        compactor=compactor,
    )
    generation = Generation(
        settings,
        library,
        Registry(tools, servers.sources),
        model or await model_of(settings, base.session, base.stack, clock),
        extended(pipelines),
        compactor,
    )
    return Built(generation, quota, asides, door, servers, speech, redact)


def _library(base: Base) -> Library:
    """Load what is installed; a broken pack is said and left out."""
    home, settings = base.home, base.settings
    library = packs.scan(
        home.packs,
        tuple(Path(folder).expanduser() for folder in settings.packs.scan_dirs),
        settings.packs.enabled,
        home.skills,
        settings.tools.enabled,
    )
    for name, problems in library.broken.items():
        log.error("pack_broken", pack=name, problems=[str(problem) for problem in problems])
    for name, problems in library.warnings.items():
        for problem in problems:
            log.warning("pack_warning", pack=name, problem=str(problem))
    for problem in library.command_collisions():
        log.warning("command_collision", problem=str(problem))
    return library


def _tools(base: Base, library: Library, stores: PackStores, speech: Speech) -> list[Tool]:
    settings, session, clock = base.settings, base.session, base.clock
    return [
        msg(),
        skill_view(lambda: library),
        memory(stores.memory),
        clarify(),
        persist(stores.open, clock),
        load_tools(),
        load_skills(),
        sessions(base.database),
        *outside(settings.tools, lambda: library, stores, session=session, clock=clock),
        tts(speech.voice, stores.folder),
    ]


async def _quota(base: Base, library: Callable[[], Library]) -> Quota:
    settings = base.settings
    quota = Quota(
        database=base.database,
        clock=base.clock,
        zone=_zone(settings),
        session_tokens_max=settings.advanced.session_tokens_max,
        daily_tokens_max=settings.advanced.daily_tokens_max,
        budget=budget_of(settings),
        pack_budgets=lambda: pack_budgets(library()),
    )
    if lost := await quota.recover():
        log.warning("calls_written_off", calls=lost)
    return quota


def _zone(settings: Settings) -> tzinfo | None:
    """The owner's zone; None = the machine's."""
    return ZoneInfo(settings.cron.timezone) if settings.cron.timezone else None
