"""Clocks for tests: one that skips the pauses between messages, and one that runs fast."""

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
