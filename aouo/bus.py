"""Tells whoever watches what happens; a slow or broken subscriber delays nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from aouo.events import Event

log = structlog.get_logger()
_WAITING = 1_000


class Bus:
    """Bounded queues, one a subscriber; a full one loses its oldest event and says so once."""

    def __init__(self) -> None:
        self._subscribers: dict[asyncio.Queue[Event], bool] = {}

    def subscribe(self) -> tuple[asyncio.Queue[Event], Callable[[], None]]:
        """A queue of all events from now on, and what ends the subscription."""
        waiting: asyncio.Queue[Event] = asyncio.Queue(_WAITING)
        self._subscribers[waiting] = False

        def leave() -> None:
            self._subscribers.pop(waiting, None)

        return waiting, leave

    def publish(self, event: Event) -> None:
        """Never waits."""
        for waiting, overflowed in list(self._subscribers.items()):
            if waiting.full():
                waiting.get_nowait()
                if not overflowed:
                    self._subscribers[waiting] = True
                    log.warning("subscriber_too_slow")
            waiting.put_nowait(event)
