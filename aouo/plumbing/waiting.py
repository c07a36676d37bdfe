"""Waits: for a change, for the first of several things, before a retry, or for a write to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from aouo.facts.errors import SetupError
from aouo.facts.ports import Clock


def pause_s(
    failures: int,
    *,
    first_s: float,
    factor: float,
    most_s: float,
    jitter: float = 0.0,
    asked_s: float = 0.0,
    chance: float = 1.0,
) -> float:
    """Return the seconds to wait after so many failures in a row; 0 failures = no pause.

    Exponential backoff: `first_s` after the first failure, `factor` (1 or more) times as long after
    each further one, never over `most_s`. `jitter` (0 to 1) is the random share of a pause, so
    that many waiting clients do not retry together; `chance` is a random number from 0 to 1 for
    it. The pause is at least `asked_s`, which the other side asked for, also over `most_s`.
    """
    if failures <= 0:
        return asked_s
    try:
        grown_s = first_s * factor ** (failures - 1)
    except OverflowError:  # it has failed for days
        grown_s = most_s
    return max(asked_s, min(grown_s, most_s) * (1 - jitter * (1 - chance)))


_T = TypeVar("_T")
Look: TypeAlias = tuple[int, int, int] | None
"""The inode, size and modification time of a file, None = there is none."""


async def changes(
    look: Callable[[], Awaitable[_T]],
    seen: _T,
    *,
    clock: Clock,
    every_s: float,
    still_s: float = 0.0,
) -> AsyncGenerator[_T]:
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


@contextmanager
def one_setup_error() -> Generator[None]:
    """Raise the first `SetupError` inside an exception group instead of the group."""
    try:
        yield
    except BaseExceptionGroup as group:
        found: BaseException | None = group.subgroup(SetupError)
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        if isinstance(found, SetupError):
            raise found from None
        raise


async def first(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when one of them is done, and cancel the others; its exception passes through."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in waits]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


async def finish(work: Awaitable[_T]) -> _T:
    """Await `work` to its end; a cancellation meanwhile takes effect afterwards.

    `work` must be bounded by itself (one transaction, one semaphore).
    """
    task = asyncio.ensure_future(work)  # no task of a group; this call awaits its end
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
        except BaseException:  # noqa: BLE001 - raised below, or outranked by the cancellation
            break
    if cancelled:
        task.exception()
        raise asyncio.CancelledError
    return task.result()
