"""Builds the tools of a generation and their guard, over what lives as long as the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TypeAlias

import aiohttp

from aouo.agent.documents.reading import AT_ONCE
from aouo.agent.spending.reservations import Reservations
from aouo.agent.tokens import Estimator
from aouo.agent.tools.actions import Bench, action_tools
from aouo.agent.tools.asks import Asking
from aouo.agent.tools.conversation import clarify, onboarding_done, sessions
from aouo.agent.tools.cron import cron
from aouo.agent.tools.feeds import Feeds
from aouo.agent.tools.files import (
    Written,
    check_room,
    list_dir,
    read_document,
    read_file,
    write_file,
)
from aouo.agent.tools.kept_files import KeptFiles
from aouo.agent.tools.load import load_skills, load_tools, skill_view
from aouo.agent.tools.mcp_servers import Server
from aouo.agent.tools.memory import journal_add, journal_search, memory, memory_edits
from aouo.agent.tools.msg import msg, tts
from aouo.agent.tools.pack_tools import Workshop, pack_tools
from aouo.agent.tools.persist import db, persist
from aouo.agent.tools.registry import Registry, Tool
from aouo.agent.tools.reminders import Reminders
from aouo.agent.tools.results import keep, result_read
from aouo.agent.tools.shell import shell
from aouo.agent.tools.undo import Undoing, undo
from aouo.agent.tools.web import fetch, web_search
from aouo.config.sections import Security, Tools
from aouo.facts.attachments import Lack
from aouo.facts.people import LetIn
from aouo.facts.ports import ChatModel, Clock
from aouo.facts.schedule import ZoneOf
from aouo.guard import heuristics
from aouo.guard.chain import Guard
from aouo.guard.fence import Fence
from aouo.guard.flow import Flow, Rate
from aouo.guard.policy import policy_of
from aouo.guard.protection import Protection
from aouo.guard.reach import reached, refusal
from aouo.guard.sandbox.run import Sandbox
from aouo.guard.sent_files import SentFiles, hiding
from aouo.memory.keeping import Keeping
from aouo.packs.library import Library
from aouo.packs.settings import Kept, Languages, PersonValues
from aouo.packs.stores import Memories, PackStores
from aouo.plumbing.children import Apart
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Adopt, not_logging
from aouo.plumbing.parts import Bus
from aouo.plumbing.resources import Current, Holder, Thing, close_all
from aouo.plumbing.web.client import Web
from aouo.plumbing.web.egress import EgressProxy
from aouo.plumbing.web.session import nobody_looks_up, nowhere
from aouo.providers.dialect import Dialects
from aouo.providers.speech.services import Voice
from aouo.schedules.service import Schedules
from aouo.schedules.watched import Looking
from aouo.store import people
from aouo.store.database import Database
from aouo.telegram.channel import TelegramChannel


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What generations share: what is open, and what was learnt or counted.

    Not `online`: no tool reaches the internet, whatever a pack may. `adopt` tells the process log
    what to write and to hide. `model` answers in place of what the settings name, None = as they
    say; `more_tools` are there besides. `library` is what is installed now; nothing is before the
    first generation. `timezone` is that of now, whose day it is for all that is spent. `things`
    are what generations hand on to each other, as long as they want the same; `tasks` runs what
    these start, and `apart` what may hang. `dialects` is what all models learn of their services.
    `decided` is what the owner decided about people, as it is stored. `page` gives the address of
    the local page, without its token, "" = none listens.
    """

    home: Home
    clock: Clock
    database: Database
    session: aiohttp.ClientSession
    telegram: TelegramChannel | None
    online: bool
    adopt: Adopt
    model: ChatModel | None
    more_tools: Sequence[Tool]
    bus: Bus
    library: Current[Library]
    timezone: Current[str]
    things: list[Thing]
    tasks: asyncio.TaskGroup
    stores: PackStores
    memories: Memories
    keeping: Keeping
    files: KeptFiles
    reservations: Reservations
    estimator: Estimator
    apart: Apart
    dialects: Dialects
    page: Current[Callable[[], str]]
    zones: PersonValues
    languages: Languages
    decided: dict[str, LetIn]


async def share(
    stack: AsyncExitStack,
    *,
    home: Home,
    clock: Clock,
    database: Database,
    session: aiohttp.ClientSession,
    telegram: TelegramChannel | None,
    online: bool = True,
    adopt: Adopt = not_logging,
    model: ChatModel | None = None,
    more_tools: Sequence[Tool] = (),
) -> Shared:
    """Make the rest; `stack` closes what has to be closed, last made first."""
    tasks, things = await stack.enter_async_context(asyncio.TaskGroup()), list[Thing]()
    stack.push_async_callback(close_all, things)
    library = Current(Library({}, {}, {}))
    stores = PackStores(home, lambda: library.now, clock)
    stack.callback(stores.close)
    memories = Memories(lambda: library.now, stores.private)
    return Shared(
        home=home,
        clock=clock,
        database=database,
        session=session,
        telegram=telegram,
        online=online,
        adopt=adopt,
        model=model,
        more_tools=more_tools,
        bus=Bus(),
        library=library,
        timezone=Current(""),
        things=things,
        tasks=tasks,
        stores=stores,
        memories=memories,
        keeping=Keeping(database=database, clock=clock, files=memories.files),
        files=KeptFiles(database, clock, home.copies, home.pack_data),
        reservations=Reservations(),
        estimator=Estimator(),
        apart=Apart(),
        dialects=Dialects(),
        page=Current(lambda: ""),
        zones=PersonValues(home.settings / "zones"),
        languages=Languages(
            PersonValues(home.settings / "languages"), PersonValues(home.settings / "telegram")
        ),
        decided=await database.read(people.everybody),
    )


