"""Finishes a write that must not be lost, although the task is cancelled meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def finish(work: Awaitable[T]) -> T:
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
