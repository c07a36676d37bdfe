"""A conversation in which the model makes the calls that a test wants, one turn after the other."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import Any

from aouo.emulator import ChatMessage
from tests.fakes.model_server import CallPart, Says, words_of
from tests.path.looking import said, settled
from tests.path.world import ADA, Running, World


class Lines(deque[Says]):
    """What the model says next; with none left "ok", and so when it is asked for a title."""

    def __call__(self, body: dict[str, Any]) -> Says:
        return self.popleft() if body.get("tools") and self else Says("ok")


def persist(action: str, **arguments: Any) -> CallPart:
    return CallPart("persist", {"action": action, **arguments})


@dataclass
class Chat:
    """A conversation with the only pack that is there; the model says what a test tells it to."""

    world: World
    bot: Running
    lines: Lines
    turns: int = 0

    async def turn(
        self, *calls: CallPart, user: int = ADA, tap: tuple[ChatMessage, int] | None = None
    ) -> list[dict[str, Any]]:
        """One turn in which the model makes these calls, and what it reads as their results."""
        self.turns += 1
        end = f"end of turn {self.turns}"
        self.lines.extend((Says(calls=calls), Says(end)))
        if tap:
            await self.bot.people.tap(user, user, tap[0].id, tap[0].buttons[tap[1]].data)
        else:
            await self.bot.people.say(user, user, f"turn {self.turns}")
        await said(self.world, end, user)
        await settled(self.bot)
        results = [m for m in self.asked["messages"] if m["role"] == "tool"]
        return [json.loads(words_of(m)) for m in results[-len(calls) :]]

    async def rows(self, sql: str, *params: object, user: int = ADA) -> list[dict[str, Any]]:
        """What the model reads when it queries."""
        (found,) = await self.turn(persist("query", sql=sql, params=list(params)), user=user)
        return found["rows"]

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Those of turns; not those for a title."""
        return [body for body in self.world.model.requests if body.get("tools")]

    @property
    def asked(self) -> dict[str, Any]:
        """The newest request of a turn."""
        return self.requests[-1]
