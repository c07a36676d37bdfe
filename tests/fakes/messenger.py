"""A `Messenger` in this process: chats as lists, and failures at a test's command."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import DeliveryError, DeliveryRefused, DeliveryUnknown
from aouo.facts.ports import Rendered


@dataclass
class FakeMessenger:
    """Keeps `ports.Messenger`'s promises: ids grow, errors are `DeliveryError`s only.

    `fail` is asked before each send and may return the error it ends with. Of a
    `DeliveryUnknown` `arrives` says whether the message arrived all the same.
    """

    fail: Callable[[ConversationAddress], DeliveryError | None] = lambda to: None
    arrives: Callable[[], bool] = lambda: True
    chats: dict[ConversationAddress, dict[int, Rendered]] = field(
        default_factory=lambda: defaultdict[ConversationAddress, dict[int, Rendered]](dict)
    )
    answered: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    busy: set[ConversationAddress] = field(default_factory=set[ConversationAddress])
    _ids: int = 0

    async def ready(self) -> None:
        """Always."""

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        assert to not in self.busy, "two calls to one conversation at once"
        self.busy.add(to)
        try:
            await asyncio.sleep(0)
            error = self.fail(to)
            if error is not None and not (isinstance(error, DeliveryUnknown) and self.arrives()):
                raise error
            self._ids += 1
            self.chats[to][self._ids] = message
            if error is not None:
                raise error
            return self._ids
        finally:
            self.busy.discard(to)

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        await asyncio.sleep(0)
        if message_id not in self.chats[to]:
            raise DeliveryRefused("message to edit not found")
        self.chats[to][message_id] = message

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        await asyncio.sleep(0)
        assert draft_id

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        await asyncio.sleep(0)
        self.chats[to].pop(message_id, None)

    async def action(self, to: ConversationAddress, action: str) -> None:
        await asyncio.sleep(0)

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        await asyncio.sleep(0)
        self.answered.append((answer_id, text))

    def texts(self, to: ConversationAddress) -> list[str]:
        """What stands in a chat, in the order in which it was sent."""
        return [message.text for message in self.chats[to].values()]
