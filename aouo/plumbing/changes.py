"""Notices that something has changed, by looking at it again and again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

from aouo.facts.ports import Clock

T = TypeVar("T")
Look: TypeAlias = tuple[int, int, int] | None
"""The inode, size and modification time of a file, None = there is none."""


async def changes(
    look: Callable[[], Awaitable[T]],
    seen: T,
    *,
    clock: Clock,
    every_s: float,
    still_s: float = 0.0,
) -> AsyncGenerator[T]:
    """Yield for ever each look that differs from the one before, the first from `seen`.

    A look is yielded once it has been the same for `still_s`; what came in between is left out.
    """
    while True:
        await clock.sleep(every_s)
        now = await look()
        if now == seen:
            continue
        while still_s and now != seen:
            seen = now
            await clock.sleep(still_s)
            now = await look()
        seen = now
        yield now


def look_of(file: Path) -> Look:
    """Return how a file looks from the outside; any save changes that."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
