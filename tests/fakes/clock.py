"""Clocks for tests: they run fast, skip pauses between messages, or go as far as a test says."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import CoroutineType
from typing import Any

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
SKIPPED_S = 0.01
"""What others get done meanwhile."""


class FastClock:
    """Keeps the promises of `ports.Clock`; who sleeps wakes when it is time, jumped or not."""

    def __init__(self, *, speed: float = 40.0, start: datetime = START) -> None:
        self._speed = speed
        self._start = start
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._ahead_s = 1_000.0
        self._slept_s = 0.0
        self._jumped = asyncio.Event()

    def monotonic_s(self) -> float:
        return (self._loop.time() - self._began_s) * self._speed + self._ahead_s

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic_s() + self._slept_s)

    def sleep(self, seconds: float) -> CoroutineType[Any, Any, None]:
        """Sleep from the call on, so that no jump comes between it and the first step."""
        return self._sleep_until(self.monotonic_s() + seconds)

    async def _sleep_until(self, until_s: float) -> None:
        while (left_s := until_s - self.monotonic_s()) > 0:
            try:
                async with asyncio.timeout(left_s / self._speed):
                    await self._jumped.wait()
            except TimeoutError:
                pass

    def jump(self, seconds: float) -> None:
        """Make it that much later at once."""
        self._ahead_s += seconds
        self._jumped.set()
        self._jumped = asyncio.Event()

    def sleep_through(self, seconds: float) -> None:
        """As if the machine had slept so long: the wall clock went on, the monotonic one did not.
        Less than 0 = somebody has set the wall clock back."""
        self._slept_s += seconds


class SkippingClock(FastClock):
    """The real time, but for pauses as the pace of a chat makes them, which are skipped: whoever
    makes one goes on at once, and for everybody it is that much later. Looks at what is shown are
    shorter, and patience is longer."""

    LEAST_S, MOST_S = 0.5, 3.0

    def __init__(self) -> None:
        super().__init__(speed=1.0)

    async def sleep(self, seconds: float) -> None:
        if not self.LEAST_S < seconds <= self.MOST_S:
            await super().sleep(seconds)
            return
        until_s = self.monotonic_s() + seconds
        await asyncio.sleep(SKIPPED_S)
        if (left_s := until_s - self.monotonic_s()) > 0:
            self.jump(left_s)


class HandClock:
    """A wall clock that a test sets, and a monotonic one that only goes forward.

    `sleep` returns when the monotonic clock has come so far.
    """

    def __init__(self, at: datetime) -> None:
        self.at = at
        self._passed_s = 0.0
        self._sleeping: list[tuple[float, asyncio.Future[None]]] = []

    @property
    def is_slept_by(self) -> bool:
        """Whether somebody sleeps, and has longer to sleep."""
        return any(not future.done() for _, future in self._sleeping)

    def now(self) -> datetime:
        return self.at

    def monotonic_s(self) -> float:
        return self._passed_s

    async def sleep(self, seconds: float) -> None:
        sleeping = (self._passed_s + seconds, asyncio.get_running_loop().create_future())
        self._sleeping.append(sleeping)
        try:
            await sleeping[1]
        finally:
            self._sleeping.remove(sleeping)

    def go_on(self, seconds: float, *, wall_s: float | None = None) -> None:
        """Let time pass; `wall_s` = by how much the wall clock changes, if not by as much."""
        self._passed_s += seconds
        self.at += timedelta(seconds=seconds if wall_s is None else wall_s)
        for until_s, future in self._sleeping:
            if until_s <= self._passed_s and not future.done():
                future.set_result(None)


class LeapingClock(HandClock):
    """It is later at once for whoever sleeps; `over` is set at the end of the time there is."""

    def __init__(self, at: datetime, end: datetime) -> None:
        super().__init__(at)
        self.over = asyncio.Event()
        self._end = end

    async def sleep(self, seconds: float) -> None:
        if self.at + timedelta(seconds=seconds) > self._end:
            self.over.set()
            await asyncio.Event().wait()
        self.go_on(seconds)
