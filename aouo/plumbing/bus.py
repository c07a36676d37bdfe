"""Tells whoever watches what happens; a slow or broken subscriber delays nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from aouo.facts.events import Event

log = structlog.get_logger()
_WAITING = 1_000


@dataclass(slots=True, eq=False)
class _Subscriber:
    """Who watches: some kinds of events, () = all; of one session, "" = all."""

    kinds: tuple[type[Event], ...]
    session_id: str
    waiting: asyncio.Queue[Event] = field(default_factory=lambda: asyncio.Queue(_WAITING))
    overflowed: bool = False

    def wants(self, event: Event) -> bool:
        of_session = self.session_id in ("", event.session_id)
        return of_session and (not self.kinds or isinstance(event, self.kinds))


class Bus:
    """Bounded queues, one a subscriber; a full one loses its oldest event and says so once."""

    def __init__(self) -> None:
        self._subscribers: list[_Subscriber] = []

    def subscribe(
        self, *kinds: type[Event], session_id: str = ""
    ) -> tuple[asyncio.Queue[Event], Callable[[], None]]:
        """A queue of what happens from now on, and what ends the subscription.

        Without kinds all of them, without a session those of all.
        """
        subscriber = _Subscriber(kinds, session_id)
        self._subscribers.append(subscriber)

        def leave() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return subscriber.waiting, leave

    def publish(self, event: Event) -> None:
        """Never waits."""
        for subscriber in self._subscribers:
            if not subscriber.wants(event):
                continue
            if subscriber.waiting.full():
                subscriber.waiting.get_nowait()
                if not subscriber.overflowed:
                    subscriber.overflowed = True
                    log.warning("subscriber_too_slow")
            subscriber.waiting.put_nowait(event)
