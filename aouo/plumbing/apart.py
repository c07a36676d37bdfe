"""Runs calls that may never return in threads that hold up neither other calls nor the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
MOST = 16


class Apart:
    """Runs each call in a daemon thread of its own, at most `most` of them at a time.

    The loop's own threads are few and shared by everybody, and the process waits for them when it
    ends. One `Apart` lives as long as the process, so it knows what hangs whatever the settings.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._under_way: set[Hashable] = set()

    async def run(self, key: Hashable, call: Callable[[], T], within_s: float) -> T:
        """Return what `call` returns; its own exceptions pass through.

        Raises:
            TimeoutError: it has not returned in time, or the one with this key before has not.
            RuntimeError: so many calls have not returned that this one was not begun.
        """
        if key in self._under_way:
            raise TimeoutError
        if len(self._under_way) >= self._most:
            raise RuntimeError(f"{self._most} others have not been answered either")
        found = Future[T]()
        found.set_running_or_notify_cancel()  # whoever waits may go, and it is settled all the same
        found.add_done_callback(lambda _: self._under_way.discard(key))
        self._under_way.add(key)
        try:
            Thread(target=_work, args=(call, found), name="apart", daemon=True).start()
        except RuntimeError as error:
            found.set_exception(error)
        async with asyncio.timeout(within_s):
            return await asyncio.wrap_future(found)


def _work(call: Callable[[], T], found: Future[T]) -> None:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - whoever waits is told, whatever it is
        found.set_exception(error)
    else:
        found.set_result(result)
