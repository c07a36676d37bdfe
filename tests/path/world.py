"""A whole runtime between a local Telegram and a scripted model: what the path tests drive."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aouo.agent.tools.registry import Tool
from aouo.app.lifecycle import MakePage, Runtime
from aouo.app.serve import open_app
from aouo.app.wiring import App
from aouo.config.file import load_settings
from aouo.emulator import ADA, BEN, ChatMessage
from aouo.facts.events import Event, TurnSettled
from aouo.facts.ports import ChatModel, Clock
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Adopt, not_logging
from aouo.plumbing.systemd import Systemd
from aouo.store.database import Tx
from tests.fakes.databases import put_database
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import LocalTelegram, People

ROOT = Path(__file__).parents[2]
WAIT_S = 60.0
STATUS = ("Thinking…", "Working: ", "No answer yet from ")


@dataclass
class World:
    """One home that has its tables, one Telegram, one model service; the runtime can be started
    more than once."""

    home: Home
    emulator: LocalTelegram
    model: ModelServer
    tools: Sequence[Tool] = ()
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    clock: Clock | None = None
    """Another time than the real one."""
    chat_model: ChatModel | None = None
    """One in this process, which is asked instead of the service."""
    adopt: Adopt = not_logging
    """The process log, which follows the configuration."""
    bot: Running | None = None
    """What runs, or ran last."""

    def __post_init__(self) -> None:
        put_database(self.home.database)

    @property
    def people(self) -> People:
        return self.emulator.client

    def install(self, *packs: str) -> None:
        for name in packs:
            (self.home.packs / name).symlink_to(ROOT / "packs" / name)

    def configure(self) -> None:
        """Write the configuration, whoever reads it: `running`, or a process of its own."""
        config = {
            "telegram": {
                "bot_token": self.emulator.token,
                "allowed_user_ids": [ADA, BEN],
                "api_base_url": self.emulator.base_url,
                "streaming": "edits",  # what a person reads in the end is a message, too
                **self.config.get("telegram", {}),
            },
            "provider": {"backend": "fake", "model": "scripted"},
            "providers": {"fake": {"base_url": self.model.base_url, "api_key": "key"}},
            **{key: value for key, value in self.config.items() if key != "telegram"},
        }
        self.home.config.write_text(json.dumps(config))

    def let_go(self) -> None:
        """Empty the runtime that has ended: frames of its cancelled tasks stay, and hold all of
        it, so that a thousand tests would take 12 GB."""
        if self.bot:
            vars(self.bot.runtime).clear()

    @asynccontextmanager
    async def running(
        self, systemd: Systemd | None = None, page: MakePage | None = None
    ) -> AsyncGenerator[Running]:
        """Start the runtime; leave the block to stop it gracefully."""
        self.configure()
        loaded = load_settings(self.home.path, {})
        async with (
            open_app(
                self.home,
                loaded.settings,
                model=self.chat_model,
                more_tools=self.tools,
                clock=self.clock,
                adopt=self.adopt,
            ) as app,
            asyncio.TaskGroup() as group,
        ):
            runtime = Runtime(app, loaded, systemd, page)
            group.create_task(runtime.run())
            async with asyncio.timeout(WAIT_S):
                await runtime.ready.wait()
            try:
                self.bot = Running(app, runtime, self.emulator.client)
                yield self.bot
            finally:
                runtime.stop()


@dataclass
class Running:
    """A runtime at work, and what a person does with it."""

    app: App
    runtime: Runtime
    people: People

    async def ask(
        self, text: str, *, user: int = ADA, chat: int = 0, thread: int | None = None
    ) -> ChatMessage:
        """Say something and return the bot's next message there, once it is no status line, without
        the line that says what the turn changed.

        On a busy machine an answer may be late enough to be announced by one.
        """
        said = await self.people.say(user, chat or user, text, thread=thread)
        first = await self.people.next_message(said.chat_id, after=said.id, thread=thread)

        async def look() -> ChatMessage | None:
            found = await self.people.messages(said.chat_id, thread)
            since = [m for m in found if m.from_bot and m.id >= first.id]
            return next((m for m in since if not m.text.startswith(STATUS)), None)

        answer = first if not first.text.startswith(STATUS) else await self.people.until(look)
        return replace(answer, text=without_receipt(answer.text))

    async def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        def read(tx: Tx) -> list[dict[str, Any]]:
            return [dict(row) for row in tx.all(sql, *values)]  # pyright: ignore[reportArgumentType]

        return await self.app.shared.database.read(read)

    async def next_event(self, kind: type[Event]) -> Event:
        """The next event of a kind from now on; ask before what causes it."""
        events, leave = self.app.shared.bus.subscribe()
        try:
            async with asyncio.timeout(WAIT_S):
                while not isinstance(event := await events.get(), kind):
                    pass
            return event
        finally:
            leave()


_RECEIPT = re.compile(r"\n\n(?:✓|\?) [^\n]*(?=\n\n— |\Z)")


def without_receipt(text: str) -> str:
    """Return a message without the line that says what the turn changed."""
    return _RECEIPT.sub("", text)


def texts(messages: Sequence[ChatMessage]) -> list[str]:
    """What the bot said, in order, without the lines that say what a turn changed."""
    return [without_receipt(message.text) for message in messages if message.from_bot]


__all__ = ["ADA", "BEN", "TurnSettled", "World", "texts", "without_receipt"]
