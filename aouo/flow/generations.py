"""Holds the generation that new turns begin with, and knows which turns use which pack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager

import structlog

from aouo.facts.errors import RouteRequiredError
from aouo.flow.generation import Generation
from aouo.packs.library import Library
from aouo.plumbing.current import Current

log = structlog.get_logger()
PATIENCE_S = 30.0
"""How long a change of a pack lets its turns finish by themselves."""

GiveBack = Callable[[Collection[int], bool], None]
"""Lets the turns of these jobs be taken up anew; True: only those that wait on a person."""


class Generations:
    """The generation that new turns begin with; running ones keep theirs.

    A turn holds its pack while it runs. Whoever changes a pack waits until nobody holds it, and
    new turns with it wait until the change is over; no other pack notices. `give_back` is told
    the jobs whose turns would hold a change up for too long; `library` follows what is installed.
    """

    def __init__(self, first: Generation, library: Current[Library], give_back: GiveBack) -> None:
        self._now = first
        self._library = library
        self._library.now = first.library
        self._give_back = give_back
        self._jobs: dict[str, list[int]] = {}
        self._idle: dict[str, asyncio.Event] = {}
        self._changing: dict[str, asyncio.Event] = {}

    @property
    def now(self) -> Generation:
        return self._now

    @property
    def library(self) -> Library:
        return self._now.library

    @property
    def changing(self) -> frozenset[str]:
        """The packs that somebody changes, or waits to change."""
        return frozenset(self._changing)

    def swap(self, generation: Generation) -> None:
        """From now on new turns begin with `generation`."""
        self._now = generation
        self._library.now = generation.library
        log.info("generation_swapped", packs=list(generation.library.names))

    @asynccontextmanager
    async def turn(self, pack: str, job_id: int) -> AsyncGenerator[Generation]:
        """Hold a pack, "" = none, for the turn of a job.

        Raises:
            RouteRequiredError: the pack went while this waited.
        """
        while change := self._changing.get(pack):
            await change.wait()
        if pack and self.library.get(pack) is None:
            raise RouteRequiredError(self.library.names, pack)
        jobs = self._jobs.setdefault(pack, [])
        jobs.append(job_id)
        try:
            yield self._now
        finally:
            jobs.remove(job_id)
            if not jobs and (idle := self._idle.get(pack)):
                idle.set()

    @asynccontextmanager
    async def change(self, pack: str) -> AsyncGenerator[None]:
        """Have a pack for oneself: its turns have ended or are given back, new ones wait."""
        while change := self._changing.get(pack):
            await change.wait()
        over = self._changing[pack] = asyncio.Event()
        try:
            await self._quiet(pack)
            yield
        finally:
            del self._changing[pack]
            over.set()

    async def _quiet(self, pack: str) -> None:
        jobs = self._jobs.get(pack)
        if not jobs:
            return
        idle = self._idle[pack] = asyncio.Event()
        self._give_back(jobs, True)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await idle.wait()
        except TimeoutError:
            self._give_back(jobs, False)
            await idle.wait()
        finally:
            del self._idle[pack]
