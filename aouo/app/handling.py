"""Joins what handles a job from its claim to its answer, and all commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import tzinfo
from functools import partial

from aouo.agent.tools.actions import Doing
from aouo.agent.tools.reminders import Reminders
from aouo.app.status import bot_state
from aouo.app.tools import Shared, undoing_of
from aouo.facts import events
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound
from aouo.facts.ports import Fetch
from aouo.facts.schedule import ZoneOf
from aouo.facts.taps import Tap
from aouo.flow.answering.acting import Acting
from aouo.flow.answering.begin import OtrMemory, Words
from aouo.flow.answering.commit import Commit
from aouo.flow.answering.compacting import Compacting, Renewing
from aouo.flow.answering.correcting import Correcting
from aouo.flow.answering.reporting import Bringing
from aouo.flow.answering.searching import Searching
from aouo.flow.answering.turns import Turns
from aouo.flow.commands.builtin import HANDLERS, ROTATE, helping, list_sessions, rotate, stopping
from aouo.flow.commands.files import (
    CommandFiles,
    Scripts,
    commands_of_packages,
    post_actions_of_packages,
)
from aouo.flow.commands.registry import AddedCommand, Commands, PostActions
from aouo.flow.commands.scheduling import Scheduling
from aouo.flow.commands.settings import PackSettings, choosing_language
from aouo.flow.commands.status import Jobs, spending, status, why
from aouo.flow.commands.trust import Trust
from aouo.flow.generations import Generations
from aouo.flow.handlers.choosing import ChoosingModel
from aouo.flow.handlers.editing import Editing, leave_chat, move_chat, note_reaction
from aouo.flow.handlers.forgetting import Forgetting
from aouo.flow.handlers.gates import BudgetRefusals
from aouo.flow.handlers.gates import answer_gate as answer_gate_of
from aouo.flow.handlers.installing import Installing
from aouo.flow.handlers.letting_in import LettingIn
from aouo.flow.handlers.menus import Menus
from aouo.flow.handlers.obeying import Obeying
from aouo.flow.handlers.places import Places
from aouo.flow.handlers.remembering import Remembering
from aouo.flow.handlers.taps import on, table, taps_of
from aouo.flow.handlers.topics import SettingUp, TopicEvents
from aouo.flow.intake import Intake
from aouo.flow.job import Answering, Flow
from aouo.flow.replies import Replies
from aouo.flow.uploads import Uploads
from aouo.installer.installed import sample_packs
from aouo.installer.packs import Packs
from aouo.outbound.outbox import Outbox
from aouo.outbound.payloads import Capabilities
from aouo.packs.settings import Kept
from aouo.queue import decide as to
from aouo.queue.running import Running, Waiting
from aouo.schedules.heartbeat import settle_heartbeat
from aouo.schedules.journaling import settle_consolidation, settle_journal
from aouo.schedules.service import Schedules
from aouo.schedules.ticking import settle_command, settle_schedule
from aouo.schedules.watched import settle_watch
from aouo.store.database import Tx
from aouo.words.catalogue import say

_FILES: Capabilities = frozenset({"photo", "voice", "audio", "document", "album"})


def flow_of(
    shared: Shared,
    generations: Generations,
    *,
    outbox: Outbox,
    replies: Replies,
    running: Running,
    packs: Packs,
    commands: Commands,
    post_actions: PostActions,
    schedules: Schedules,
    moved: Callable[[ConversationAddress, str], None],
    let_in: Callable[[str], str],
    end_others: Callable[[], Awaitable[None]],
    uploads: Uploads,
) -> Flow:
    """What handles a job, once it is claimed."""
    clock, database, waiting = shared.clock, shared.database, Waiting()
    zone_of = schedules.zone_of
    fetches: dict[str, Fetch] = {"web": uploads.fetch}
    if shared.telegram:
        fetches["tg"] = shared.telegram.fetch
    intake = Intake(
        database=database,
        clock=clock,
        folder=shared.home.media,
        fetches=fetches,
        show=outbox.action,
        put=outbox.put,
    )

    def zone(person: str) -> tzinfo:
        return zone_of(shared.zones.of(person))

    reminders = Reminders(database, clock, zone, shared.stores.open, schedules)
    undoing = undoing_of(shared, reminders, schedules)
    editing = Editing(replies=replies, undoing=undoing)
    budget_refusals = BudgetRefusals(generations=generations, replies=replies)
    otr_memory, places = OtrMemory(), Places(shared.home, replies)
    turns = Turns(
        database=database,
        clock=clock,
        outbox=outbox,
        bus=shared.bus,
        waiting=waiting,
        running=running,
        capabilities={"tg": _FILES, "web": _FILES},
        otr_memory=otr_memory,
        listen=editing.tell,
        wake=replies.wake,
        places=places,
        folder=shared.stores.folder,
    )
    bringing = Bringing(
        database=database,
        clock=clock,
        replies=replies,
        settles={
            "command": settle_command,
            "cron": settle_schedule,
            "heartbeat": settle_heartbeat,
            "watch": settle_watch,
            "journal": settle_journal,
            "consolidate": settle_consolidation,
        },
        now=lambda: generations.now,
        zone=partial(zone_of, ""),
    )
    menus = Menus(
        replies=replies, open_store=shared.stores.open, reminders=reminders, places=places
    )
    commit = Commit(
        database=database,
        clock=clock,
        outbox=outbox,
        bus=shared.bus,
        budget_refusals=budget_refusals,
        otr_memory=otr_memory,
        forget=intake.forget,
        post_actions=post_actions,
        bringing=bringing,
        undoable=undoing.undoable,
    )
    doing = Doing(clock, zone, shared.stores.open, shared.stores.folder)
    acting = Acting(
        generations=generations,
        running=running,
        replies=replies,
        turns=turns,
        commit=commit,
        menus=menus,
        doing=doing,
        undoing=undoing,
        searching=Searching(doing, menus),
        zone_of=zone_of,
        nearest=replies.phrasing.nearest,
    )
    answering = Answering(
        generations=generations,
        running=running,
        replies=replies,
        budget_refusals=budget_refusals,
        intake=intake,
        words=Words(replies=replies, running=running, intake=intake, bringing=bringing),
        renewing=Renewing(
            database=database,
            clock=clock,
            outbox=outbox,
            replies=replies,
            turns=turns,
            running=running,
        ),
        turns=turns,
        commit=commit,
        bringing=bringing,
        acting=acting,
        bus=shared.bus,
    )
    setting_up = SettingUp(replies=replies, platform=shared.telegram)
    installing = Installing(
        packs=packs,
        replies=replies,
        bundled=lambda: {folder.name: folder for folder in sample_packs()},
        fetches=fetches,
        provide=setting_up.provide,
    )
    remembering = Remembering(replies=replies, keeping=shared.keeping, zone=partial(zone_of, ""))
    compacting = Compacting(
        database=database,
        clock=clock,
        outbox=outbox,
        replies=replies,
        turns=turns,
        running=running,
        generations=generations,
        post_actions=post_actions,
    )
    obeying = Obeying(
        replies=replies,
        running=running,
        commands=commands,
        calling={
            "compact": lambda job, said: compacting.run(job, said.rest),
            "install": lambda job, said: installing.run(job, said.rest),
            "memory": lambda job, said: remembering.run(job, said.words),
            "menu": lambda job, said: menus.open(job),
            "model": ChoosingModel(
                generations,
                replies,
                lambda one: generations.now.owner.is_owner(one),
                lambda: shared.page.now(),
            ).run,
            "people": lambda job, said: letting_in.run(job, said),
            "forget": Forgetting(home=shared.home, replies=replies, stores=shared.stores).run,
            "undo": lambda job, said: acting.undo(job, said.rest.strip(), answering.answer),
            "grants do": lambda job, said: acting.redo(job, said.rest.split()[-1]),
            "tour": lambda job, said: acting.tour(job, said.rest),
            "setup_topics": lambda job, said: setting_up.run(job),
        },
        limit_s=lambda: generations.now.advanced.turn_timeout_s,
    )
    letting_in = LettingIn(
        replies=replies,
        decided=shared.decided,
        admission=lambda: generations.now.admission,
        end=end_others,
        command=let_in,
        language=shared.languages.of_id,
    )
    topics = TopicEvents(replies=replies)
    answer_gate = partial(answer_gate_of, replies, waiting)
    taps = taps_of(
        replies,
        database=database,
        answer_gate=answer_gate,
        budget_refusals=budget_refusals,
        editing=editing,
        installing=installing,
        menus=menus,
        places=places,
        letting_in=letting_in,
    )
    return Flow(
        running=running,
        replies=replies,
        topics=topics,
        handlers=table(
            to.Decision,
            on(to.RunTurn, answering.answer),
            on(events.Report, bringing.bring_in),
            on(to.PickPack, acting.pick),
            on(to.ObeyCommand, obeying.obey),
            on(to.RefuseCommand, obeying.refuse),
            on(to.NameTopic, topics.name),
            on(events.TopicShut, topics.shut),
            on(to.AnswerGate, answer_gate),
            on(Tap, lambda job, tap: taps[tap.name](job, tap)),
            on(to.Phrased, lambda job, asked: replies.back(job, asked)),
            on(to.Ignore, lambda job, why: replies.done(job, why.reason)),
            on(events.Intruder, letting_in.refuse),
            on(events.Migrated, partial(move_chat, replies, moved)),
            on(events.Edited, lambda job, _: editing.apply(job)),
            on(events.Reacted, lambda job, _: note_reaction(database, clock, job)),
            on(events.DraftStopped, obeying.stop_draft),
            on(events.Standing, lambda job, note: leave_chat(database, outbox, replies, job, note)),
            on(
                events.Unsupported,
                lambda job, it: replies.answer(job, say("messages.unsupported", what=it.what)),
            ),
            on(events.Illegible, lambda job, _: replies.set_unreadable_aside(job)),
        ),
        bringing=bringing,
        correcting=Correcting(
            database=database,
            doing=doing,
            undoing=undoing,
            phrasing=replies.phrasing,
            searching=acting.searching,
            library=replies.library,
        ),
        forget=intake.forget,
        let_in=letting_in.decide,
        languages=shared.languages,
    )


def commanding(
    shared: Shared,
    generations: Generations,
    *,
    zone_of: ZoneOf,
    scheduling: Scheduling,
    work: Jobs,
    menu_changed: Callable[[], None],
    concerns: Callable[[], list[str]],
) -> tuple[Commands, PostActions]:
    """Join all commands and the kinds of post-actions. `concerns` are lines about the models for
    the owner.

    Raises:
        SetupError: a package of the owner's does not bring what it says.
    """
    since = shared.clock.now()

    def is_owner(inbound: Inbound) -> bool:
        return generations.now.owner.is_owner(inbound)

    def bot(tx: Tx) -> list[str]:
        return bot_state(
            tx,
            shared,
            generations.now,
            zone_of=zone_of,
            since=since,
            broken_commands=files.problems(),
            concerns=concerns(),
        )

    def added() -> Mapping[str, AddedCommand]:
        return {**files.look(), **brought}

    def problems() -> tuple[str, ...]:
        files.look()
        return files.problems()

    def seen() -> Mapping[str, AddedCommand]:  # transactions have a thread of their own
        return {**files.seen, **brought}

    brought = commands_of_packages()
    trust = Trust(
        is_owner, lambda: {one.name: one.changed for one in generations.now.servers if one.changed}
    )
    scripts = Scripts(
        shared.home.commands,
        lambda: generations.now.sandbox,
        is_owner,
        shared.database,
        shared.clock,
    )
    files = CommandFiles(scripts, brought, menu_changed)
    handlers = {
        **HANDLERS,
        "help": helping(seen),
        "stop": stopping(is_owner),
        "cron": scheduling.obey,
        "jobs": work.obey,
        "settings": PackSettings(
            Kept(shared.home.settings),
            is_owner,
            shared.clock,
            lambda person: zone_of(shared.zones.of(person)),
            shared.zones,
            zone_of,
        ).obey,
        "language": choosing_language(shared.languages),
        "status": status(is_owner, bot),
        "grants": trust.obey,
    }
    lookups = {
        "sessions": list_sessions,
        "usage": spending(lambda: generations.now.quota.day(), is_owner),
        "grants": trust.show,
        "why": why(is_owner, lambda: shared.page.now(), lambda: generations.redactor),
    }
    post_actions = PostActions(post_actions_of_packages({ROTATE: rotate}))
    return Commands(handlers, lookups, added, problems), post_actions
