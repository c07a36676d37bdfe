"""The real clock, and the notice that the machine has slept.

A wall clock that is set forward looks the same. That does no harm: idle connections are closed and
Telegram is polled again. A clock that is set back is no sleep, and nothing follows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from aouo.facts.ports import Clock
from aouo.plumbing.logs import log


class SystemClock:
    """See `ports.Clock`."""

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


_GAP_S = 60.0
_LOOK_EVERY_S = 6.0


def ahead_s(clock: Clock) -> float:
    """Return how far the wall clock is ahead of the monotonic one; a sleep makes it more."""
    return clock.now().timestamp() - clock.monotonic_s()


def slept(before_s: float, now_s: float) -> bool:
    """Whether the machine slept between two values of `ahead_s`."""
    return now_s - before_s > _GAP_S


async def watch(clock: Clock, woken: Callable[[], None]) -> None:
    """Call `woken` soon after each sleep of the machine, for ever."""
    before_s = ahead_s(clock)
    while True:
        await clock.sleep(_LOOK_EVERY_S)
        now_s = ahead_s(clock)
        if slept(before_s, now_s):
            log.info("woken", after_s=round(now_s - before_s))
            woken()
        elif slept(now_s, before_s):
            log.info("clock_set_back", by_s=round(before_s - now_s))
        before_s = now_s
