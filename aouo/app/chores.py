"""Joins what runs in the background by itself: what it begins, keeps in order, and tidies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from aouo.app.tools import Shared
from aouo.facts.events import Inbound, Origin
from aouo.facts.ports import NO_MODEL
from aouo.facts.schedule import ZoneOf
from aouo.flow.attention import Digests
from aouo.flow.chores.indexing import Titles, keep_indexed
from aouo.flow.chores.known_models import KnownModels
from aouo.flow.chores.retention import Tidying, end_what_is_theirs, keep_copies
from aouo.flow.chores.subscribers import serve, subscribers_of_packages
from aouo.flow.generations import Generations, WakingClock
from aouo.flow.handlers.obeying import WaitingNotice
from aouo.installer.unfinished import Takeover, Taking
from aouo.outbound.outbox import Outbox, OwnerNotices
from aouo.packs.databases import databases_of
from aouo.plumbing.clock import watch
from aouo.plumbing.parts import Work
from aouo.queue.inbox import Inbox
from aouo.queue.running import Running
from aouo.schedules.heartbeat import Heartbeat
from aouo.schedules.journaling import Consolidating, Journaling
from aouo.schedules.service import Schedules
from aouo.schedules.ticking import Ticking
from aouo.schedules.watching import FAILURES, Watching
from aouo.store import usage, watches
from aouo.store.database import Tx
from aouo.words.catalogue import text
from aouo.words.schedules import watch_fails


@dataclass(frozen=True, slots=True)
class _Chores:
    """`works` run for as long as the process, by name; the others are what somebody asks."""

    works: dict[str, Work]
    titles: Titles
    tidying: Tidying
    heartbeat: Heartbeat


def chores_of(
    shared: Shared,
    generations: Generations,
    *,
    inbox: Inbox,
    outbox: Outbox,
    owner_notices: OwnerNotices,
    known_models: KnownModels,
    waiting_notice: WaitingNotice,
    zone_of: ZoneOf,
    schedules: Schedules,
) -> _Chores:
    """Join them. What fails is run again, and ends nothing: see `plumbing.parts`."""
    database, clock, telegram = shared.database, shared.clock, shared.telegram
    titles = Titles(database=database, clock=clock, bus=shared.bus, generations=generations)
    tidying = Tidying(
        database=database,
        clock=clock,
        folder=shared.home.media,
        days=lambda: generations.now.retention,
    )
    heartbeat = _heartbeat(shared, generations, inbox, owner_notices, zone_of)
    works: dict[str, Work] = {
        "waiting_notice": waiting_notice.run,
        "storage": owner_notices.tell_of_trouble,
        "copy": partial(keep_copies, database, clock, owner_notices),
        "retention": tidying.run,
        "titles": titles.run,
        "index": partial(keep_indexed, database, clock, shared.bus),
        "known_models": known_models.run,
        "subscribers": partial(serve, shared.bus, subscribers_of_packages()),
        "schedules": Ticking(
            database=database,
            clock=WakingClock(clock, generations),
            trigger=inbox.trigger,
            schedules=schedules,
            longest_s=_longest_s(generations),
            language=shared.languages.of_id,
        ).run,
        "generations": generations.run,
        "heartbeat": heartbeat.run,
        **_watches(shared, generations, inbox, outbox, owner_notices, zone_of),
        **_notes(shared, generations, inbox),
    }
    if telegram:
        works["waking"] = partial(watch, clock, telegram.ask_anew)
    return _Chores(works, titles, tidying, heartbeat)


def _longest_s(generations: Generations) -> Callable[[], float]:
    return lambda: generations.now.cron.tick_seconds


def _heartbeat(
    shared: Shared,
    generations: Generations,
    inbox: Inbox,
    owner_notices: OwnerNotices,
    zone_of: ZoneOf,
) -> Heartbeat:
    async def capped(most: int) -> None:
        await owner_notices.tell(partial(text, "unasked.heartbeat-capped", tokens=most))

    return Heartbeat(
        database=shared.database,
        clock=WakingClock(shared.clock, generations),
        trigger=inbox.trigger,
        file=shared.home.heartbeat,
        settings=lambda: generations.now.heartbeat,
        zone=partial(zone_of, ""),
        owner=lambda: generations.now.owner,
        telegram=shared.telegram is not None,
        longest_s=_longest_s(generations),
        capped=capped,
    )


def _watches(
    shared: Shared,
    generations: Generations,
    inbox: Inbox,
    outbox: Outbox,
    owner_notices: OwnerNotices,
    zone_of: ZoneOf,
) -> dict[str, Work]:
    """What packs watch, and the digests of what was held back."""

    def listed(person: str) -> bool:
        now = generations.now
        return now.admission.lists(person, now.owner.id)

    async def gave_up(pack: str, watch: str, why: str) -> None:
        await owner_notices.tell(partial(watch_fails, pack, watch, FAILURES, why, is_off=True))

    watching = Watching(
        database=shared.database,
        clock=WakingClock(shared.clock, generations),
        trigger=inbox.trigger,
        looking=lambda: generations.now.looking,
        library=lambda: generations.library,
        databases_of=partial(databases_of, shared.home),
        enabled=lambda: generations.now.cron.enabled,
        longest_s=_longest_s(generations),
        owner=lambda: generations.now.owner.id,
        listed=listed,
        gave_up=gave_up,
    )
    digests = Digests(
        database=shared.database,
        clock=WakingClock(shared.clock, generations),
        outbox=outbox,
        rules=lambda: generations.now.attention,
        zone=partial(zone_of, ""),
        listed=listed,
        longest_s=_longest_s(generations),
        language=shared.languages.of_id,
    )
    return {"watches": watching.run, "digests": digests.run}


def _notes(shared: Shared, generations: Generations, inbox: Inbox) -> dict[str, Work]:
    """The journal of what was said, and its consolidation into memory."""

    def may(pack: str, inbound: Inbound) -> bool:
        now, found = generations.now, generations.library.get(pack)
        if now.model.provider == NO_MODEL or (pack and not found):
            return False
        person, platform = inbound.person.id, inbound.address.platform
        listed = platform != "tg" or now.admission.lists(person, now.owner.id)
        return listed and (not found or found.manifest.context.memory_policy == "full")

    def left(origin: Origin, tx: Tx) -> int:
        cap = generations.now.memory.daily_tokens_max
        return usage.left_of_origin(tx, generations.now.quota.day(), origin, cap)

    journaling = Journaling(
        database=shared.database,
        clock=WakingClock(shared.clock, generations),
        trigger=inbox.trigger,
        may=may,
        left=partial(left, "journal"),
        enabled=lambda: generations.now.memory.journal,
        owner=lambda: generations.now.owner.id,
    )
    consolidating = Consolidating(
        database=shared.database,
        clock=WakingClock(shared.clock, generations),
        trigger=inbox.trigger,
        keeping=shared.keeping,
        may=may,
        left=partial(left, "consolidate"),
        enabled=lambda: generations.now.memory.consolidate.enabled,
        every_s=lambda: generations.now.memory.consolidate.every_s,
    )
    return {"journal": journaling.run, "consolidation": consolidating.run}


def failing_watches(tx: Tx) -> list[str]:
    """Return a sentence for the owner about each watch that failed the last time."""
    return [
        watch_fails(
            one.key.pack, one.key.id, one.failures, one.why, is_off=one.failures >= FAILURES
        )
        for one in watches.failing(tx)
    ]


async def end_others(
    shared: Shared, generations: Generations, running: Running, taking: Taking | None = None
) -> None:
    """End what is of people who are not let in; `taking` as in `end_what_is_theirs`."""
    now, media = generations.now, shared.home.media
    listed = now.admission.everybody(now.owner.id)
    taking = taking or Takeover().of
    await end_what_is_theirs(shared.database, shared.clock, media, listed, running, taking)
