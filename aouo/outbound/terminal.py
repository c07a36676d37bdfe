"""Implements `Messenger` for terminals: all that are connected get each message.

Without one a message is refused, not queued: a terminal that comes later reads the history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import DeliveryRefused
from aouo.facts.ports import Rendered

_WAITING = 1_000


class TerminalMessenger:
    """Puts messages as JSON objects into the queues of the terminals that watch a conversation."""

    def __init__(self) -> None:
        self._watching: dict[str, list[asyncio.Queue[dict[str, Any]]]] = {}
        self._last_id = 0

    def watch(self, chat_id: str) -> tuple[asyncio.Queue[dict[str, Any]], Callable[[], None]]:
        """Return a queue of the messages in `chat_id` from now on, and the function to leave."""
        waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_WAITING)
        self._watching.setdefault(chat_id, []).append(waiting)

        def leave() -> None:
            self._watching[chat_id].remove(waiting)

        return waiting, leave

    async def ready(self) -> None:
        """Return at once: a terminal is always ready."""

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        self._last_id += 1
        self._tell(to, "message", self._last_id, message)
        return self._last_id

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        self._tell(to, "edit", message_id, message)

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        del to, draft_id, message
        raise DeliveryRefused("a terminal shows no drafts")

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        del to, message_id  # what is printed stays printed

    async def action(self, to: ConversationAddress, action: str) -> None:
        del to, action  # a terminal shows no activity

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        del answer_id, text, alert  # taps come from the same terminal and need no answer

    def _tell(self, to: ConversationAddress, kind: str, number: int, message: Rendered) -> None:
        watching = self._watching.get(to.chat_id)
        if not watching:
            raise DeliveryRefused("no terminal is connected")
        written = message.media.text if message.media else ""  # a terminal has it as its words
        said = {
            "kind": kind,
            "id": number,
            "text": written or message.text,
            "buttons": [[[b.label, b.data] for b in row] for row in message.buttons],
        }
        for waiting in watching:
            waiting.put_nowait(said)
