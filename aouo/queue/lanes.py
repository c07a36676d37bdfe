"""Lanes: one job at a time within a conversation, many conversations at once.

A lane is only a name here; its jobs are rows, and the claim hands out the oldest. So order
survives a restart, and there is no second list that could disagree with the table.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext

from aouo.facts.address import Lane
from aouo.facts.work import Job
from aouo.plumbing.shield import finish


class Slot:
    """One of the limited places for running jobs; given back while its job waits on a person."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free

    @asynccontextmanager
    async def parked(self) -> AsyncGenerator[None]:
        """Wait without holding a place; on the way out the place is taken again."""
        self._free.release()
        try:
            yield
        finally:
            # Even a cancelled job owes the place back, or the limit would grow.
            await finish(self._free.acquire())


class Lanes:
    """Runs jobs, lane by lane; a lane that bypasses the others needs no place.

    Owns every task it starts: when `run` returns or raises, none is left. `handle` deals with
    its own failures; one that escapes stops the runtime.
    """

    def __init__(
        self,
        *,
        claim: Callable[[Lane], Awaitable[Job | None]],
        handle: Callable[[Job, Slot], Awaitable[None]],
        concurrency: int,
    ) -> None:
        self._claim = claim
        self._handle = handle
        self._free = asyncio.Semaphore(concurrency)
        self._awake: set[Lane] = set()
        self._draining: dict[Lane, asyncio.Task[None]] = {}
        self._behind: dict[Lane, Lane] = {}
        self._woken = asyncio.Event()
        self._closed = False

    def wake(self, lane: Lane) -> None:
        """There may be something ready in `lane`."""
        self._awake.add(lane)
        self._woken.set()

    def move(self, old: Lane, new: Lane) -> None:
        """The jobs of `old` are in `new` now, which goes on behind the one at work in `old`."""
        if old in self._draining:
            self._behind[old] = new
        self.wake(new)

    def close(self) -> None:
        """Begin no more jobs; `run` returns when the running ones are done."""
        self._closed = True
        self._woken.set()

    @property
    def running(self) -> int:
        return len(self._draining)

    async def run(self) -> None:
        """Drain lanes as they wake, until closed. Cancelling it cancels the running jobs."""
        async with asyncio.TaskGroup() as group:
            while not self._closed:
                await self._woken.wait()
                self._woken.clear()
                for lane in self._awake - self._draining.keys():
                    self._awake.discard(lane)
                    self._draining[lane] = group.create_task(self._drain(lane), name=f"lane {lane}")

    async def _drain(self, lane: Lane) -> None:
        try:
            while not self._closed:
                async with nullcontext() if lane.bypasses else self._free:
                    if (job := await self._claim(lane)) is None:
                        return
                    await self._handle(job, Slot(self._free))
        finally:
            del self._draining[lane]
            if new := self._behind.pop(lane, None):
                self.wake(new)
            if self._awake:
                self._woken.set()
