"""Holds the generation that new turns begin with; knows which turns use which, and which pack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from datetime import datetime

import structlog

from aouo.facts.errors import RouteRequiredError
from aouo.facts.ports import Clock
from aouo.flow.generation import Generation
from aouo.packs.library import Library
from aouo.plumbing.current import Current
from aouo.plumbing.first import first
from aouo.plumbing.logs import Adopt
from aouo.plumbing.redact import Redactor
from aouo.plumbing.resources import Holder
from aouo.plumbing.shield import finish

log = structlog.get_logger()
PATIENCE_S = 30.0
"""How long a change of a pack lets its turns finish by themselves."""

GiveBack = Callable[[Collection[int], bool], None]
"""Lets the turns of these jobs be taken up anew; True: only those that wait on a person."""


class _Users:
    """The jobs that use something, and whether somebody waits until none does."""

    def __init__(self) -> None:
        self.jobs: list[int] = []
        self._none = asyncio.Event()
        self._none.set()

    def add(self, job_id: int) -> None:
        self.jobs.append(job_id)
        self._none.clear()

    def remove(self, job_id: int) -> None:
        self.jobs.remove(job_id)
        if not self.jobs:
            self._none.set()

    async def end(self, patience_s: float | None = None) -> bool:
        """Wait until nobody uses it; False = after `patience_s`, None = for ever, somebody does."""
        try:
            async with asyncio.timeout(patience_s):
                await self._none.wait()
        except TimeoutError:
            return False
        return True


class Generations:
    """The generation that new turns begin with; running ones keep theirs.

    A turn holds its pack while it runs. Whoever changes a pack waits until nobody holds it, and
    new turns with it wait until the change is over; no other pack notices. `give_back` is told
    the jobs whose turns would hold a change up for too long. `library` and `timezone` follow the
    generation of now, and so does the process log, by `adopt`.

    A turn holds its generation, too. Once another took its place, the last of its turns closes
    what it held open; no turn and no swap ever waits for that.
    """

    def __init__(
        self,
        first: Generation,
        *,
        library: Current[Library],
        timezone: Current[str],
        adopt: Adopt,
        give_back: GiveBack,
    ) -> None:
        self._now = first
        self._library = library
        self._timezone = timezone
        self._adopt = adopt
        self._give_back = give_back
        self._pack_users: dict[str, _Users] = {}
        self._changing: dict[str, asyncio.Event] = {}
        self._users: dict[Holder, _Users] = {first.held: _Users()}
        self._redactors: dict[Holder, Redactor] = {first.held: first.redactor}
        self._former: asyncio.Queue[Generation] = asyncio.Queue()
        self._swapped = asyncio.Event()
        self._follow()

    @property
    def now(self) -> Generation:
        return self._now

    @property
    def library(self) -> Library:
        return self._now.library

    @property
    def redactor(self) -> Redactor:
        """Hides the secrets of every generation that somebody still uses."""
        return self._redactor

    @property
    def changing(self) -> frozenset[str]:
        """The packs that somebody changes, or waits to change."""
        return frozenset(self._changing)

    def swap(self, generation: Generation) -> None:
        """From now on new turns begin with `generation`."""
        before, self._now = self._now, generation
        self._users.setdefault(generation.held, _Users())
        self._redactors[generation.held] = generation.redactor
        self._follow()
        if before.held is not generation.held:
            self._former.put_nowait(before)
        self._swapped.set()
        self._swapped = asyncio.Event()
        log.info("generation_swapped", packs=list(generation.library.names))

    async def after(self, generation: Generation) -> Generation:
        """Return the generation of now, once it is another than this."""
        while self._now is generation:
            await self._swapped.wait()
        return self._now

    async def run(self) -> None:
        """Close for ever what former generations held open, each when its last turn has ended."""
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(self._end(await self._former.get()), name="former generation")

    @asynccontextmanager
    async def using(self, job_id: int = 0) -> AsyncGenerator[Generation]:
        """Hold the generation of now while the block runs; `job_id` 0 = for no job."""
        generation = self._now
        users = self._users[generation.held]
        users.add(job_id)
        try:
            yield generation
        finally:
            users.remove(job_id)

    @asynccontextmanager
    async def turn(self, pack: str, job_id: int) -> AsyncGenerator[Generation]:
        """Hold a pack, "" = none, for the turn of a job, and the generation of now.

        Raises:
            RouteRequiredError: the pack went while this waited.
        """
        while change := self._changing.get(pack):
            await change.wait()
        if pack and self.library.get(pack) is None:
            raise RouteRequiredError(self.library.names, pack)
        users = self._pack_users.setdefault(pack, _Users())
        users.add(job_id)
        try:
            async with self.using(job_id) as generation:
                yield generation
        finally:
            users.remove(job_id)

    @asynccontextmanager
    async def change(self, pack: str) -> AsyncGenerator[None]:
        """Have a pack for oneself: its turns have ended or are given back, new ones wait."""
        while change := self._changing.get(pack):
            await change.wait()
        over = self._changing[pack] = asyncio.Event()
        try:
            if users := self._pack_users.get(pack):
                self._give_back(users.jobs, True)
                if not await users.end(PATIENCE_S):
                    self._give_back(users.jobs, False)
                    await users.end()
            yield
        finally:
            del self._changing[pack]
            over.set()

    async def _end(self, former: Generation) -> None:
        """Close what it held, once its last turn has ended.

        A turn that works ends by its own limit, which may be longer than that of the settings. One
        that waits on a person has none: it is given back, and goes on with the generation of then.
        """
        users = self._users[former.held]
        while not await users.end(former.advanced.turn_timeout_s):
            self._give_back(users.jobs, True)
        await finish(former.held.aclose())
        del self._users[former.held], self._redactors[former.held]
        self._follow()
        log.info("generation_ended")

    def _follow(self) -> None:
        """Let what stands around turns go by the generation of now."""
        now = self._now
        self._library.now = now.library
        self._timezone.now = now.cron.timezone
        self._redactor = now.redactor
        for former in self._redactors.values():
            self._redactor |= former
        self._adopt(now.log_level, self._redactor)


class WakingClock:
    """A clock for one thing that runs for ever by the settings: who sleeps by it wakes early, once,
    when another generation has come since they last slept."""

    def __init__(self, clock: Clock, generations: Generations) -> None:
        self._clock = clock
        self._generations = generations
        self._seen = generations.now

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    async def sleep(self, seconds: float) -> None:
        if self._generations.now is self._seen:
            await first(self._clock.sleep(seconds), self._generations.after(self._seen))
        self._seen = self._generations.now
