"""What stands in a chat of an answer that is still growing. Source: design §3.6."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Rendered
from aouo.outbound.live import LiveView
from aouo.outbound.payloads import Capabilities
from aouo.plumbing.redact import Redactor
from tests.fakes.clock import FastClock
from tests.fakes.messenger import FakeMessenger
from tests.outbound.test_outbox import outbox_over

CHAT = ConversationAddress("cli", "1")
PARAGRAPHS = [f"{number}. " + "lorem ipsum dolor " * 12 + "\n\n" for number in range(30)]


class Busy(FakeMessenger):
    """The model goes on while a message is being sent."""

    view: LiveView | None = None

    def __init__(self) -> None:
        super().__init__()
        self._sent = asyncio.Event()

    async def until(self, shown: Callable[[], bool]) -> None:
        while not shown():
            self._sent.clear()
            await self._sent.wait()

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        if self.view is not None:
            view, self.view = self.view, None
            await view.streaming_reply("".join(PARAGRAPHS[20:]))
        message_id = await super().send(to, message)
        self._sent.set()
        return message_id


async def test_words_that_come_while_a_whole_message_is_sent_are_shown_in_the_next(
    tmp_path: Path,
) -> None:
    clock, messenger = FastClock(), Busy()
    async with outbox_over(messenger, tmp_path, clock=clock) as (outbox, database):
        messenger.view = view = LiveView(
            outbox=outbox,
            database=database,
            clock=clock,
            address=CHAT,
            turn_id="t1",
            streaming=True,
            capabilities=Capabilities(),
            max_parts=4,
            redactor=Redactor(),
        )
        await view.streaming_reply("".join(PARAGRAPHS[:20]))
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            sending = group.create_task(outbox.run())
            showing = group.create_task(view.run())
            await messenger.until(lambda: "29. " in "".join(messenger.texts(CHAT)))
            showing.cancel()
            filled = await view.settle()
            outbox.close()
            await sending

    shown = "".join(messenger.texts(CHAT))
    assert [f"{number}. " in shown for number in range(30)] == [True] * 30
    assert filled.at == 1
