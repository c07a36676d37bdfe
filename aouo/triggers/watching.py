"""Looks at what packs watch, and files a job wherever a pack is in use when it has changed.

Nothing changed costs no token. What was seen and the jobs of a change are one transaction. A
watch that fails looks less and less often, and after `FAILURES` in a row no more until the bot
starts again, settings or packs are loaded anew, or the watch is another one.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

import structlog

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Inbound, Person, Report, Triggered
from aouo.facts.ports import Clock, iso
from aouo.facts.spans import span_s
from aouo.facts.work import Job
from aouo.packs.format.manifest import Manifest, Watch
from aouo.packs.library import Library
from aouo.plumbing.first import first
from aouo.store import jobs, routes, turns, watches
from aouo.store.database import Database, Tx
from aouo.store.tenants import tenant_of
from aouo.store.watches import WatchKey, WatchState
from aouo.triggers.looking import Looking, Seen, change_line, source_of
from aouo.triggers.runs import SILENT, RunEnd, report_of
from aouo.triggers.ticking import Due

log = structlog.get_logger()
ORIGIN = "watch"
FAILURES = 5
AT_ONCE = 4
_LONGEST = timedelta(days=1)
_WHO = (
    "[a watch of the app runs this by itself; nobody is there to answer questions. Your answer "
    f"goes to the person. If there is nothing to tell them, answer {SILENT} and nothing else]"
)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One watch at one tenant's data, and what it saw last."""

    manifest: Manifest
    watch: Watch
    state: WatchState

    @property
    def every(self) -> timedelta:
        return timedelta(seconds=span_s(self.watch.every))

    @property
    def trigger(self) -> str:
        return trigger_of(self.manifest.name, self.watch.id)

    @property
    def lane(self) -> Lane:
        return Lane(f"{ORIGIN}:{self.trigger}")


