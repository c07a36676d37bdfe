"""Joins the stages of the path around a generation: coming in, lanes, going out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import partial

import structlog

from aouo.app.base import Base
from aouo.app.build_generation import build_generation
from aouo.app.chores import Titles
from aouo.app.handling import flow_of
from aouo.app.owner import OwnerNotices, letting_in
from aouo.app.refreshing import Refreshing
from aouo.app.retention import Tidying
from aouo.app.shared import Shared, share
from aouo.commands.builtin import HANDLERS, list_sessions, stopping
from aouo.commands.registry import Commands
from aouo.commands.scheduling import cron
from aouo.commands.spending import spending
from aouo.config.settings import Settings
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound
from aouo.facts.ids import ulid
from aouo.facts.people import Owner
from aouo.facts.ports import ChatModel, Clock, Messenger
from aouo.flow.generations import Generations
from aouo.flow.handlers.waiting_notice import WaitingNotice
from aouo.flow.replies import Replies
from aouo.installer.packs import Packs
from aouo.outbound.clean import CleanMessenger
from aouo.outbound.ledger import Ledger
from aouo.outbound.outbox import Outbox
from aouo.outbound.terminal import TerminalMessenger
from aouo.plumbing.bus import Bus
from aouo.plumbing.home import Home
from aouo.plumbing.redact import Redactor
from aouo.plumbing.zones import zone_of
from aouo.queue.inbox import Inbox
from aouo.queue.lanes import Bell, Lanes
from aouo.queue.running import Running
from aouo.routing.bypass import LanePolicy
from aouo.routing.installed import Installed
from aouo.store.database import Database
from aouo.telegram.channel import TelegramChannel
from aouo.tools.registry import Tool
from aouo.triggers.schedules import Schedules

log = structlog.get_logger()
CONCURRENCY = 256


@dataclass(frozen=True, slots=True)
class App:
    """The parts that somebody outside has to reach; `app.lifecycle` runs them."""

    home: Home
    clock: Clock
    database: Database
    bus: Bus
    bell: Bell
    inbox: Inbox
    behind: WaitingNotice
    lanes: Lanes
    outbox: Outbox
    running: Running
    terminal: TerminalMessenger
    telegram: TelegramChannel | None
    generations: Generations
    titles: Titles
    tidying: Tidying
    owner_notices: OwnerNotices
    packs: Packs
    refreshing: Refreshing
    schedules: Schedules


async def build(
    base: Base, settings: Settings, *, model: ChatModel | None, more_tools: Sequence[Tool]
) -> App:
    """Build everything that stands on the base.

    Raises:
        SetupError: something the owner has to change.
    """
    owner = Owner.of(settings.telegram.owner)
    shared = share(base, owner, model=model, more_tools=more_tools)
    first = await build_generation(settings, shared)
    if lost := await first.quota.recover():
        log.warning("calls_written_off", calls=lost)
    running = Running()
    return _wire(shared, Generations(first, shared.library, running.give_back), running)


def _wire(shared: Shared, generations: Generations, running: Running) -> App:
    """Join the stages of the path."""
    home, clock, database, telegram = shared.home, shared.clock, shared.database, shared.telegram
    bell, terminal = Bell(), TerminalMessenger()

    def owner() -> Owner:
        return generations.now.owner

    def redactor() -> Redactor:
        return generations.now.redactor

    def zones(name: str = "") -> tzinfo:
        return zone_of(name, generations.now.timezone)

    messengers: dict[str, Messenger] = {"cli": CleanMessenger(terminal, redactor)}

    def moved(address: ConversationAddress, chat_id: str) -> None:
        old, new = address.around.lane, replace(address.around, chat_id=chat_id).lane
        for one, other in zip(old.family, new.family, strict=True):
            running.move(one, other)
            bell.move(one, other)

    ledger = Ledger(
        database=database,
        clock=clock,
        resend_unknown=lambda: generations.now.transport.resend_unknown,
        owner=owner,
        moved=moved,
    )
    outbox = Outbox(
        ledger=ledger,
        clock=clock,
        messengers=messengers,
        stop_turns=lambda address: running.stop_chat(address.around.lane),
    )

    def is_owner(inbound: Inbound) -> bool:
        return owner().is_owner(inbound)

    commands = Commands(
        {**HANDLERS, "stop": stopping(is_owner), "cron": cron(zones)},
        {
            "sessions": list_sessions,
            "usage": spending(lambda: generations.now.quota.day(), is_owner),
        },
    )
    behind = WaitingNotice(database=database, clock=clock, outbox=outbox)
    inbox = Inbox(
        database=database,
        clock=clock,
        owner=ulid(),
        policy=lambda: LanePolicy(Installed(generations.library.names)),
        burst_s=lambda: generations.now.transport.burst_s,
        ready=bell.ring,
        redactor=redactor,
        behind=behind.look,
    )
    replies = Replies(
        database=database,
        clock=clock,
        outbox=outbox,
        commands=commands,
        library=lambda: generations.library,
        running=running,
        wake=bell.ring,
        moved=moved,
        owner=owner,
        let_in=lambda person: letting_in(home, generations.now.admission.people, person),
    )
    refreshing = Refreshing(shared, generations)
    packs = refreshing.packs(zones)
    flow = flow_of(
        shared,
        generations,
        packs=packs,
        outbox=outbox,
        replies=replies,
        running=running,
        zone_of=zones,
    )
    if telegram:
        telegram.attach(
            inbox,
            admission=lambda: generations.now.admission,
            reached=partial(outbox.try_now, "tg"),
        )
        messengers["tg"] = CleanMessenger(telegram, redactor)
    return App(
        home=home,
        clock=clock,
        database=database,
        bus=shared.bus,
        bell=bell,
        inbox=inbox,
        behind=behind,
        lanes=Lanes(bell=bell, claim=inbox.claim, handle=flow.handle, concurrency=CONCURRENCY),
        outbox=outbox,
        running=running,
        terminal=terminal,
        telegram=telegram,
        generations=generations,
        titles=Titles(database=database, clock=clock, bus=shared.bus, generations=generations),
        tidying=Tidying(
            database=database,
            clock=clock,
            folder=home.media,
            days=lambda: generations.now.retention,
        ),
        owner_notices=OwnerNotices(
            database=database,
            clock=clock,
            outbox=outbox,
            chat=lambda: owner().chat if telegram else None,
        ),
        packs=packs,
        refreshing=refreshing,
        schedules=Schedules(database=database, clock=clock, zone_of=zones),
    )
