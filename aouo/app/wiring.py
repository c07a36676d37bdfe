"""Joins the stages of the path around a generation: coming in, lanes, going out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from aouo.app.base import Base
from aouo.app.budgets import with_model
from aouo.app.chores import Titles
from aouo.app.generations import Built, build_generation
from aouo.app.handling import flow_of
from aouo.app.models import model_of
from aouo.app.owner import letting_in
from aouo.app.refreshing import Refreshing
from aouo.commands.builtin import HANDLERS, list_sessions, stopping
from aouo.commands.registry import Commands
from aouo.commands.scheduling import cron
from aouo.commands.spending import spending
from aouo.config.settings import Settings
from aouo.facts.address import ConversationAddress
from aouo.facts.ids import ulid
from aouo.facts.ports import ChatModel, Clock, Messenger
from aouo.flow.desk import Desk
from aouo.flow.handlers.affording import Affording
from aouo.flow.handlers.behind import Behind
from aouo.flow.handlers.editing import Editing
from aouo.flow.leases import Leases
from aouo.installer.packs import Packs
from aouo.outbound.clean import CleanMessenger
from aouo.outbound.ledger import Ledger
from aouo.outbound.outbox import Outbox
from aouo.outbound.terminal import TerminalMessenger
from aouo.plumbing.bus import Bus
from aouo.plumbing.home import Home
from aouo.plumbing.zones import zone_of
from aouo.queue.inbox import Inbox
from aouo.queue.lanes import Lanes
from aouo.queue.running import Running
from aouo.routing.door import Doorkeeper
from aouo.routing.installed import Installed
from aouo.sandbox.run import Sandbox
from aouo.store.database import Database
from aouo.telegram.channel import TelegramChannel
from aouo.tools.mcp_servers import Servers
from aouo.tools.registry import Tool
from aouo.triggers.schedules import Schedules

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
    behind: Behind
    lanes: Lanes
    outbox: Outbox
    running: Running
    terminal: TerminalMessenger
    telegram: TelegramChannel | None
    leases: Leases
    titles: Titles
    mcp: Servers
    packs: Packs
    menu_changed: asyncio.Event
    """Is set when what is installed may have another command menu."""
    schedules: Schedules
    sandbox: Sandbox


async def build(base: Base, *, model: ChatModel | None, more_tools: Sequence[Tool]) -> App:
    """Build everything that stands on the base.

    Raises:
        SetupError: something the owner has to change.
    """
    running = Running()
    built = await build_generation(
        base, model=model, more_tools=more_tools, give_back=running.give_back
    )
    return _wire(base, built, running)


def _wire(base: Base, built: Built, running: Running) -> App:
    """Join the stages of the path."""
    clock, database = base.clock, base.database
    leases, quota, settings = built.leases, built.quota, base.settings
    bus, terminal = Bus(), TerminalMessenger()
    messengers: dict[str, Messenger] = {"cli": CleanMessenger(terminal, built.redactor)}

    def moved(address: ConversationAddress, chat_id: str) -> None:
        old, new = address.around.lane, replace(address.around, chat_id=chat_id).lane
        for one, other in zip(old.family, new.family, strict=True):
            running.move(one, other)
            lanes.move(one, other)

    ledger = Ledger(
        database=database,
        clock=clock,
        resend_unknown=settings.telegram.resend_unknown,
        owner=str(settings.telegram.owner or ""),
        moved=moved,
    )
    outbox = Outbox(
        ledger=ledger,
        clock=clock,
        messengers=messengers,
        stop_turns=lambda address: running.stop_chat(address.around.lane),
    )
    lanes: Lanes
    affording = Affording(
        database=database,
        clock=clock,
        outbox=outbox,
        quota=quota,
        owner=str(settings.telegram.owner),
        asks_per_hour=settings.security.approvals.per_hour,
        model_of=lambda backend, name: model_of(
            with_model(settings, backend, name), base.session, base.stack, clock, base.dialects
        ),
        wake=lambda lane: lanes.wake(lane),
    )
    zones = partial(zone_of, default=settings.cron.timezone)
    commands = Commands(
        {**HANDLERS, "stop": stopping(affording.is_owner), "cron": cron(zones)},
        {"sessions": list_sessions, "usage": spending(quota.day, affording.is_owner)},
    )
    behind = Behind(database=database, clock=clock, outbox=outbox)
    inbox = Inbox(
        database=database,
        clock=clock,
        owner=ulid(),
        policy=lambda: Doorkeeper(Installed(leases.library.names)),
        burst_s=settings.telegram.message_batch_ms / 1000,
        ready=lambda lane: lanes.wake(lane),
        redactor=built.redactor,
        behind=behind.look,
    )
    desk = Desk(
        database=database,
        clock=clock,
        outbox=outbox,
        commands=commands,
        library=lambda: leases.library,
        running=running,
        wake=lambda lane: lanes.wake(lane),
        moved=moved,
        owner=str(settings.telegram.owner or ""),
        let_in=partial(letting_in, base.home, settings.telegram.allowed_user_ids),
    )
    editing = Editing(
        database=database, clock=clock, outbox=outbox, wake=lambda lane: lanes.wake(lane)
    )
    refreshing = Refreshing(base, built)
    packs = refreshing.packs(zones)
    flow = flow_of(
        base,
        built,
        packs=packs,
        outbox=outbox,
        bus=bus,
        desk=desk,
        running=running,
        affording=affording,
        editing=editing,
    )
    lanes = Lanes(claim=inbox.claim, handle=flow.handle, concurrency=CONCURRENCY)
    if base.telegram:
        base.telegram.attach(inbox, reached=partial(outbox.try_now, "tg"))
        messengers["tg"] = CleanMessenger(base.telegram, built.redactor)
    return App(
        home=base.home,
        settings=settings,
        clock=clock,
        database=database,
        bus=bus,
        inbox=inbox,
        behind=behind,
        lanes=lanes,
        outbox=outbox,
        running=running,
        terminal=terminal,
        telegram=base.telegram,
        leases=leases,
        titles=Titles(
            database=database,
            clock=clock,
            bus=bus,
            asides=built.asides,
            model=lambda: leases.now.model,
            day=quota.day,
        ),
        mcp=built.servers,
        packs=packs,
        menu_changed=refreshing.menu_changed,
        schedules=Schedules(database=database, clock=clock, zone_of=zones),
        sandbox=built.sandbox,
    )
