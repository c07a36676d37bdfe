"""The turns at work, so that one can be stopped without ending its lane."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from enum import Enum
from typing import TypeVar

T = TypeVar("T")
NEVER = 2**63
"""No job has this id: every one is older."""


class StopReason(Enum):
    """Why a turn was cancelled; recorded by whoever cancels."""

    PERSON = "the person stopped it"
    TIMEOUT = "it took too long"
    SHUTDOWN = "the runtime shuts down, or its pack is changed"
    GONE = "nothing can be sent to the chat any more"


class Deadline:
    """A turn's wall clock; stands still while the turn waits for a person."""

    def __init__(self, limit_s: float) -> None:
        self._timeout = asyncio.timeout(limit_s)
        self._left_s = limit_s

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

    def resume(self) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time() + self._left_s)


class Running:
    """Lane → the task and the clock of its running turn."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._deadlines: dict[str, Deadline] = {}
        self._reasons: dict[str, StopReason] = {}
        self._beginning: set[str] = set()
        self._jobs: dict[str, int] = {}
        self._moved: dict[str, str] = {}
        self._early: dict[str, tuple[int, StopReason]] = {}

    def move(self, old: str, new: str) -> None:
        """Lane `old` is called `new` now; a turn at work in it is found by both names."""
        self._moved[new] = old

    def is_running(self, lane: str, before: int = NEVER) -> bool:
        """Whether a turn of a job that is older than `before` is at work, or about to be."""
        return self._is_at_work(lane, before) or self._is_at_work(self._moved.get(lane, ""), before)

    def _is_at_work(self, lane: str, before: int) -> bool:
        at_work = lane in self._tasks or lane in self._beginning
        return at_work and self._jobs.get(lane, 0) < before

    @contextmanager
    def beginning(self, lane: str, job_id: int = 0) -> Generator[None]:
        """From the claim of a job on: a stop before its turn runs ends it as soon as it does."""
        self._beginning.add(lane)
        self._jobs[lane] = job_id
        stopped, reason = self._early.pop(lane, (0, None))
        if reason and stopped == job_id:
            self._reasons[lane] = reason
        try:
            yield
        finally:
            self._beginning.discard(lane)
            self._jobs.pop(lane, None)
            self._reasons.pop(lane, None)

    def begins_again(self, lane: str) -> None:
        """More of the same job comes: a stop until then counts for that, inside of `beginning`."""
        self._beginning.add(lane)

    def stop(self, lane: str, reason: StopReason, *, before: int = NEVER, claimed: int = 0) -> bool:
        """Cancel the turn of a lane; False when none runs, or that of a job since `before`.

        The job `claimed` may not have got here from the table yet: it is stopped as it begins.
        """
        if not self.is_running(lane, before):
            if claimed:
                self._early[lane] = claimed, reason
            return False
        if not self._is_at_work(lane, before):
            lane = self._moved[lane]
        self._reasons.setdefault(lane, reason)
        task = self._tasks.get(lane)
        return task.cancel() if task else True

    def stop_chat(self, lane: str) -> None:
        """Stop the turns of a chat and of all its topics, by the lane of the chat itself."""
        for one in (*self._tasks, *self._beginning):
            if one == lane or one.startswith(f"{lane}:"):
                self.stop(one, StopReason.GONE)

    def stop_waiting(self) -> None:
        """The runtime shuts down: turns that wait on a person will go on in the next process."""
        self.give_back(tuple(self._deadlines), waiting=True)

    def give_back(self, lanes: Collection[str], waiting: bool) -> None:
        """Let the turns of these lanes be taken up anew later; `waiting`: those only that wait on
        a person."""
        for lane in lanes:
            deadline = self._deadlines.get(lane)
            if not waiting or (deadline and deadline.paused):
                self.stop(lane, StopReason.SHUTDOWN)

    async def run(
        self, lane: str, deadline: Deadline, turn: Callable[[], Awaitable[T]]
    ) -> T | StopReason:
        """Run a turn as a task of its own; the reason instead of its result when it was stopped.

        A cancellation from outside cancels the turn and passes through.
        """

        self._beginning.discard(lane)
        if stopped := self._reasons.pop(lane, None):
            return stopped

        async def bounded() -> T:
            async with deadline.timeout:
                return await turn()

        async with asyncio.TaskGroup() as group:
            task = group.create_task(_outcome(bounded), name=f"turn {lane}")
            self._tasks[lane], self._deadlines[lane] = task, deadline
            try:
                await asyncio.wait([task])
            finally:
                del self._tasks[lane], self._deadlines[lane]
                reason = self._reasons.pop(lane, None)
        if task.cancelled():
            return reason or StopReason.SHUTDOWN
        result = task.result()
        if isinstance(result, TimeoutError):
            return StopReason.TIMEOUT
        return result


async def _outcome(work: Callable[[], Awaitable[T]]) -> T | TimeoutError:
    """A timeout is an outcome here, not a failure of the group."""
    try:
        return await work()
    except TimeoutError as error:
        return error
