"""Looks at what packs watch, and files a job wherever a pack is in use when it has changed.

Nothing changed costs no token. What was seen and the jobs of a change are one transaction. A
watch that fails looks less and less often, and after `FAILURES` in a row no more until the bot
starts again, settings or packs are loaded anew, or the watch is another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
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
    def lane(self) -> Lane:
        return Lane(f"{ORIGIN}:{trigger_of(self.manifest.name, self.watch.id)}")


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

    async def run(self) -> None:
        """Look, for ever."""
        looking, library = None, None
        while True:
            if looking is not self._looking() or library is not self._library():
                looking, library = self._looking(), self._library()
                await self._database.transact(watches.forgive)
            wait_s = await self._look_around() if self._enabled() else self._longest_s()
            await self._clock.sleep(max(0.0, min(wait_s, self._longest_s())))

    async def _look_around(self) -> float:
        """Let look what is due; return the seconds until the next one is."""
        packs = [pack for pack in self._library().packs.values() if pack.manifest.watches]
        packs = [pack for pack in packs if pack.manifest.permissions.cron]
        if not packs and not self._looked:
            return self._longest_s()
        self._looked = bool(packs)
        known = await self._database.read(watches.states)
        wanted = [one for pack in packs for one in self._of_pack(pack.manifest, known)]
        if known.keys() - (keys := {one.state.key for one in wanted}):
            await self._database.transact(lambda tx: watches.keep_only(tx, keys))
        now, free = iso(self._clock.now()), asyncio.Semaphore(AT_ONCE)

        async def look(one: _Wanted) -> None:
            async with free:
                await self._look(one)

        active = [one for one in wanted if one.state.failures < FAILURES]
        due = [one for one in active if one.state.next_look <= now]
        async with asyncio.TaskGroup() as group:
            for one in due:
                group.create_task(look(one))
        later = [one.state.next_look for one in active if one not in due]
        if due or not later:  # those that looked have another time now
            return 0.0 if due else self._longest_s()
        return (datetime.fromisoformat(min(later)) - self._clock.now()).total_seconds()

    def _of_pack(self, manifest: Manifest, known: dict[WatchKey, WatchState]) -> Iterator[_Wanted]:
        for watch in manifest.watches:
            for tenant in self._tenants(manifest, watch):
                key, source = WatchKey(manifest.name, watch.id, tenant), source_of(watch)
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
        places = await self._database.read(lambda tx: self._places(tx, one))
        busy = await self._database.read(lambda tx: jobs.any_open(tx, one.lane))
        if busy or not places:
            await self._note(replace(one.state, next_look=self._after(one.every)))
            return
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
        after = replace(one.state, next_look=self._after(one.every), failures=0, why="")
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
            return [self._run_of(one, seen, place, iso(now)) for place in self._places(tx, one)]

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
        await self._note(
            replace(one.state, next_look=self._after(pause), failures=failures, why=why)
        )

    async def _note(self, state: WatchState) -> None:
        await self._database.transact(lambda tx: watches.put(tx, state))

    def _after(self, pause: timedelta) -> str:
        return iso(self._clock.now() + pause)

    def _places(self, tx: Tx, one: _Wanted) -> list[Inbound]:
        """Return where a change is told, each as an inbound without content of its own: the
        conversations that the pack is bound to, and of one tenant's data only that tenant's."""
        tenant, found = one.state.key.tenant, list[Inbound]()
        for address, kind in routes.bound_to(tx, one.manifest.name):
            person = self._person_in(address, private=kind == "private")
            content = Triggered(trigger_of(one.manifest.name, one.watch.id), "", "")
            place = Inbound(address, Person(person), content, kind, origin=ORIGIN)
            if person and (not tenant or tenant_of(tx, place) == tenant):
                found.append(place)
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
    del job, now
    if turns.effects(tx, end.turn_id):
        watches.forget_seen(tx, *asked.trigger.split(":", 1))
    is_silent = end.status == "done" and not end.spoke and end.text.strip() in ("", SILENT)
    if is_silent or end.status == "stopped":
        return None
    return report_of(asked, end)
