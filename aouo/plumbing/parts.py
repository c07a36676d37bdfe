"""Runs background parts: one that is optional and fails is named, run again, and ends nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import structlog

from aouo.facts.ports import Clock
from aouo.plumbing import backoff

log = structlog.get_logger()
Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Begins a part, which runs until it is cancelled, or has nothing more to do."""
CALM_S = 300.0
"""A part that ran so long is well again."""
_AGAIN = partial(backoff.pause_s, first_s=1, factor=4, most_s=300)


@dataclass(slots=True)
class _Failing:
    """How a part fares: failures in a row, the class of the last one, since when it runs again
    (None = it waits to)."""

    times: int = 0
    error: str = ""
    since_s: float | None = None


class Parts:
    """Keeps optional parts running; `told` hears of each that fails, once in this process."""

    def __init__(self, clock: Clock, told: Callable[[str], Awaitable[None]]) -> None:
        self._clock = clock
        self._told = told
        self._failing: dict[str, _Failing] = {}

    @property
    def failing(self) -> dict[str, str]:
        """Return the parts that failed and are not well again, and how: by class of error, since
        its words may be a person's."""
        return {
            name: f"{one.error}, {one.times} in a row"
            for name, one in self._failing.items()
            if one.times and not self._is_calm(one)
        }

    async def keep(self, name: str, work: Work) -> None:
        """Run a part, and again after each failure, after a pause of up to 5 minutes."""
        one = self._failing.setdefault(name, _Failing())
        while True:
            one.since_s = self._clock.monotonic_s()
            try:
                await work()
                return
            except Exception as error:  # whatever it is, everybody else goes on
                one.times = 1 if self._is_calm(one) else one.times + 1
                one.since_s, first = None, not one.error
                one.error = type(error).__name__
                pause_s = _AGAIN(one.times)
                log.exception("part_failed", part=name, error=repr(error), again_in_s=pause_s)
            if first:
                await self._tell(name)
            await self._clock.sleep(pause_s)

    def _is_calm(self, one: _Failing) -> bool:
        return one.since_s is not None and self._clock.monotonic_s() - one.since_s >= CALM_S

    async def _tell(self, name: str) -> None:
        try:
            await self._told(name)
        except Exception as error:  # what failed may be what telling needs
            log.exception("part_failure_untold", part=name, error=repr(error))
