"""Publishes events of running turns to subscribers; a slow or broken one delays nobody."""

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
    """One subscription: some kinds of events, () = all; of one session, "" = all."""

    kinds: tuple[type[Event], ...]
    session_id: str
    waiting: asyncio.Queue[Event] = field(default_factory=lambda: asyncio.Queue(_WAITING))
    overflowed: bool = False

    def wants(self, event: Event) -> bool:
        of_session = self.session_id in ("", event.session_id)
        return of_session and (not self.kinds or isinstance(event, self.kinds))


class Bus:
    """One bounded queue per subscriber; a full one drops its oldest event and logs that once."""

    def __init__(self) -> None:
        self._subscribers: list[_Subscriber] = []

    def subscribe(
        self, *kinds: type[Event], session_id: str = ""
    ) -> tuple[asyncio.Queue[Event], Callable[[], None]]:
        """Return a queue of the events from now on, and the function that ends the subscription.

        No kinds = all of them; no session = all sessions.
        """
        subscriber = _Subscriber(kinds, session_id)
        self._subscribers.append(subscriber)

        def leave() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return subscriber.waiting, leave

    def publish(self, event: Event) -> None:
        """Put the event into each queue that wants it; never waits."""
        for subscriber in self._subscribers:
            if not subscriber.wants(event):
                continue
            if subscriber.waiting.full():
                subscriber.waiting.get_nowait()
                if not subscriber.overflowed:
                    subscriber.overflowed = True
                    log.warning("subscriber_too_slow")
            subscriber.waiting.put_nowait(event)
