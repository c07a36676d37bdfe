"""Knows the jobs at work, to stop one without its lane, and lets a turn wait for its gate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from aouo.facts.address import Lane
from aouo.facts.work import Gate
from aouo.queue.lanes import Slots

_T = TypeVar("_T")


class StopReason(Enum):
    """Why a turn was cancelled, as the code that cancels it records."""

    PERSON = "the person stopped it"
    TIMEOUT = "it took too long"
    SHUTDOWN = "the runtime shuts down, or its pack is changed"
    GONE = "nothing can be sent to the chat any more"
    TAKEN_OFF = "its person is not on the list any more"


@dataclass(slots=True)
class _Work:
    """A job at work in one of `slots`; it has a task and a clock while one of its parts runs."""

    lane: Lane
    slots: Slots
    task: asyncio.Task[object] | None = None
    timeout: asyncio.Timeout | None = None
    left_s: float = 0.0
    waiters: int = 0
    place: AsyncExitStack = field(default_factory=AsyncExitStack)
    reason: StopReason | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self, reason: StopReason) -> None:
        """End the part that runs, or the next one as it begins; the first reason stands."""
        self.reason = self.reason or reason
        if self.task:
            self.task.cancel()

    @property
    def is_paused(self) -> bool:
        return self.timeout is not None and self.timeout.when() is None

    def pause(self) -> None:
        """Let the clock stand still, whether or not it does already."""
        if self.timeout and (when := self.timeout.when()) is not None:
            self.left_s = max(0.0, when - asyncio.get_running_loop().time())
            self.timeout.reschedule(None)

    def resume(self) -> None:
        if self.timeout:
            self.timeout.reschedule(asyncio.get_running_loop().time() + self.left_s)


class Running:
    """The jobs at work, by id. `store.jobs.stop` records a stop durably; this one ends the work at
    once."""

    def __init__(self) -> None:
        self._works: dict[int, _Work] = {}
        self._shuts_down = False

    @contextmanager
    def beginning(self, job_id: int, lane: Lane, slots: Slots) -> Generator[None]:
        """Register a job from its claim to its end: a stop counts for all its parts."""
        self._works[job_id] = work = _Work(lane, slots)
        try:
            yield
        finally:
            work.over.set()
            if self._works.get(job_id) is work:  # given back, it may have begun again by now
                del self._works[job_id]

    def move(self, old: Lane, new: Lane) -> None:
        """Rename lane `old` to `new`."""
        for work in self._works.values():
            if work.lane == old:
                work.lane = new

    def stop(self, job_id: int, reason: StopReason) -> None:
        """Stop a job, if this process works on it."""
        if work := self._works.get(job_id):
            work.stop(reason)

    def at_work(self, job_ids: Iterable[int]) -> frozenset[int]:
        """Return those of these jobs that this process works on."""
        return frozenset(job_ids) & self._works.keys()

    async def over(self, job_id: int) -> None:
        """Wait until this process does not work on a job."""
        if work := self._works.get(job_id):
            await work.over.wait()

    async def end(self, job_ids: Collection[int], reason: StopReason) -> None:
        """Stop these jobs, and wait until this process works on none of them."""
        works = [work for work in map(self._works.get, job_ids) if work]
        for work in works:
            work.stop(reason)
        for work in works:
            await work.over.wait()

    def stop_chat(self, lane: Lane) -> None:
        """Stop the jobs of a chat and of all its topics; `lane` is the chat's own."""
        for work in self._works.values():
            if work.lane == lane or work.lane.startswith(f"{lane}:"):
                work.stop(StopReason.GONE)

    def stop_waiting(self) -> None:
        """Stop the turns that wait for a person, now and from now on, because the runtime shuts
        down; they go on in the next process."""
        self._shuts_down = True
        self.give_back(tuple(self._works), waiting=True)

    def give_back(self, job_ids: Collection[int], waiting: bool) -> None:
        """Stop these jobs, to be resumed later; `waiting`: only those that wait for a person."""
        for work in map(self._works.get, job_ids):
            if work and (not waiting or work.is_paused):
                work.stop(StopReason.SHUTDOWN)

    async def run(
        self, job_id: int, limit_s: float, part: Callable[[], Awaitable[_T]]
    ) -> _T | StopReason:
        """Run a part of a job as a task of its own, inside of `beginning`; return its result, or
        the reason why it was stopped. The time in which it was parked does not count in `limit_s`.

        A cancellation from outside cancels the part and passes through.
        """
        work = self._works[job_id]
        if work.reason:
            return work.reason
        async with asyncio.TaskGroup() as group:
            task = group.create_task(_within(work, limit_s, part), name=f"job {job_id}")
            work.task = task
            try:
                await asyncio.wait([task])
            finally:
                work.task = None
        return (work.reason or StopReason.SHUTDOWN) if task.cancelled() else task.result()

    @asynccontextmanager
    async def parked(self, job_id: int) -> AsyncGenerator[None]:
        """Wait for a person in the part that runs: no slot is held, and the clock stands still.

        Several may wait at once; the last one takes the slot again.
        """
        work = self._works[job_id]
        work.waiters += 1
        if work.waiters == 1:
            work.pause()
            if self._shuts_down:
                work.stop(StopReason.SHUTDOWN)
            await work.place.enter_async_context(work.slots.parked())
        try:
            yield
        finally:
            work.waiters -= 1
            if not work.waiters:
                try:
                    await work.place.pop_all().aclose()
                finally:
                    if not work.waiters:
                        work.resume()


async def _within(
    work: _Work, limit_s: float, part: Callable[[], Awaitable[_T]]
) -> _T | StopReason:
    """Return a timeout as an outcome, so that it does not fail the task group."""
    try:
        async with asyncio.timeout(limit_s) as work.timeout:
            return await part()
    except TimeoutError:
        return StopReason.TIMEOUT
    finally:
        work.timeout = None


class Waiting:
    """The futures of this process by gate; a gate without one is settled in its row only."""

    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[Gate]] = {}

    async def settled(self, gate_id: str) -> Gate:
        """Wait until `tell` says that the gate is settled; return it."""
        future: asyncio.Future[Gate] = asyncio.get_running_loop().create_future()
        self._futures[gate_id] = future
        try:
            return await future
        finally:
            del self._futures[gate_id]

    def tell(self, gate: Gate) -> None:
        """Wake the turn that waits for this gate, whose row is settled."""
        future = self._futures.get(gate.id)
        if future and not future.done():
            future.set_result(gate)