_RegistryOf: TypeAlias = Callable[[Library], Registry]
"""Makes the registry of all tools for the packs that there are."""


def guarded_tools(
    security: Security,
    tools: Tools,
    shared: Shared,
    *,
    scan_dirs: Sequence[str],
    files_for: Callable[[str], Sequence[str] | None],
    is_owner: Callable[[str], bool],
    sandbox: Sandbox,
    servers: Sequence[Server],
    voice: Voice | Lack,
    zone_of: ZoneOf,
    schedules_run: bool,
    redact: Callable[[str], str],
    held: Holder,
) -> tuple[Guard, _RegistryOf, Looking]:
    """Build what the owner's settings and the packs' manifests ask for.

    `scan_dirs` are folders beside the home in which packs lie; `files_for`: see `Fence`.
    """
    home, stores, database, clock = shared.home, shared.stores, shared.database, shared.clock

    def files_of(pack: str) -> tuple[str, ...]:
        found = shared.library.now.get(pack)
        return found.manifest.permissions.files if found else ()

    sent = SentFiles(home.media)
    fence = Fence(
        allowed=security.allowed_paths,
        mode=security.fence_mode,
        files_of=files_of,
        folder_of=stores.folder,
        sent=sent,
        files_for=files_for,
    )
    packs_in = [Path(folder).expanduser() for folder in scan_dirs]
    protection = Protection(home=home.path, folder_of=stores.folder, sent=sent, packs_in=packs_in)
    policy = policy_of(security.policy, home.path)
    flow = Flow(is_owner, stores.folder, policy)
    rate = held.take("rate of calls", lambda: Rate(clock))
    guard = Guard(
        database=database,
        clock=clock,
        bind=fence.bind,
        judges=[
            protection.judge,
            fence.judge,
            flow.by_policy,
            heuristics.judge,
            flow.judge,
            rate.judge,
        ],
        keep=partial(keep, database=database, clock=clock),
        redact=redact,
        hidden=hiding(home=home.path, media=home.media, folder_of=stores.folder),
        publish=shared.bus.publish,
    )
    web = Web() if shared.online else Web(lookup=nobody_looks_up, admits=nowhere)
    looking = Looking(
        lent_store=stores.lent,
        web=web,
        refusal=partial(refusal, fence, protection),
        apart=shared.apart,
    )
    proxy = EgressProxy() if shared.online else EgressProxy(lookup=nobody_looks_up, admits=nowhere)

    def zone(person: str) -> tzinfo:
        return zone_of(shared.zones.of(person))

    written = Written(database)
    asking = Asking(clock, zone, stores.open, stores.folder, web, Kept(home.settings))
    reach = partial(reached, fence, protection)
    shop = Workshop(sandbox, stores, reach, sent, proxy, asking, written, shared.files)
    schedules = Schedules(  # whoever has a turn is listed, and changes only what is theirs
        zone_of, lambda: shared.library.now, lambda person: True, lambda: schedules_run
    )
    by_cron = cron(database, clock, schedules)
    ours: list[Tool] = [
        *_without_paths(shared),
        by_cron,
        *_outside(tools, shared, held, web),
        tts(voice, stores.folder, check_room),
        read_file(stores.folder, sent.holds, written),
        write_file(stores.folder, fence.root_of, written, shared.files),
        list_dir(stores.folder, written),
        result_read(database),
        journal_search(database),
        journal_add(database, clock, partial(zone_of, "")),
        memory_edits(database, shared.keeping),
        shell(shop, policy.hosts_of("shell"), confined=lambda: security.sandbox != "off"),
        *shared.more_tools,
    ]

    reminders = Reminders(database, clock, zone, stores.open, schedules)
    feeds = Feeds(web, clock, zone, stores.open)
    doing = Bench(clock, zone, stores.open, stores.folder, reminders, feeds)
    undoing = undoing_of(shared, reminders, schedules)

    def registry_of(packs: Library) -> Registry:
        brought = {item.name: item for item in pack_tools(packs, shop)}
        acting = action_tools(packs, doing, {**brought, "cron": by_cron})
        return Registry([*ours, undo(undoing), *brought.values(), *acting], servers)

    return guard, registry_of, looking


def undoing_of(shared: Shared, reminders: Reminders, schedules: Schedules) -> Undoing:
    """What puts back what calls changed."""
    return Undoing(
        database=shared.database,
        clock=shared.clock,
        open_store=shared.stores.open,
        is_loaded=lambda pack: shared.library.now.get(pack) is not None,
        keeping=shared.keeping,
        files=shared.files,
        reminders=reminders,
        schedules=schedules,
    )


def _without_paths(shared: Shared) -> list[Tool]:
    """The tools that name no file and reach nothing outside."""
    stores, clock = shared.stores, shared.clock
    return [
        msg(),
        skill_view(lambda: shared.library.now),
        memory(shared.keeping),
        clarify(),
        persist(stores.open, clock),
        onboarding_done(shared.database, clock),
        db(stores.open),
        load_tools(),
        load_skills(),
        sessions(shared.database),
    ]


def _outside(tools: Tools, shared: Shared, held: Holder, web: Web) -> list[Tool]:
    """The web and documents: a pack reads the hosts that it names; without a pack, all public."""

    def hosts(pack: str) -> Sequence[str]:
        found = shared.library.now.get(pack)
        if not pack:
            return ("*",)
        return found.manifest.permissions.network if found else ()

    room = held.take("room for documents", lambda: asyncio.Semaphore(AT_ONCE))
    return [
        fetch(hosts, web, room),
        held.take(
            ("web search", tools.web_search),
            lambda: web_search(tools.web_search, shared.session, shared.clock),
        ),
        read_document(shared.stores.folder, room),
    ]