class Watching:
    """Lets every watch look when it is time; `trigger` is `Inbox.trigger`.

    `databases_of` gives a pack's database files; `owner` is the id in whose name a change is told
    in groups, "" = there is none; `listed` says who may talk to the bot. `gave_up` is told the
    pack, the watch and why it is off.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        trigger: Callable[[Due], Awaitable[int]],
        looking: Callable[[], Looking],
        library: Callable[[], Library],
        databases_of: Callable[[str], list[Path]],
        enabled: Callable[[], bool],
        longest_s: Callable[[], float],
        owner: Callable[[], str],
        listed: Callable[[str], bool],
        gave_up: Callable[[str, str, str], Awaitable[None]],
    ) -> None:
        self._database = database
        self._clock = clock
        self._trigger = trigger
        self._looking = looking
        self._library = library
        self._databases_of = databases_of
        self._enabled = enabled
        self._longest_s = longest_s
        self._owner = owner
        self._listed = listed
        self._gave_up = gave_up
        self._looked = True  # a pack may have gone while nothing ran
        self._at_work: set[str] = set()
        self._over = asyncio.Event()
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Look, for ever."""
        looking, library = None, None
        async with asyncio.TaskGroup() as looks:
            while True:
                self._over.clear()
                if looking is not self._looking() or library is not self._library():
                    looking, library = self._looking(), self._library()
                    await self._database.transact(watches.forgive)
                wait_s = await self._look_around(looks) if self._enabled() else self._longest_s()
                wait_s = max(0.0, min(wait_s, self._longest_s()))
                await first(self._clock.sleep(wait_s), self._until_over())

    async def _until_over(self) -> None:
        await self._over.wait()

    async def _look_around(self, looks: asyncio.TaskGroup) -> float:
        """Let look what is due, each watch apart; return the seconds until another one is."""
        packs = [pack for pack in self._library().packs.values() if pack.manifest.watches]
        packs = [pack for pack in packs if pack.manifest.permissions.cron]
        if not packs and not self._looked:
            return self._longest_s()
        self._looked = bool(packs)
        known = await self._database.read(watches.states)
        wanted = [one for pack in packs for one in self._of_pack(pack.manifest, known)]
        if known.keys() - (keys := {one.state.key for one in wanted}):
            await self._database.transact(lambda tx: watches.keep_only(tx, keys))
        now = self._clock.now()
        waiting = [
            one
            for one in wanted
            if one.state.failures < FAILURES and one.trigger not in self._at_work
        ]
        begin = {one.trigger for one in waiting if one.state.next_look <= iso(now)}
        due = [  # whoever would follow soon comes along, so that a thousand make no thousand rounds
            one
            for one in waiting
            if one.trigger in begin and one.state.next_look <= iso(now + one.every / 2)
        ]
        for trigger, ones in groupby(due, lambda one: one.trigger):  # as `wanted`, watch by watch
            self._at_work.add(trigger)
            looks.create_task(self._look_at(trigger, list(ones), now))
        later = [one.state.next_look for one in waiting if one.trigger not in begin]
        left = datetime.fromisoformat(min(later)) - self._clock.now() if later else _LONGEST
        return left.total_seconds()

    async def _look_at(self, trigger: str, due: Sequence[_Wanted], now: datetime) -> None:
        """Let one watch look at each tenant's data, unless a turn of it is open; other watches
        look in between. Its next looks count from `now`, so that they keep together."""
        begun = [
            replace(one, state=replace(one.state, next_look=iso(now + one.every))) for one in due
        ]

        def look(tx: Tx) -> Collection[str]:
            busy = jobs.any_open(tx, due[0].lane)
            return () if busy else self._places(tx, due[0]).keys()

        try:
            reached = await self._database.read(look)
            passed = [one.state for one in begun if one.state.key.tenant not in reached]
            await self._database.transact(lambda tx: [watches.put(tx, one) for one in passed])
            for one in begun:
                if one.state.key.tenant in reached:
                    async with self._free:
                        await self._look(one)
        finally:
            self._at_work.discard(trigger)
            self._looked = True  # what it notes may be of a pack that has gone meanwhile
            self._over.set()

    def _of_pack(self, manifest: Manifest, known: dict[WatchKey, WatchState]) -> Iterator[_Wanted]:
        for watch in manifest.watches:
            source = source_of(watch)
            for tenant in self._tenants(manifest, watch):
                key = WatchKey(manifest.name, watch.id, tenant)
                state = known.get(key)
                if state is None or state.source != source:
                    state = WatchState(key, source)
                yield _Wanted(manifest, watch, state)

    def _tenants(self, manifest: Manifest, watch: Watch) -> list[str]:
        """Return whose data a watch looks at: nobody's as long as there is none."""
        if not watch.sql:
            return [""]
        shared = manifest.schema.scope == "shared"
        files = self._databases_of(manifest.name)
        if shared:
            return [""] if any(file.stem == manifest.name for file in files) else []
        return [file.stem for file in files if file.parent.name == manifest.name]

    async def _look(self, one: _Wanted) -> None:
        try:
            seen = await self._looking().look(
                one.manifest, one.watch, one.state.key.tenant, one.state.validator
            )
        except ToolFailed as error:
            await self._failed(one, str(error))
            return
        except Exception as error:  # what a stranger's pack names must end nothing else
            log.exception("watch_broke", pack=one.manifest.name, watch=one.watch.id)
            await self._failed(one, repr(error))
            return
        after = replace(one.state, failures=0, why="")
        if seen is None:
            await self._note(after)
            return
        after = replace(after, digest=seen.digest, seen=seen.text, validator=seen.validator)
        if one.state.digest in ("", seen.digest):
            await self._note(after)
        else:
            await self._changed(one, seen, after)

    async def _changed(self, one: _Wanted, seen: Seen, after: WatchState) -> None:
        def due(tx: Tx, now: datetime) -> list[Inbound]:
            watches.put(tx, after)
            places = self._places(tx, one).get(one.state.key.tenant, ())
            return [self._run_of(one, seen, place, iso(now)) for place in places]

        begun = await self._trigger(due)
        log.info("watch_changed", pack=one.manifest.name, watch=one.watch.id, begun=begun)

    async def _failed(self, one: _Wanted, why: str) -> None:
        """Look less often from now on, and after too many failures no more."""
        failures = one.state.failures + 1
        log.warning(
            "watch_failed",
            pack=one.manifest.name,
            watch=one.watch.id,
            tenant=one.state.key.tenant,
            failures=failures,
            why=why,
        )
        if failures == FAILURES:
            await self._gave_up(one.manifest.name, one.watch.id, why)
        pause = min(one.every * 2**failures, max(one.every, _LONGEST))
        next_look = iso(self._clock.now() + pause)
        await self._note(replace(one.state, next_look=next_look, failures=failures, why=why))

    async def _note(self, state: WatchState) -> None:
        await self._database.transact(lambda tx: watches.put(tx, state))

    def _places(self, tx: Tx, one: _Wanted) -> Mapping[str, list[Inbound]]:
        """Return where a change of each tenant's data is told, "" = of everybody's: the
        conversations that the pack is bound to, each as an inbound without content of its own."""
        apart, found = bool(one.state.key.tenant), defaultdict[str, list[Inbound]](list)
        for address, kind in routes.bound_to(tx, one.manifest.name):
            person = self._person_in(address, private=kind == "private")
            content = Triggered(trigger_of(one.manifest.name, one.watch.id), "", "")
            place = Inbound(address, Person(person), content, kind, origin=ORIGIN)
            if person:
                found[tenant_of(tx, place) if apart else ""].append(place)
        return found

    def _person_in(self, address: ConversationAddress, *, private: bool) -> str:
        """Return in whose name it is told there, "" = in nobody's: it is not told."""
        if address.platform == "cli":
            return "owner"
        person = address.chat_id if private else self._owner()
        return person if self._listed(person) else ""

    def _run_of(self, one: _Wanted, seen: Seen, place: Inbound, due_at: str) -> Inbound:
        watch, pack = one.watch, one.manifest.name
        skill = f"{pack}:{watch.skill.removeprefix(f'{pack}:')}" if watch.skill else ""
        content = Triggered(
            trigger=trigger_of(pack, watch.id),
            name=watch.id.replace("-", " ").replace("_", " "),
            prompt=watch.prompt or f"[use the skill {watch.skill}]",
            pack=pack,
            skill=skill,
            due_at=due_at,
            about=(_WHO, change_line(watch, one.state.seen, seen.text)),
        )
        return replace(place, content=content)


def trigger_of(pack: str, watch: str) -> str:
    """Return the id of a watch, once in this home."""
    return f"{pack}:{watch}"


def settle_watch(tx: Tx, job: Job, asked: Triggered, end: RunEnd, now: str) -> Report | None:
    """Settle the turn of a change: silence is told to nobody, nor is that a person stopped it.

    A turn that changed something itself may have changed what is looked at, and would begin the
    next one, without end: then what is seen next is no change.
    """
    del now
    if turns.effects(tx, end.turn_id):
        pack, watch = asked.trigger.split(":", 1)
        watches.forget_seen(tx, pack, watch, tenant_of(tx, job.inbound))
    is_silent = end.status == "done" and not end.spoke and end.text.strip() in ("", SILENT)
    if is_silent or end.status == "stopped":
        return None
    return report_of(asked, end)
