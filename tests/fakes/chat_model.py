"""A `ChatModel` in this process: answers what it was asked, as late as a test likes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field

from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    Usage,
    UserSaid,
)


async def at_once(words: str) -> None:
    """Do not wait."""


@dataclass
class EchoModel:
    """Says back the newest words of the person; keeps `ports.ChatModel`'s promises.

    `before` is awaited before each answer, with what was asked.
    """

    before: Callable[[str], Awaitable[None]] = at_once
    provider: str = "fake"
    model: str = "echo"
    context_window: int = 100_000
    sees: bool = True
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return ((self.provider, self.model),)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.requests.append(request)
        words = newest_words(request)
        await self.before(words)
        half = len(words) // 2
        for delta in (words[:half], words[half:]):
            if delta:
                yield TextDelta(delta)
                await asyncio.sleep(0)
        yield Finished(AssistantSaid(words), Usage(10, 0, 5), "stop")


def newest_words(request: ModelRequest) -> str:
    """What the person said last."""
    return next(m.text for m in reversed(request.messages) if isinstance(m, UserSaid))
