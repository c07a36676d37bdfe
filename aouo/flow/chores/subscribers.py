"""Lets the owner's packages hear the events of turns: each subscriber in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from dataclasses import dataclass

from aouo.facts.events import Event
from aouo.plumbing import resources
from aouo.plumbing.logs import log
from aouo.plumbing.parts import Bus

GROUP = "aouo.subscribers"


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Hears events of some kinds, () = of all, one after the other; see `plumbing.bus`."""

    hear: Callable[[Event], Awaitable[None]]
    kinds: tuple[type[Event], ...] = ()


def subscribers_of_packages() -> Mapping[str, Subscriber]:
    """Return the subscribers that the owner's packages bring, by name.

    Raises:
        SetupError: one does not load, or is no `Subscriber`.
    """
    found: dict[str, Subscriber] = {}
    for entry in resources.found_entry_points(GROUP):
        what = "subscriber"
        subscriber: object = resources.load_entry_point(entry, what)
        if not isinstance(subscriber, Subscriber) or entry.name in found:
            raise resources.entry_point_failed(
                entry, what, "is no Subscriber, or its name is taken"
            )
        found[entry.name] = subscriber
        log.info("subscriber_added", subscriber=entry.name)
    return found


async def serve(bus: Bus, subscribers: Mapping[str, Subscriber]) -> None:
    """Let them hear, for ever; one that raises or never ends changes nothing for anybody else."""
    async with asyncio.TaskGroup() as group:
        for name, one in subscribers.items():
            group.create_task(_serve(bus, name, one), name=name, context=Context())


async def _serve(bus: Bus, name: str, subscriber: Subscriber) -> None:
    events, leave = bus.subscribe(*subscriber.kinds)
    try:
        async for event in events:
            try:
                await subscriber.hear(event)
            except Exception as error:
                log.exception("subscriber_failed", subscriber=name, error=repr(error))
    finally:
        leave()
