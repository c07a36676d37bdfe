"""Tells open pages that something has changed, so that they read anew what they show."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from aouo.dashboard.endpoints import Endpoint, Frame
from aouo.dashboard.shown import Shown
from aouo.plumbing.changes import Look, changes, look_of

_EVERY_S = 0.5


def live(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoint that follows changes."""
    database = shown.home.database
    files = (database, Path(f"{database}-wal"), shown.home.config)

    async def look() -> tuple[Look, ...]:
        return tuple(map(look_of, files))  # the home's disk answers at once, or nothing works

    async def frames() -> AsyncGenerator[Frame]:
        """Yield a frame at once, and at each change; each stands for all before it."""
        seen = await look()
        yield Frame("changed", {})
        found = changes(look, seen, clock=shown.clock, every_s=_EVERY_S)
        async with aclosing(found) as looks:
            async for _ in looks:
                yield Frame("changed", {})

    async def follow() -> AsyncGenerator[Frame]:
        """An event `changed` each time that something stored has changed."""
        return frames()

    return (Endpoint("GET", "/api/live", follow, gives="frames"),)
