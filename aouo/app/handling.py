"""Joins what handles a job from its claim to its answer."""

from __future__ import annotations

from aouo.app.base import Base
from aouo.app.generations import Built
from aouo.app.media import intake_of
from aouo.flow.answering.compacting import Compacting
from aouo.flow.answering.contexts import Contexts
from aouo.flow.answering.renewing import Renewing
from aouo.flow.answering.turns import Turns
from aouo.flow.desk import Desk
from aouo.flow.handlers.affording import Affording
from aouo.flow.handlers.editing import Editing
from aouo.flow.handlers.installing import Installing
from aouo.flow.handlers.menus import Menus
from aouo.flow.handlers.reacting import note_reaction
from aouo.flow.handlers.remembering import Remembering
from aouo.flow.handlers.setting_up import SettingUp
from aouo.flow.handlers.standing import leave_chat
from aouo.flow.handlers.taps import Taps
from aouo.flow.handlers.topics import TopicEvents
from aouo.flow.job import Flow
from aouo.installer.packs import Packs
from aouo.installer.samples import sample_packs
from aouo.outbound.degrade import Capabilities
from aouo.outbound.outbox import Outbox
from aouo.plumbing.bus import Bus
from aouo.plumbing.zones import zone_of
from aouo.queue.gates import Waiting
from aouo.queue.running import Running
from aouo.telegram.channel import CAPABILITIES


def flow_of(
    base: Base,
    built: Built,
    *,
    outbox: Outbox,
    bus: Bus,
    desk: Desk,
    running: Running,
    affording: Affording,
    editing: Editing,
    packs: Packs,
) -> Flow:
    """What handles a job, once it is claimed."""
    clock, database, waiting = base.clock, base.database, Waiting()
    quota = built.quota
    contexts = Contexts(
        database=database,
        clock=clock,
        outbox=outbox,
        bus=bus,
        waiting=waiting,
        guard=built.door.guard(
            database=database, clock=clock, redact=built.redactor.text, publish=bus.publish
        ),
        quota=quota,
        redactor=built.redactor,
        capabilities={"tg": CAPABILITIES, "cli": Capabilities()},
    )
    turns = Turns(
        database=database,
        clock=clock,
        outbox=outbox,
        bus=bus,
        desk=desk,
        running=running,
        quota=quota,
        affording=affording,
        contexts=contexts,
        redactor=built.redactor,
        editing=editing,
        intake=intake_of(base, built.speech.ears, quota, outbox),
        renewing=Renewing(
            database=database,
            clock=clock,
            outbox=outbox,
            quota=quota,
            contexts=contexts,
            running=running,
        ),
        leases=built.leases,
    )
    setting_up = SettingUp(
        database=database, clock=clock, outbox=outbox, desk=desk, platform=base.telegram
    )
    installing = Installing(
        shop=packs,
        desk=desk,
        clock=clock,
        outbox=outbox,
        is_owner=affording.is_owner,
        bundled=lambda: {folder.name: folder for folder in sample_packs()},
        files=base.telegram,
        folder=base.home.media,
        provide=setting_up.provide,
    )
    remembering = Remembering(
        database=database,
        clock=clock,
        desk=desk,
        keeping=built.keeping,
        zone=zone_of(base.settings.cron.timezone),
    )
    menus = Menus(
        database=database,
        clock=clock,
        desk=desk,
        outbox=outbox,
        open_store=built.stores.open,
    )
    taps = Taps(
        desk=desk,
        database=database,
        clock=clock,
        outbox=outbox,
        waiting=waiting,
        affording=affording,
        editing=editing,
        installing=installing,
        remembering=remembering,
        menus=menus,
    )
    compacting = Compacting(
        database=database,
        clock=clock,
        outbox=outbox,
        desk=desk,
        contexts=contexts,
        running=running,
        leases=built.leases,
    )
    return Flow(
        desk=desk,
        turns=turns,
        taps=taps,
        commands={
            "compact": compacting.run,
            "install": lambda job, rest, slot: installing.run(job, rest),
            "memory": lambda job, rest, slot: remembering.run(job, rest),
            "menu": lambda job, rest, slot: menus.open(job),
            "setup_topics": lambda job, rest, slot: setting_up.run(job),
        },
        editing=editing,
        topics=TopicEvents(database=database, clock=clock, desk=desk),
        reacting=lambda job: note_reaction(database, clock, job),
        standing=lambda job, standing: leave_chat(database, outbox, desk, job, standing),
    )
