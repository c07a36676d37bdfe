"""Runs jobs: one at a time within a lane, many lanes at once; waits until all is done.

A lane is only a name here; its jobs are rows, and the claim hands out the oldest. So order
survives a restart, and there is no second list that could disagree with the table.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from aouo.facts.address import Lane
from aouo.facts.people import TRIGGERS
from aouo.facts.ports import Clock
from aouo.facts.work import Job
from aouo.plumbing.waiting import finish
from aouo.store import deliveries, gates, jobs
from aouo.store.database import Database, Tx


@dataclass(slots=True, eq=False)
class Slots:
    """A semaphore whose size follows the settings: `count` is asked whenever a slot is taken.

    First come, first served. A slot more is given when one is freed.
    """

    count: Callable[[], int]
    _taken: int = field(init=False, default=0)
    _waiting: deque[Callable[[], None]] = field(
        init=False, default_factory=deque[Callable[[], None]]
    )
    _gives: bool = field(init=False, default=False)

    @property
    def left(self) -> int:
        """How many slots are free."""
        return self.count() - self._taken

    @property
    def is_wanted(self) -> bool:
        """Whether whoever has a slot should give it back between two jobs."""
        return bool(self._waiting) or self.left < 0

    def ask(self, given: Callable[[], None]) -> None:
        """Take a slot, now or once there is one, and call `given` then."""
        self._waiting.append(given)
        self._give()

    async def acquire(self) -> None:
        """Take a slot; wait until there is one."""
        turn = asyncio.get_running_loop().create_future()

        def given() -> None:
            if turn.cancelled():
                self.release()
            else:
                turn.set_result(None)

        self.ask(given)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # a slot was given just now
                self.release()
            elif given in self._waiting:
                self._waiting.remove(given)
            raise

    def release(self) -> None:
        """Give a slot back."""
        self._taken -= 1
        self._give()

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[None]:
        """Take a slot for the block."""
        await self.acquire()
        try:
            yield
        finally:
            self.release()

    @asynccontextmanager
    async def parked(self) -> AsyncGenerator[None]:
        """Free a slot that is taken within the block; take one again at its end."""
        self.release()
        try:
            yield
        finally:
            # Even a cancelled job has to take one, or the limit would grow.
            await finish(self.acquire())

    def _give(self) -> None:
        if self._gives:  # whoever was given one gave it back at once
            return
        self._gives = True
        try:
            while self._waiting and self.left > 0:
                self._taken += 1
                self._waiting.popleft()()
        finally:
            self._gives = False


def _kind_of(lane: Lane) -> str:
    """Return what the slots for a lane's jobs are counted by."""
    origin = lane.partition(":")[0]
    return origin if origin in TRIGGERS else ""


class Bell:
    """Knows which lanes may have a ready job: code that puts a job into one rings for it."""

    def __init__(self) -> None:
        self._rung: dict[Lane, None] = {}
        self._at_work: set[Lane] = set()
        self._next: dict[Lane, Lane] = {}
        self._heard = asyncio.Event()

    def ring(self, lane: Lane) -> None:
        """Note that `lane` may have a ready job."""
        self._rung[lane] = None
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

    def begin(self) -> list[Lane]:
        """Return the lanes that were rung for and are not at work, in the order of the rings; mark
        them as at work."""
        lanes = [lane for lane in self._rung if lane not in self._at_work]
        for lane in lanes:
            del self._rung[lane]
        self._at_work.update(lanes)
        return lanes

    def end(self, lane: Lane) -> None:
        """Note that `lane` is not at work any more."""
        self._at_work.discard(lane)
        if new := self._next.pop(lane, None):
            self.ring(new)
        if self._rung:
            self._heard.set()

    def is_at_work(self, lane: Lane) -> bool:
        """Whether somebody is at work on the lane, or waits for a slot to be."""
        return lane in self._at_work

    @property
    def at_work(self) -> int:
        """How many lanes are at work."""
        return len(self._at_work)


class Lanes:
    """Runs the jobs of the lanes; a lane that bypasses the others needs no slot.

    `slots` says how many jobs of a kind run at a time: those of triggers by their origin, which
    their lanes are named by (`cron:<id>`), all others by "".

    Owns every task it starts: when `run` returns or raises, none is left. `handle` deals with
    its own failures; one that escapes stops the runtime.
    """

    def __init__(
        self,
        *,
        bell: Bell,
        claim: Callable[[Lane], Awaitable[Job | None]],
        handle: Callable[[Job, Slots], Awaitable[None]],
        slots: Callable[[str], int],
    ) -> None:
        self._bell = bell
        self._claim = claim
        self._handle = handle
        self._free = {kind: Slots(partial(slots, kind)) for kind in ("", *TRIGGERS)}
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
                    self._begin(group, lane)

    def _begin(self, group: asyncio.TaskGroup, lane: Lane) -> None:
        """Drain a lane in a task of its own, once it has a slot: ten thousand that wait for one
        are ten thousand names."""
        if lane.bypasses:
            group.create_task(self._drain(group, lane, None), name=f"lane {lane}")
            return
        free = self._free[_kind_of(lane)]

        def given() -> None:
            if self._closed:
                self._bell.end(lane)
                free.release()
            else:
                group.create_task(self._drain(group, lane, free), name=f"lane {lane}")

        free.ask(given)

    async def _drain(self, group: asyncio.TaskGroup, lane: Lane, free: Slots | None) -> None:
        """Run a lane's jobs, until there is none or another lane waits for the slot."""
        goes_on = False
        try:
            while not (self._closed or goes_on):
                if (job := await self._claim(lane)) is None:
                    return
                await self._handle(job, free or self._free[_kind_of(lane)])
                goes_on = free is not None and free.is_wanted
        except BaseException:
            self._closed = True  # all of them end, and none begins
            raise
        finally:
            if goes_on:
                self._begin(group, lane)
            else:
                self._bell.end(lane)
            if free:
                free.release()


_LOOK_EVERY_S = 0.05


async def idle(
    database: Database,
    clock: Clock,
    *,
    at_least: int = 0,
    asking: bool = False,
    but: str = "",
    look_every_s: float = _LOOK_EVERY_S,
) -> None:
    """Return when no job is open and no delivery waits, once `at_least` jobs have come in.

    A turn that waits for a person's answer counts as open, unless it may be `asking`. What waits
    for the platform `but` waits for ever: it is not on.
    """

    def busy(tx: Tx) -> bool:
        open_jobs = jobs.count_by_state(tx)
        open_jobs.pop("parked", None)
        waiting = gates.open_now(tx) if asking else 0
        return (
            sum(open_jobs.values()) > waiting
            or deliveries.waiting(tx, but) > 0
            or jobs.count(tx) < at_least
        )

    while await database.read(busy):
        await clock.sleep(look_every_s)
