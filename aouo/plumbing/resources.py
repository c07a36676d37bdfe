"""Shares what is costly: each thing is made once for its key, and closed with its last holder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog

log = structlog.get_logger()
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Thing:
    """What is shared; `key` says what made it: two that were made from the same are the same."""

    key: object
    made: Any
    close: Callable[[Any], Awaitable[None]] | None
    holders: set[Holder] = field(default_factory=set["Holder"])


@dataclass(slots=True, eq=False)
class Holder:
    """Holds what it has taken until it is closed. Holders of the same `things` share them by
    their keys, which are compared and need no hash."""

    things: list[Thing] = field(default_factory=list["Thing"])

    def take(
        self,
        key: object,
        make: Callable[[], T],
        close: Callable[[T], Awaitable[None]] | None = None,
    ) -> T:
        """Return what `make` makes, or made for the same `key` before; `close` ends it."""
        thing = next((one for one in self.things if one.key == key), None)
        if thing is None:
            thing = Thing(key, make(), close)
            self.things.append(thing)
        thing.holders.add(self)
        return thing.made

    async def aclose(self) -> None:
        """Let go of everything; what nobody else holds is closed. It may be done twice."""
        for one in self.things:
            one.holders.discard(self)
        await _close(self.things, [one for one in self.things if not one.holders])

    async def __aenter__(self) -> Holder:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def close_all(things: list[Thing]) -> None:
    """Close all that is left, whoever holds it."""
    await _close(things, [*things])


async def _close(things: list[Thing], over: Sequence[Thing]) -> None:
    """Close some of the things, last made first."""
    # Forgotten first, so that nobody is handed one that is being closed.
    things[:] = [one for one in things if one not in over]
    for one in reversed(over):
        if one.close is None:
            continue
        try:
            await one.close(one.made)
        except Exception as error:  # the others are closed all the same
            log.exception("close_failed", error=repr(error))
