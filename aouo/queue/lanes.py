"""Runs jobs: one at a time within a lane, many lanes at once.

A lane is only a name here; its jobs are rows, and the claim hands out the oldest. So order
survives a restart, and there is no second list that could disagree with the table.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from functools import partial

from aouo.facts.address import Lane
from aouo.facts.origins import TRIGGERS
from aouo.facts.work import Job
from aouo.plumbing.shield import finish


class Places:
    """A semaphore whose size follows the settings: `count` is asked whenever a place is taken.

    First come, first served. A place more is given when one is freed.
    """

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def left(self) -> int:
        """How many places are free."""
        return self._count() - self._taken

    async def acquire(self) -> None:
        """Take a place; wait until there is one."""
        if not self._waiting and self.left > 0:
            self._taken += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # a place was given just now
                self.release()
            else:
                self._waiting.remove(turn)
            raise

    def release(self) -> None:
        """Give a place back."""
        self._taken -= 1
        while self._waiting and self.left > 0:
            self._taken += 1
            self._waiting.popleft().set_result(None)

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.release()


def kind_of(lane: Lane) -> str:
    """Return what the places for a lane's jobs are counted by."""
    origin = lane.partition(":")[0]
    return origin if origin in TRIGGERS else ""


class Slot:
    """One of the limited places for running jobs; given back while its job waits on a person."""

    def __init__(self, free: Places) -> None:
        self._free = free

    @asynccontextmanager
    async def parked(self) -> AsyncGenerator[None]:
        """Free the place within the block; take one again at its end."""
        self._free.release()
        try:
            yield
        finally:
            # Even a cancelled job has to take one, or the limit would grow.
            await finish(self._free.acquire())


class Bell:
    """Knows which lanes may have a ready job: code that puts a job into one rings for it."""

    def __init__(self) -> None:
        self._rung: set[Lane] = set()
        self._at_work: set[Lane] = set()
        self._next: dict[Lane, Lane] = {}
        self._heard = asyncio.Event()

    def ring(self, lane: Lane) -> None:
        """Note that `lane` may have a ready job."""
        self._rung.add(lane)
        self._heard.set()

    def move(self, old: Lane, new: Lane) -> None:
        """Note that the jobs of `old` are in `new`, which goes on once `old` is not at work."""
        if old in self._at_work:
            self._next[old] = new
        self.ring(new)

    async def wait(self) -> None:
        """Wait for a ring, or for `stop_waiting`."""
        await self._heard.wait()
        self._heard.clear()

    def stop_waiting(self) -> None:
        """End `wait` without a ring."""
        self._heard.set()

    def begin(self) -> frozenset[Lane]:
        """Return the lanes that were rung for and are not at work; mark them as at work."""
        lanes = frozenset(self._rung - self._at_work)
        self._rung -= lanes
        self._at_work |= lanes
        return lanes

    def end(self, lane: Lane) -> None:
        """Note that `lane` is not at work any more."""
        self._at_work.discard(lane)
        if new := self._next.pop(lane, None):
            self.ring(new)
        if self._rung:
            self._heard.set()

    @property
    def at_work(self) -> int:
        """How many lanes are at work."""
        return len(self._at_work)


class Lanes:
    """Runs the jobs of the lanes; a lane that bypasses the others needs no place.

    `places` says how many jobs of a kind run at a time: those of triggers by their origin, which
    their lanes are named by (`cron:<id>`), all others by "".

    Owns every task it starts: when `run` returns or raises, none is left. `handle` deals with
    its own failures; one that escapes stops the runtime.
    """

    def __init__(
        self,
        *,
        bell: Bell,
        claim: Callable[[Lane], Awaitable[Job | None]],
        handle: Callable[[Job, Slot], Awaitable[None]],
        places: Callable[[str], int],
    ) -> None:
        self._bell = bell
        self._claim = claim
        self._handle = handle
        self._free = {kind: Places(partial(places, kind)) for kind in ("", *TRIGGERS)}
        self._closed = False

    def close(self) -> None:
        """Begin no more jobs; `run` returns when the running ones are done."""
        self._closed = True
        self._bell.stop_waiting()

    async def run(self) -> None:
        """Drain lanes that are rung for, until closed. Cancelling it cancels the running jobs."""
        async with asyncio.TaskGroup() as group:
            while not self._closed:
                await self._bell.wait()
                for lane in self._bell.begin():
                    group.create_task(self._drain(lane), name=f"lane {lane}")

    async def _drain(self, lane: Lane) -> None:
        try:
            while not self._closed:
                free = self._free[kind_of(lane)]
                async with nullcontext() if lane.bypasses else free:
                    if (job := await self._claim(lane)) is None:
                        return
                    await self._handle(job, Slot(free))
        finally:
            self._bell.end(lane)
