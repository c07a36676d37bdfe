"""Looks at what packs watch, and files a job wherever a pack is in use when it has changed.

Nothing changed costs no token. What was seen and the jobs of a change are one transaction. A
watch that fails looks less and less often, and after `FAILURES` in a row no more until the bot
starts again, settings or packs are loaded anew, or the watch is another one.
"""

from __future__ import annotations

import asyncio
from asyncio import Semaphore
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Inbound, Person, Triggered
from aouo.facts.people import AT_HOME
from aouo.facts.ports import Clock, iso
from aouo.packs.format.manifest import Manifest, Watch
from aouo.packs.library import Library
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import first
from aouo.schedules.ticking import Due
from aouo.schedules.watched import ORIGIN, Looking, Seen, Wanted, source_of
from aouo.store import jobs, routes, watches
from aouo.store.chats import tenant_of
from aouo.store.database import Database, Tx
from aouo.store.watches import WatchKey, WatchState

FAILURES = 5
_AT_ONCE = 4


_By: TypeAlias = tuple[Looking, Library]
"""The settings and packs that a look begins with. If they are others when it ends it counts for
nothing, and what it was at is still due."""


@dataclass(slots=True, eq=False)
class Watching:
    """Lets every watch look when it is time; `trigger` is `Inbox.trigger`.

    `databases_of` gives a pack's database files; `owner` is the id in whose name a change is told
    in groups, "" = there is none; `listed` says who may talk to the bot. `gave_up` is told the
    pack, the watch and why it is off.
    """

    database: Database
    clock: Clock
    trigger: Callable[[Due], Awaitable[int]]
    looking: Callable[[], Looking]
    library: Callable[[], Library]
    databases_of: Callable[[str], list[Path]]
    enabled: Callable[[], bool]
    longest_s: Callable[[], float]
    owner: Callable[[], str]
    listed: Callable[[str], bool]
    gave_up: Callable[[str, str, str], Awaitable[None]]
    _looked: bool = field(default=True, init=False)  # a pack may have gone while nothing ran
    _at_work: set[str] = field(default_factory=set[str], init=False)
    _over: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _free: Semaphore = field(default_factory=lambda: Semaphore(_AT_ONCE), init=False)

    async def run(self) -> None:
        """Look, for ever."""
        by: _By | None = None
        async with asyncio.TaskGroup() as looks:
            while True:
                self._over.clear()
                if by is None or not self._is_now(by):
                    by = self.looking(), self.library()
                    await self.database.transact(watches.forgive)
                enabled = self.enabled()
                wait_s = await self._look_around(looks, by) if enabled else self.longest_s()
                wait_s = max(0.0, min(wait_s, self.longest_s()))
                await first(self.clock.sleep(wait_s), self._until_over())

    def _is_now(self, by: _By) -> bool:
        return by[0] is self.looking() and by[1] is self.library()

    async def _until_over(self) -> None:
        await self._over.wait()

    async def _look_around(self, looks: asyncio.TaskGroup, by: _By) -> float:
        """Let look what is due, each watch apart; return the seconds until another one is."""
        packs = [pack for pack in by[1].packs.values() if pack.manifest.watches]
        packs = [pack for pack in packs if pack.manifest.permissions.cron]
        if not packs and not self._looked:
            return self.longest_s()
        self._looked = bool(packs)
        known = await self.database.read(watches.states)
        wanted = [one for pack in packs for one in self._of_pack(pack.manifest, known)]
        if known.keys() - (keys := {one.state.key for one in wanted}):
            await self.database.transact(lambda tx: watches.keep_only(tx, keys))
        now = self.clock.now()
        waiting = [
            one
            for one in wanted
            if one.state.failures < FAILURES and one.trigger not in self._at_work
        ]
        begin = {one.trigger for one in waiting if one.is_due(now, now)}
        due = [  # whoever would follow soon comes along, so that a thousand make no thousand rounds
            one for one in waiting if one.trigger in begin and one.is_due(now, now + one.every / 2)
        ]
        for trigger, ones in groupby(due, lambda one: one.trigger):  # as `wanted`, watch by watch
            self._at_work.add(trigger)
            looks.create_task(self._look_at(trigger, list(ones), now, by))
        later = [one.state.next_look for one in waiting if one.trigger not in begin]
        if not later:
            return self.longest_s()
        return (datetime.fromisoformat(min(later)) - self.clock.now()).total_seconds()

    async def _look_at(self, trigger: str, due: Sequence[Wanted], now: datetime, by: _By) -> None:
        """Let one watch look at each tenant's data, unless a turn of it is open; other watches
        look in between. Its next looks count from `now`, so that they keep together."""

        def as_stored(tx: Tx, ones: Sequence[Wanted]) -> list[Wanted]:
            stored = watches.states_of(tx, due[0].manifest.name, due[0].watch.id)
            found = [one.as_stored(stored.get(one.state.key)) for one in ones]
            return [one.until(now + one.every) for one in found]

        def begin(tx: Tx) -> tuple[list[Wanted], Collection[str]]:
            busy = jobs.any_open(tx, due[0].lane)
            return as_stored(tx, due), () if busy else self._places(tx, due[0]).keys()

        def put_off(tx: Tx, ones: Sequence[Wanted]) -> None:
            for one in as_stored(tx, ones):
                watches.put(tx, one.state)

        try:
            begun, reached = await self.database.read(begin)
            if passed := [one for one in begun if one.state.key.tenant not in reached]:
                await self.database.transact(lambda tx: put_off(tx, passed))
            for one in begun:
                if one.state.key.tenant in reached:
                    async with self._free:
                        await self._look(one, by)
        finally:
            self._at_work.discard(trigger)
            self._looked = True  # what it notes may be of a pack that has gone meanwhile
            self._over.set()

    def _of_pack(self, manifest: Manifest, known: dict[WatchKey, WatchState]) -> Iterator[Wanted]:
        for watch in manifest.watches:
            source = source_of(watch)
            for tenant in self._tenants(manifest, watch):
                key = WatchKey(manifest.name, watch.id, tenant)
                yield Wanted(manifest, watch, WatchState(key, source)).as_stored(known.get(key))

    def _tenants(self, manifest: Manifest, watch: Watch) -> list[str]:
        """Return whose data a watch looks at: nobody's as long as there is none."""
        if not watch.sql:
            return [""]
        shared = manifest.schema.scope == "shared"
        files = self.databases_of(manifest.name)
        if shared:
            return [""] if any(file.stem == manifest.name for file in files) else []
        return [file.stem for file in files if file.parent.name == manifest.name]

    async def _look(self, one: Wanted, by: _By) -> None:
        if not self._is_now(by):
            return
        try:
            seen = await by[0].look(
                one.manifest, one.watch, one.state.key.tenant, one.state.validator
            )
        except ToolFailed as error:
            await self._failed(one, by, str(error))
            return
        except Exception as error:  # what a stranger's pack names must end nothing else
            log.exception("watch_broke", pack=one.manifest.name, watch=one.watch.id)
            await self._failed(one, by, repr(error))
            return
        after = replace(one.state, failures=0, why="")
        if seen:
            after = replace(after, digest=seen.digest, seen=seen.text, validator=seen.validator)
        if seen and one.state.digest not in ("", seen.digest):
            await self._changed(one, by, seen, after)
        else:
            await self.database.transact(lambda tx: self._is_now(by) and watches.put(tx, after))

    async def _changed(self, one: Wanted, by: _By, seen: Seen, after: WatchState) -> None:
        def due(tx: Tx, now: datetime) -> list[Inbound]:
            if not self._is_now(by):
                return []
            watches.put(tx, after)
            places = self._places(tx, one).get(one.state.key.tenant, ())
            return [one.run_in(place, seen, iso(now)) for place in places]

        begun = await self.trigger(due)
        log.info("watch_changed", pack=one.manifest.name, watch=one.watch.id, begun=begun)

    async def _failed(self, one: Wanted, by: _By, why: str) -> None:
        """Look less often from now on, and after too many failures no more."""

        def note(tx: Tx) -> int:
            if not self._is_now(by):
                return 0
            stored = one.as_stored(watches.get(tx, one.state.key))
            failed = replace(stored.state, failures=stored.state.failures + 1, why=why)
            after = replace(stored, state=failed)
            watches.put(tx, after.until(self.clock.now() + after.pause).state)
            return failed.failures

        if not (failures := await self.database.transact(note)):
            return
        log.warning(
            "watch_failed",
            pack=one.manifest.name,
            watch=one.watch.id,
            tenant=one.state.key.tenant,
            failures=failures,
            why=why,
        )
        if failures == FAILURES:
            await self.gave_up(one.manifest.name, one.watch.id, why)

    def _places(self, tx: Tx, one: Wanted) -> Mapping[str, list[Inbound]]:
        """Return where a change of each tenant's data is told, "" = of everybody's: the
        conversations that the pack is bound to, each as an inbound without content of its own."""
        apart, found = bool(one.state.key.tenant), defaultdict[str, list[Inbound]](list)
        for address, kind in routes.bound_to(tx, one.manifest.name):
            person = self._person_in(address, private=kind == "private")
            content = Triggered(one.trigger, "", "")
            place = Inbound(address, Person(person), content, kind, origin=ORIGIN)
            if person:
                found[tenant_of(tx, place, one.manifest.name) if apart else ""].append(place)
        return found

    def _person_in(self, address: ConversationAddress, *, private: bool) -> str:
        """Return in whose name it is told there, "" = in nobody's: it is not told."""
        if address.platform == "cli":
            return AT_HOME
        if address.platform == "web":
            return self.owner() or AT_HOME
        person = address.chat_id if private else self.owner()
        return person if self.listed(person) else ""
