"""Refusals with Telegram's own texts, and who waits for a change."""

from __future__ import annotations

import asyncio


class Refusal(Exception):
    """One `{"ok": false}` answer; `description` is Telegram's text with its prefix.

    `parameters` is the ResponseParameters object: `retry_after` or `migrate_to_chat_id`.
    """

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


def bad_request(text: str, **parameters: int) -> Refusal:
    """Return a 400 with the prefix of the real server."""
    return Refusal(400, f"Bad Request: {text}", **parameters)


def forbidden(text: str) -> Refusal:
    """Return a 403: the bot may not write to this chat."""
    return Refusal(403, f"Forbidden: {text}")


def conflict(text: str) -> Refusal:
    """Return a 409: another process reads the updates."""
    return Refusal(409, f"Conflict: {text}")


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
