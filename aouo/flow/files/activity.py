"""Shows in the chat that a lane is doing work that takes a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Clock

_AFTER_S, _EVERY_S = 0.3, 4.5
"""Telegram forgets an activity after five seconds."""

Show = Callable[[ConversationAddress, str], Awaitable[None]]
"""Shows one activity in a conversation, once."""


@asynccontextmanager
async def typing(show: Show, clock: Clock, address: ConversationAddress) -> AsyncGenerator[None]:
    """The person sees that we type while the block runs."""

    async def go_on() -> None:
        await clock.sleep(_AFTER_S)
        while True:
            await show(address, "typing")
            await clock.sleep(_EVERY_S)

    failed: Exception | None = None
    async with asyncio.TaskGroup() as group:
        shows = group.create_task(go_on())
        try:
            yield
        except Exception as error:  # noqa: BLE001 - passed on, but not as a group of one
            failed = error
        finally:
            shows.cancel()
    if failed:
        raise failed
