"""Shares what is costly: each thing is made once for its key, and closed with its last holder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog

log = structlog.get_logger()
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Thing:
    """`key` says what made it: two that were made from the same are the same."""

    key: object
    made: Any
    close: Callable[[Any], Awaitable[None]] | None
    holders: set[Holder] = field(default_factory=set["Holder"])


class Resources:
    """The things that somebody holds, by their keys, which are compared and need no hash."""

    def __init__(self) -> None:
        self._things: list[_Thing] = []

    @property
    def open(self) -> int:
        """How many there are."""
        return len(self._things)

    def take(
        self,
        holder: Holder,
        key: object,
        make: Callable[[], T],
        close: Callable[[T], Awaitable[None]] | None = None,
    ) -> T:
        """Return the thing of this key, made if there is none, for as long as `holder` lives."""
        thing = next((one for one in self._things if one.key == key), None)
        if thing is None:
            thing = _Thing(key, make(), close)
            self._things.append(thing)
        thing.holders.add(holder)
        return thing.made

    async def let_go(self, holder: Holder) -> None:
        """Close, last made first, what nobody but `holder` holds."""
        for one in self._things:
            one.holders.discard(holder)
        await self._close([one for one in self._things if not one.holders])

    async def aclose(self) -> None:
        """Close all that is left."""
        await self._close(self._things)

    async def _close(self, over: Sequence[_Thing]) -> None:
        # Forgotten first, so that nobody is handed one that is being closed.
        self._things = [one for one in self._things if one not in over]
        for one in reversed(over):
            if one.close is None:
                continue
            try:
                await one.close(one.made)
            except Exception as error:  # the others are closed all the same
                log.exception("close_failed", error=repr(error))


class Holder:
    """Holds what it has taken until it is closed."""

    def __init__(self, resources: Resources | None = None) -> None:
        self._resources = Resources() if resources is None else resources

    def take(
        self,
        key: object,
        make: Callable[[], T],
        close: Callable[[T], Awaitable[None]] | None = None,
    ) -> T:
        """Return what `make` makes, or made for the same `key` before; `close` ends it."""
        return self._resources.take(self, key, make, close)

    async def aclose(self) -> None:
        """Let go of everything; what nobody else holds is closed. It may be done twice."""
        await self._resources.let_go(self)

    async def __aenter__(self) -> Holder:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
