"""Runs background parts, and publishes the events of turns; one that fails delays nobody."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from aouo.facts.events import Event, EventsMissed
from aouo.facts.ports import Clock
from aouo.plumbing import waiting
from aouo.plumbing.logs import log

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Begins a part, which runs until it is cancelled, or has nothing more to do."""
_CALM_S = 300.0
"""A part that ran so long is well again."""
_AGAIN = partial(waiting.pause_s, first_s=1, factor=4, most_s=300)


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
        return one.since_s is not None and self._clock.monotonic_s() - one.since_s >= _CALM_S

    async def _tell(self, name: str) -> None:
        try:
            await self._told(name)
        except Exception as error:  # what failed may be what telling needs
            log.exception("part_failure_untold", part=name, error=repr(error))


_WAITING = 1_000
"""How many events wait for one subscriber; then the oldest give way."""


class Subscription:
    """The events that one subscriber has not taken yet: of some kinds, () = all; of one session,
    "" = all; those that `concern` it.

    What was dropped leaves an `EventsMissed` in its place. The subscriber reads in a task of its
    own, so nothing of a turn (context, cancellation, errors) passes from one to the other.
    """

    def __init__(
        self,
        kinds: tuple[type[Event], ...],
        session_id: str,
        concern: Callable[[Event], bool],
        *,
        closed: bool,
    ) -> None:
        self._kinds = kinds
        self._session_id = session_id
        self._concern = concern
        self._waiting: deque[Event] = deque()
        self._missed = 0
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        if closed:
            self._closing.set()

    @property
    def is_closed(self) -> bool:
        """Whether no more events come."""
        return self._closing.is_set()

    async def closed(self) -> None:
        """Wait until no more events come."""
        await self._closing.wait()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Event:
        await self.wait()
        if self.empty():
            raise StopAsyncIteration
        return self.get_nowait()

    async def wait(self) -> None:
        """Wait until there is an event to take, or no more come."""
        while self.empty() and not self.is_closed:
            self._changed.clear()
            await self._changed.wait()

    async def get(self) -> Event:
        """Wait for the next event. Raises: StopAsyncIteration when closed and all are taken."""
        return await anext(self)

    def get_nowait(self) -> Event:
        """Take the next event. Raises: IndexError when none waits."""
        if self._missed:
            count, self._missed = self._missed, 0
            return EventsMissed(self._session_id, count)
        return self._waiting.popleft()

    def qsize(self) -> int:
        return len(self._waiting) + bool(self._missed)

    def empty(self) -> bool:
        return not self.qsize()

    def wants(self, event: Event) -> bool:
        of_session = self._session_id in ("", event.session_id)
        of_kind = not self._kinds or isinstance(event, self._kinds)
        return of_session and of_kind and self._concern(event)

    def put(self, event: Event) -> bool:
        """Add an event; True = it is the first one of a row for which another was dropped."""
        self._waiting.append(event)
        self._changed.set()
        if len(self._waiting) <= _WAITING:
            return False
        self._waiting.popleft()
        self._missed += 1
        return self._missed == 1

    def close(self) -> None:
        """End it once what waits is taken."""
        self._closing.set()
        self._changed.set()


class Bus:
    """One bounded queue per subscriber; publishing never waits and never fails."""

    def __init__(self) -> None:
        self._subscribers: list[Subscription] = []
        self._closed = False
        self._left = asyncio.Event()

    def subscribe(
        self,
        *kinds: type[Event],
        session_id: str = "",
        concern: Callable[[Event], bool] = lambda event: True,
    ) -> tuple[Subscription, Callable[[], None]]:
        """Return the events from now on, and the function that ends the subscription.

        No kinds = all of them; no session = all sessions. `concern` chooses among these as they
        are published. Iterating ends when the bus is closed.
        """
        subscriber = Subscription(kinds, session_id, concern, closed=self._closed)
        self._subscribers.append(subscriber)

        def leave() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)
                self._left.set()

        return subscriber, leave

    def publish(self, event: Event) -> None:
        """Put the event into each queue that wants it; never waits."""
        for subscriber in self._subscribers:
            if subscriber.wants(event) and subscriber.put(event):
                log.warning("subscriber_too_slow", kind=type(event).__name__)

    async def drain(self) -> None:
        """Let the subscribers take what waits for them; return when all of them have left."""
        self._closed = True
        for subscriber in self._subscribers:
            subscriber.close()
        while self._subscribers:
            self._left.clear()
            await self._left.wait()
