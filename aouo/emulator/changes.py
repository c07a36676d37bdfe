"""Counts changes, and lets others wait for the next one."""

import asyncio


class ChangeSignal:
    """Counts changes, and wakes all waiters at each."""

    def __init__(self) -> None:
        self.number = 0
        self._next = asyncio.Event()

    def bump(self) -> None:
        """Count a change, and wake all waiters."""
        self.number += 1
        self.wake()

    def wake(self) -> None:
        """Wake all waiters."""
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self) -> None:
        """Return at the next change."""
        await self._next.wait()

    async def wait_beyond(self, since: int, timeout_s: float) -> int:
        """Return the change number once it exceeds `since`, or after `timeout_s` in any case."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.number <= since:
                    await self.wait()
        except TimeoutError:
            pass
        return self.number
