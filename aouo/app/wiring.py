"""Builds everything but the base: packs, tools, model, pipelines, and the path that joins them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import structlog

from aouo.app.base import Base
from aouo.app.budgets import budget_of, with_model
from aouo.app.chores import Titles
from aouo.app.extensions import extended
from aouo.app.guarding import Guarding, guarding
from aouo.app.mcp import Servers, supervised
from aouo.app.models import model_of
from aouo.app.outside import outside
from aouo.app.speech import speaker_of
from aouo.app.stores import PackStores
from aouo.app.telegram import CAPABILITIES, TelegramChannel
from aouo.bus import Bus
from aouo.commands.builtin import builtin
from aouo.commands.registry import Commands
from aouo.commands.spending import spending
from aouo.flow.affording import Affording
from aouo.flow.compacting import Compacting
from aouo.flow.desk import Desk
from aouo.flow.generation import Generation
from aouo.flow.job import Flow
from aouo.flow.taps import Taps
from aouo.flow.turns import Turns
from aouo.home import Home
from aouo.ids import ulid
from aouo.outbound.degrade import Capabilities
from aouo.outbound.ledger import Ledger
from aouo.outbound.outbox import Outbox
from aouo.outbound.terminal import TerminalMessenger
from aouo.packs import library as packs
from aouo.packs.library import Library
from aouo.ports import ChatModel, Clock, Messenger
from aouo.queue.gates import Waiting
from aouo.queue.inbox import Inbox
from aouo.queue.lanes import Lanes
from aouo.queue.running import Running
from aouo.redact import Redactor
from aouo.routing.decide import Doorkeeper, Installed
from aouo.settings import Settings
from aouo.store.database import Database
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
from aouo.turn.prompt import Persona
from aouo.turn.quota import Quota
from aouo.turn.tokens import Estimator

log = structlog.get_logger()
CONCURRENCY = 256


@dataclass(frozen=True, slots=True)
class App:
    """The parts that somebody outside has to reach; `app.lifecycle` runs them."""

    home: Home
    settings: Settings
    clock: Clock
    database: Database
    bus: Bus
    inbox: Inbox
    lanes: Lanes
    outbox: Outbox
    running: Running
    terminal: TerminalMessenger
    telegram: TelegramChannel | None
    generation: Generation
    commands: Commands
    titles: Titles
    mcp: Servers


async def build(base: Base, *, model: ChatModel | None, more_tools: Sequence[Tool]) -> App:
    """Build everything that stands on the base: packs, tools, model, pipelines, the path.

    Raises:
        SetupError: something the owner has to change.
    """
    home, settings, clock, database = base.home, base.settings, base.clock, base.database
    library = _library(home, settings)
    stores = PackStores(home, lambda: library)
    door = guarding(
        home, settings.security, lambda: library, stores, database=database, clock=clock
    )
    base.stack.callback(stores.close)
    model = model or await model_of(settings, base.session, base.stack, clock)
    voice = tts(speaker_of(settings, base.session), stores.folder)
    servers = await base.stack.enter_async_context(supervised(settings.mcp.servers, clock))
    registry = Registry(
        [
            *_tools(lambda: library, stores, clock),
            sessions(database),
            *door.tools,
            *outside(settings.tools, lambda: library, stores, session=base.session, clock=clock),
            voice,
            *more_tools,
        ],
        servers.sources,
    )
    redact = Redactor(settings.secrets()).text
    quota = Quota(
        database=database,
        clock=clock,
        zone=_zone(settings),
        session_tokens_max=settings.advanced.session_tokens_max,
        daily_tokens_max=settings.advanced.daily_tokens_max,
        budget=budget_of(settings),
    )
    if lost := await quota.recover():
        log.warning("calls_written_off", calls=lost)
    compactor = Compactor(
        database=database,
        clock=clock,
        asides=Asides(quota=quota, redact=redact),
        estimator=Estimator(),
    )
    pipelines = default(
        database=database,
        clock=clock,
        quota=quota,
        persona=_Files(home).persona,
        read_memory=stores.read_memory,
        redact=redact,
        max_history_messages=settings.advanced.max_history_messages,
        max_dispatches=settings.advanced.max_react_loops,
        max_tokens=settings.provider.max_tokens,
        context_window=settings.advanced.context_window,
        compress_threshold=settings.advanced.compress_threshold,
        compactor=compactor,
    )
    generation = Generation(settings, library, registry, model, extended(pipelines), compactor)
    return _wire(base, quota, redact, generation, door, servers)


def _wire(
    base: Base,
    quota: Quota,
    redact: Callable[[str], str],
    generation: Generation,
    door: Guarding,
    servers: Servers,
) -> App:
    """Join the stages of the path."""
    home, clock, database = base.home, base.clock, base.database
    settings, library = generation.settings, generation.library
    bus, running, waiting, terminal = Bus(), Running(), Waiting(), TerminalMessenger()
    messengers: dict[str, Messenger] = {"cli": terminal}
    ledger = Ledger(database=database, clock=clock, resend_unknown=settings.telegram.resend_unknown)
    outbox = Outbox(ledger=ledger, clock=clock, messengers=messengers)
    lanes: Lanes
    affording = Affording(
        database=database,
        clock=clock,
        outbox=outbox,
        quota=quota,
        owner=str(settings.telegram.owner),
        model_of=lambda backend, name: model_of(
            with_model(settings, backend, name), base.session, base.stack, clock
        ),
        wake=lambda lane: lanes.wake(lane),
    )
    commands = builtin(running.is_running, [spending(quota.day, affording.is_owner)])
    inbox = Inbox(
        database=database,
        clock=clock,
        owner=ulid(),
        policy=Doorkeeper(Installed(library.names)),
        burst_s=settings.telegram.message_batch_ms / 1000,
        ready=lambda lane: lanes.wake(lane),
    )
    desk = Desk(
        database=database,
        clock=clock,
        outbox=outbox,
        commands=commands,
        library=lambda: generation.library,
        running=running,
        wake=lambda lane: lanes.wake(lane),
    )
    turns = Turns(
        database=database,
        clock=clock,
        outbox=outbox,
        bus=bus,
        desk=desk,
        running=running,
        waiting=waiting,
        guard=door.guard(database=database, clock=clock, redact=redact, publish=bus.publish),
        quota=quota,
        affording=affording,
        generation=lambda: generation,
        capabilities={"tg": CAPABILITIES, "cli": Capabilities()},
    )
    taps = Taps(
        desk=desk,
        database=database,
        clock=clock,
        outbox=outbox,
        waiting=waiting,
        affording=affording,
    )
    compacting = Compacting(
        database=database,
        clock=clock,
        outbox=outbox,
        desk=desk,
        turns=turns,
        running=running,
        generation=lambda: generation,
    )
    flow = Flow(desk=desk, turns=turns, taps=taps, compacting=compacting)
    lanes = Lanes(claim=inbox.claim, handle=flow.handle, concurrency=CONCURRENCY)
    if base.telegram:
        base.telegram.attach(inbox)
        messengers["tg"] = base.telegram
    return App(
        home=home,
        settings=settings,
        clock=clock,
        database=database,
        bus=bus,
        inbox=inbox,
        lanes=lanes,
        outbox=outbox,
        running=running,
        terminal=terminal,
        telegram=base.telegram,
        generation=generation,
        commands=commands,
        titles=Titles(
            database=database,
            clock=clock,
            bus=bus,
            asides=Asides(quota=quota, redact=redact),
            model=lambda: generation.model,
            day=quota.day,
        ),
        mcp=servers,
    )


def _library(home: Home, settings: Settings) -> Library:
    """Load what is installed; a broken pack is said and left out."""
    library = packs.scan(
        home.packs,
        tuple(Path(folder).expanduser() for folder in settings.packs.scan_dirs),
        settings.packs.enabled,
        home.skills,
    )
    for name, problems in library.broken.items():
        log.error("pack_broken", pack=name, problems=[str(problem) for problem in problems])
    for problem in library.command_collisions():
        log.warning("command_collision", problem=str(problem))
    return library


def _tools(library: Callable[[], Library], stores: PackStores, clock: Clock) -> list[Tool]:
    return [
        msg(),
        skill_view(library),
        memory(stores.memory),
        clarify(),
        persist(stores.open, clock),
        load_tools(),
        load_skills(),
    ]


def _zone(settings: Settings) -> tzinfo | None:
    """The owner's zone; None = the machine's."""
    return ZoneInfo(settings.cron.timezone) if settings.cron.timezone else None


class _Files:
    """The owner's two persona files, read again when they change."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._seen: dict[Path, tuple[int, str]] = {}

    def persona(self) -> Persona:
        return Persona(self._read(self._home.soul), self._read(self._home.rules))

    def _read(self, file: Path) -> str:
        try:
            changed_ns = file.stat().st_mtime_ns
            if self._seen.get(file, (0, ""))[0] != changed_ns:
                self._seen[file] = (changed_ns, file.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError):
            return ""
        return self._seen[file][1]
