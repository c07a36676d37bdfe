"""Builds the tools of a generation, and what guards them, from the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from aouo.app.shared import Shared
from aouo.config.sections import Security, Tools
from aouo.documents.reading import AT_ONCE
from aouo.facts.attachments import Lack
from aouo.facts.schedule import ZoneOf
from aouo.guard.chain import Guard
from aouo.guard.fence import Fence
from aouo.guard.naming import hiding
from aouo.guard.protection import Protection
from aouo.guard.reach import reached, refusal
from aouo.guard.sent_files import SentFiles
from aouo.packs.library import Library
from aouo.plumbing.resources import Holder
from aouo.sandbox.run import Sandbox
from aouo.speech.services import Voice
from aouo.tools.clarify import clarify
from aouo.tools.cron import cron
from aouo.tools.db import db
from aouo.tools.fetch import fetch
from aouo.tools.files import check_room, list_dir, read_file, write_file
from aouo.tools.journal import journal_add, journal_search
from aouo.tools.load import load_skills, load_tools
from aouo.tools.mcp_servers import Server
from aouo.tools.memory import memory
from aouo.tools.memory_edits import memory_edits
from aouo.tools.msg import msg
from aouo.tools.onboarding import onboarding_done
from aouo.tools.pack_tools import Workshop, pack_tools
from aouo.tools.persist import persist
from aouo.tools.read_document import read_document
from aouo.tools.registry import Registry, Tool
from aouo.tools.results import keep, result_read
from aouo.tools.sessions import sessions
from aouo.tools.skill_view import skill_view
from aouo.tools.tts import tts
from aouo.tools.web_search import web_search
from aouo.triggers.looking import Looking
from aouo.triggers.schedules import Schedules
from aouo.web.client import Web
from aouo.web.egress import EgressProxy
from aouo.web.offline import nobody_looks_up, nowhere

RegistryOf: TypeAlias = Callable[[Library], Registry]
"""Makes the registry of all tools for the packs that there are."""


def guarded_tools(
    security: Security,
    tools: Tools,
    shared: Shared,
    *,
    scan_dirs: Sequence[str],
    sandbox: Sandbox,
    servers: Sequence[Server],
    voice: Voice | Lack,
    zone_of: ZoneOf,
    schedules_run: bool,
    redact: Callable[[str], str],
    held: Holder,
) -> tuple[Guard, RegistryOf, Looking]:
    """Build what the owner's settings and the packs' manifests ask for.

    `scan_dirs` are folders beside the home in which packs lie.
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
    )
    packs_in = [Path(folder).expanduser() for folder in scan_dirs]
    protection = Protection(home=home.path, folder_of=stores.folder, sent=sent, packs_in=packs_in)
    guard = Guard(
        database=database,
        clock=clock,
        bind=fence.bind,
        judges=[protection.judge, fence.judge],
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
    shop = Workshop(sandbox, stores, partial(reached, fence, protection), sent, proxy)
    schedules = Schedules(  # whoever has a turn is listed, and changes only what is theirs
        zone_of, lambda: shared.library.now, lambda person: True, lambda: schedules_run
    )
    ours: list[Tool] = [
        *_without_paths(shared),
        cron(database, clock, schedules),
        *_outside(tools, shared, held, web),
        tts(voice, stores.folder, check_room),
        read_file(stores.folder, sent.holds),
        write_file(stores.folder, fence.root_of),
        list_dir(stores.folder),
        result_read(database),
        journal_search(database),
        journal_add(database, clock, partial(zone_of, "")),
        memory_edits(database, shared.keeping),
        *shared.more_tools,
    ]

    def registry_of(packs: Library) -> Registry:
        return Registry([*ours, *pack_tools(packs, shop)], servers)

    return guard, registry_of, looking


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
