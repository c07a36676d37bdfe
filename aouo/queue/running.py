"""Knows the jobs at work, so that one can be stopped without ending its lane."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TypeVar

from aouo.facts.address import Lane

T = TypeVar("T")


class StopReason(Enum):
    """Why a turn was cancelled, as the code that cancels it records."""

    PERSON = "the person stopped it"
    TIMEOUT = "it took too long"
    SHUTDOWN = "the runtime shuts down, or its pack is changed"
    GONE = "nothing can be sent to the chat any more"


class Deadline:
    """A turn's time limit; it is paused while the turn waits for a person."""

    def __init__(self, limit_s: float) -> None:
        self._timeout = asyncio.timeout(limit_s)
        self._left_s = limit_s
        self.when_paused: Callable[[], None] = _nothing

    @property
    def timeout(self) -> asyncio.Timeout:
        return self._timeout

    @property
    def paused(self) -> bool:
        return self._timeout.when() is None

    def pause(self) -> None:
        loop = asyncio.get_running_loop()
        when = self._timeout.when()
        if when is not None:
            self._left_s = max(0.0, when - loop.time())
        self._timeout.reschedule(None)
        self.when_paused()

    def resume(self) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time() + self._left_s)


@dataclass(slots=True)
class _Work:
    """A job at work; it has a task and a deadline while one of its parts runs."""

    lane: Lane
    task: asyncio.Task[object] | None = None
    deadline: Deadline | None = None
    reason: StopReason | None = None

    def stop(self, reason: StopReason) -> None:
        """End the part that runs, or the next one as it begins; the first reason stands."""
        self.reason = self.reason or reason
        if self.task:
            self.task.cancel()


class Running:
    """The jobs at work, by id. `store.jobs.stop` records a stop durably; this one ends the work at
    once."""

    def __init__(self) -> None:
        self._works: dict[int, _Work] = {}
        self._shuts_down = False

    @contextmanager
    def beginning(self, job_id: int, lane: Lane) -> Generator[None]:
        """Register a job from its claim to its end: a stop counts for all its parts."""
        self._works[job_id] = work = _Work(lane)
        try:
            yield
        finally:
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
            if work and (not waiting or (work.deadline and work.deadline.paused)):
                work.stop(StopReason.SHUTDOWN)

    async def run(
        self, job_id: int, deadline: Deadline, part: Callable[[], Awaitable[T]]
    ) -> T | StopReason:
        """Run a part of a job as a task of its own, inside of `beginning`; return its result, or
        the reason why it was stopped.

        A cancellation from outside cancels the part and passes through.
        """
        work = self._works[job_id]
        if work.reason:
            return work.reason

        async def bounded() -> T:
            async with deadline.timeout:
                return await part()

        async with asyncio.TaskGroup() as group:
            task = group.create_task(_outcome(bounded), name=f"job {job_id}")
            work.task, work.deadline = task, deadline
            deadline.when_paused = partial(self._paused, work)
            try:
                await asyncio.wait([task])
            finally:
                work.task = work.deadline = None
                deadline.when_paused = _nothing
        if task.cancelled():
            return work.reason or StopReason.SHUTDOWN
        result = task.result()
        if isinstance(result, TimeoutError):
            return StopReason.TIMEOUT
        return result

    def _paused(self, work: _Work) -> None:
        if self._shuts_down:
            work.stop(StopReason.SHUTDOWN)


def _nothing() -> None:
    pass


async def _outcome(work: Callable[[], Awaitable[T]]) -> T | TimeoutError:
    """Return a timeout as an outcome, so that it does not fail the task group."""
    try:
        return await work()
    except TimeoutError as error:
        return error
