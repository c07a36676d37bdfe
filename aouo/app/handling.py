"""Joins what handles a job from its claim to its answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from aouo.app.shared import Shared
from aouo.flow.answering.compacting import Compacting
from aouo.flow.answering.contexts import Contexts
from aouo.flow.answering.renewing import Renewing
from aouo.flow.answering.turns import Turns
from aouo.flow.files.intake import Intake
from aouo.flow.generations import Generations
from aouo.flow.handlers.budget_refusals import BudgetRefusals
from aouo.flow.handlers.editing import Editing
from aouo.flow.handlers.installing import Installing
from aouo.flow.handlers.membership import leave_chat
from aouo.flow.handlers.menus import Menus
from aouo.flow.handlers.reacting import note_reaction
from aouo.flow.handlers.remembering import Remembering
from aouo.flow.handlers.setting_up import SettingUp
from aouo.flow.handlers.taps import Taps
from aouo.flow.handlers.topics import TopicEvents
from aouo.flow.job import Flow
from aouo.flow.replies import Replies
from aouo.installer.packs import Packs
from aouo.installer.samples import sample_packs
from aouo.outbound.degrade import Capabilities
from aouo.outbound.outbox import Outbox
from aouo.queue.gates import Waiting
from aouo.queue.running import Running
from aouo.telegram.channel import CAPABILITIES


def flow_of(
    shared: Shared,
    generations: Generations,
    *,
    outbox: Outbox,
    replies: Replies,
    running: Running,
    budget_refusals: BudgetRefusals,
    editing: Editing,
    packs: Packs,
    zone: Callable[[], tzinfo],
) -> Flow:
    """What handles a job, once it is claimed."""
    clock, database, bus, waiting = shared.clock, shared.database, shared.bus, Waiting()
    contexts = Contexts(
        database=database,
        clock=clock,
        outbox=outbox,
        bus=bus,
        waiting=waiting,
        capabilities={"tg": CAPABILITIES, "cli": Capabilities()},
    )
    turns = Turns(
        database=database,
        clock=clock,
        outbox=outbox,
        bus=bus,
        replies=replies,
        running=running,
        budget_refusals=budget_refusals,
        contexts=contexts,
        editing=editing,
        intake=Intake(
            database=database,
            clock=clock,
            folder=shared.home.media,
            files=shared.telegram,
            show=outbox.action,
        ),
        renewing=Renewing(
            database=database,
            clock=clock,
            outbox=outbox,
            contexts=contexts,
            running=running,
        ),
        generations=generations,
    )
    setting_up = SettingUp(
        database=database, clock=clock, outbox=outbox, replies=replies, platform=shared.telegram
    )
    installing = Installing(
        shop=packs,
        replies=replies,
        clock=clock,
        outbox=outbox,
        owner=lambda: generations.now.owner,
        bundled=lambda: {folder.name: folder for folder in sample_packs()},
        files=shared.telegram,
        folder=shared.home.media,
        provide=setting_up.provide,
    )
    remembering = Remembering(
        database=database,
        clock=clock,
        replies=replies,
        keeping=shared.keeping,
        zone=zone,
    )
    menus = Menus(
        database=database,
        clock=clock,
        replies=replies,
        outbox=outbox,
        open_store=shared.stores.open,
    )
    taps = Taps(
        replies=replies,
        database=database,
        clock=clock,
        outbox=outbox,
        waiting=waiting,
        budget_refusals=budget_refusals,
        editing=editing,
        installing=installing,
        remembering=remembering,
        menus=menus,
    )
    compacting = Compacting(
        database=database,
        clock=clock,
        outbox=outbox,
        replies=replies,
        contexts=contexts,
        running=running,
        generations=generations,
    )
    return Flow(
        replies=replies,
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
        topics=TopicEvents(database=database, clock=clock, replies=replies),
        reacting=lambda job: note_reaction(database, clock, job),
        standing=lambda job, standing: leave_chat(database, outbox, replies, job, standing),
    )
