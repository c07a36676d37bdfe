"""An event loop whose time jumps: a day passes as fast as there is something to do in it.

Time stands still while anything can run and moves to the next timer when nothing can. So what
happens depends on a script and its seed, and not on how busy the machine is.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")
START = datetime(2026, 3, 2, 12, tzinfo=UTC)
_STUCK_S = 20.0


class Stuck(Exception):
    """Nothing can run, and nothing ever will."""


class _Selector(selectors.DefaultSelector):
    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self.loop.elsewhere:  # a thread is at work: its time is real
            return super().select(1.0)
        if timeout is None:
            ready = super().select(_STUCK_S)
            if not ready:
                raise Stuck("no timer, no task that could run, nothing comes in")
            return ready
        self.loop.pass_by(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` is virtual, in seconds; threads asked through `run_in_executor` are waited for."""

    def __init__(self) -> None:
        self._now_s = 1_000.0
        self.elsewhere = 0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self._now_s

    def pass_by(self, seconds: float) -> None:
        self._now_s += seconds

    def run_in_executor(
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        self.elsewhere += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._back)
        return future

    def _back(self, done: asyncio.Future[Any]) -> None:
        del done
        self.elsewhere -= 1


class LoopClock:
    """The loop's time as a `ports.Clock`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def monotonic_s(self) -> float:
        return self._loop.time()

    def now(self) -> datetime:
        return START + timedelta(seconds=self._loop.time())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """`asyncio.run` in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work())
