"""Joins the stages of the path around a generation: coming in, lanes, going out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import partial

from aouo.app.build_generation import build_generation
from aouo.app.chores import chores_of, end_others
from aouo.app.handling import commanding, flow_of
from aouo.app.status import Health
from aouo.app.tools import Shared
from aouo.config.settings import Settings
from aouo.facts.address import ConversationAddress
from aouo.facts.people import Owner
from aouo.facts.ports import Messenger
from aouo.flow.asking import Asking
from aouo.flow.chores.indexing import Titles
from aouo.flow.chores.known_models import KnownModels
from aouo.flow.chores.retention import Tidying
from aouo.flow.commands.registry import Commands
from aouo.flow.commands.scheduling import Scheduling
from aouo.flow.commands.status import Jobs
from aouo.flow.generations import Generations
from aouo.flow.handlers.obeying import WaitingNotice
from aouo.flow.phrasing import Phrasing
from aouo.flow.refreshing import Refreshing
from aouo.flow.replies import Replies
from aouo.flow.talking import halts
from aouo.flow.uploads import Uploads
from aouo.flow.web_chat import Deciding, WebChat
from aouo.installer.changes import PackKit
from aouo.installer.packs import Packs
from aouo.outbound.clean import CleanMessenger
from aouo.outbound.ledger import Ledger
from aouo.outbound.messengers import TerminalMessenger, WebMessenger
from aouo.outbound.outbox import Outbox, OwnerNotices, letting_in
from aouo.plumbing.logs import log
from aouo.plumbing.parts import Parts, Work
from aouo.plumbing.redact import Redactor
from aouo.plumbing.zones import zone_of
from aouo.queue.decide import concerns_us, lane_of
from aouo.queue.inbox import Inbox
from aouo.queue.lanes import Bell, Lanes
from aouo.queue.running import Running
from aouo.schedules.heartbeat import Heartbeat
from aouo.schedules.service import Schedules
from aouo.words.catalogue import text

CONCURRENCY = 256


def _slots_of(generations: Generations) -> Callable[[str], int]:
    """How many jobs run at a time, by their kind: see `queue.lanes.Lanes`."""

    def slots(kind: str) -> int:
        match kind:
            case "":
                return CONCURRENCY
            case "cron":
                return generations.now.cron.max_concurrent_runs
            case _:
                return 1

    return slots


@dataclass(frozen=True, slots=True)
class App:
    """The parts that `app.lifecycle` runs, and that somebody outside has to reach.

    `essential` and `optional` run in the background for as long as the process, by name: without
    the first ones messages would be lost, so a failure of one ends the process; one of the others
    is run again.
    """

    shared: Shared
    generations: Generations
    refreshing: Refreshing
    packs: Packs
    inbox: Inbox
    lanes: Lanes
    outbox: Outbox
    running: Running
    terminal: TerminalMessenger
    web_chat: WebChat
    owner_notices: OwnerNotices
    titles: Titles
    tidying: Tidying
    essential: Mapping[str, Work]
    optional: Mapping[str, Work]
    parts: Parts
    health: Health
    bell: Bell
    heartbeat: Heartbeat
    known_models: KnownModels
    schedules: Schedules
    commands: Commands
    asking: Asking
    deciding: Deciding
    let_in: Callable[[str, str], Awaitable[bool]]


async def build(settings: Settings, shared: Shared) -> App:
    """Build everything that stands on what is shared.

    Raises:
        SetupError: something the owner has to change.
    """
    first = await build_generation(settings, shared)
    shared.stores.bot_owner = first.owner.data_name
    if lost := await first.quota.recover():
        log.warning("calls_written_off", calls=lost)
    running = Running()
    return _wire(
        shared,
        Generations(
            first,
            library=shared.library,
            timezone=shared.timezone,
            adopt=shared.adopt,
            give_back=running.give_back,
        ),
        running,
    )


def _wire(shared: Shared, generations: Generations, running: Running) -> App:
    """Join the stages of the path."""
    home, clock, database, telegram = shared.home, shared.clock, shared.database, shared.telegram
    bell, terminal = Bell(), TerminalMessenger()

    def owner() -> Owner:
        return generations.now.owner

    def redactor() -> Redactor:
        return generations.redactor

    def zones(name: str = "") -> tzinfo:
        return zone_of(name, generations.now.cron.timezone)

    uploads = Uploads(home.media)
    on_the_page = WebMessenger(database=database, clock=clock, place=uploads.place)
    messengers: dict[str, Messenger] = {
        "cli": CleanMessenger(terminal, redactor),
        "web": CleanMessenger(on_the_page, redactor),
    }

    def moved(address: ConversationAddress, chat_id: str) -> None:
        old, new = address.around.lane, replace(address.around, chat_id=chat_id).lane
        for one, other in zip(old.family, new.family, strict=True):
            running.move(one, other)
            bell.move(one, other)

    ledger = Ledger(
        database=database,
        clock=clock,
        resend_unknown=lambda: generations.now.telegram.resend_unknown,
        owner=owner,
        renamed=moved,
        publish=shared.bus.publish,
        language=shared.languages.of_id,
    )
    outbox = Outbox(
        ledger=ledger,
        clock=clock,
        messengers=messengers,
        stop_turns=lambda address: running.stop_chat(address.around.lane),
    )

    schedules = Schedules(
        zones,
        library=lambda: generations.library,
        listed=lambda person: generations.now.admission.lists(person, owner().id),
        enabled=lambda: generations.now.cron.enabled,
    )
    scheduling = Scheduling(schedules, lambda inbound: owner().is_owner(inbound))
    work = Jobs(zones, lambda inbound: owner().is_owner(inbound))
    refreshing = Refreshing(shared.stores, generations)
    commands, post_actions = commanding(
        shared,
        generations,
        zone_of=zones,
        scheduling=scheduling,
        work=work,
        menu_changed=refreshing.menu_changed.set,
        concerns=lambda: known_models.told,
    )
    waiting_notice = WaitingNotice(
        database=database, clock=clock, outbox=outbox, language=shared.languages.of
    )
    inbox = Inbox(
        database=database,
        clock=clock,
        concerns_us=lambda inbound, pack: concerns_us(inbound, pack, generations.library.names),
        lane_of=lane_of,
        burst_s=lambda: generations.now.telegram.message_batch_ms / 1000,
        halts=halts,
        ready=bell.ring,
        redactor=redactor,
        waits=waiting_notice.look,
    )
    replies = Replies(
        database=database,
        clock=clock,
        outbox=outbox,
        library=lambda: generations.library,
        running=running,
        wake=bell.ring,
        owner=owner,
        post_actions=post_actions,
        added=commands.added,
        media=home.media,
        phrasing=Phrasing(
            clock,
            partial(zones, ""),
            shared.zones,
            lambda: generations.library,
            lambda: generations.now.muted,
            generations.answers,
        ),
        default=lambda: generations.now.default_pack,
        keeps_from=lambda person, pack: generations.now.keeps_from(person, pack),
    )
    packs = Packs(
        PackKit(
            home=home,
            clock=clock,
            database=database,
            stores=shared.stores,
            library=lambda: generations.library,
            alone=generations.change,
            scan=lambda pinned: generations.now.as_if(pinned),
            refresh=refreshing.refresh,
            trusted_keys=lambda: generations.now.trusted_keys,
            zone_of=zones,
            owner=owner,
        )
    )
    flow = flow_of(
        shared,
        generations,
        packs=packs,
        outbox=outbox,
        replies=replies,
        running=running,
        commands=commands,
        post_actions=post_actions,
        schedules=schedules,
        moved=moved,
        let_in=lambda person: letting_in(home, generations.now.admission.people, person),
        end_others=partial(end_others, shared, generations, running),
        uploads=uploads,
    )
    if telegram:
        telegram.attach(
            inbox,
            admission=lambda: generations.now.admission,
            reached=partial(outbox.try_now, "tg"),
        )
        messengers["tg"] = CleanMessenger(telegram, redactor)
    owner_notices = OwnerNotices(
        database=database,
        clock=clock,
        outbox=outbox,
        chat=lambda: owner().told_in(telegram=telegram is not None),
        language=lambda: shared.languages.of_id(owner().person.id),
    )
    known_models = KnownModels(generations, clock, owner_notices)
    parts = Parts(clock, lambda name: owner_notices.tell(partial(text, "parts.failed", name=name)))
    chores = chores_of(
        shared,
        generations,
        inbox=inbox,
        outbox=outbox,
        owner_notices=owner_notices,
        known_models=known_models,
        waiting_notice=waiting_notice,
        zone_of=zones,
        schedules=schedules,
    )
    asking = Asking(database=database, inbox=inbox, bus=shared.bus, running=running, owner=owner)
    return App(
        shared=shared,
        generations=generations,
        refreshing=refreshing,
        packs=packs,
        inbox=inbox,
        lanes=Lanes(bell=bell, claim=inbox.claim, handle=flow.handle, slots=_slots_of(generations)),
        outbox=outbox,
        running=running,
        terminal=terminal,
        web_chat=WebChat(
            database=database,
            inbox=inbox,
            messenger=on_the_page,
            uploads=uploads,
            owner=owner,
            library=lambda: generations.library,
            redactor=redactor,
        ),
        owner_notices=owner_notices,
        titles=chores.titles,
        tidying=chores.tidying,
        essential={"bursts": inbox.close_bursts},
        optional=chores.works,
        parts=parts,
        health=Health(shared, bell, parts),
        bell=bell,
        heartbeat=chores.heartbeat,
        known_models=known_models,
        schedules=schedules,
        commands=commands,
        asking=asking,
        deciding=Deciding(database, owner, asking.outcome),
        let_in=flow.let_in,
    )
