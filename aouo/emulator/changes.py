"""One number that grows with every change, and a way to wait for it."""

import asyncio


class ChangeSignal:
    """Counts changes; whoever waits is woken by the next one."""

    def __init__(self) -> None:
        self.number = 0
        self._next = asyncio.Event()

    def bump(self) -> None:
        """Something changed."""
        self.number += 1
        self.wake()

    def wake(self) -> None:
        """Let everybody who waits look again."""
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self) -> None:
        """Return at the next change."""
        await self._next.wait()

    async def wait_beyond(self, since: int, timeout_s: float) -> int:
        """The change number once it exceeds `since`, or after `timeout_s` whatever it is."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.number <= since:
                    await self.wait()
        except TimeoutError:
            pass
        return self.number
