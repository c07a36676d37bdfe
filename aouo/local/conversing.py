"""Talks in a terminal to the running bot over its socket, or to a runtime in this process."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from pydantic import SecretStr

from aouo.app.idle import idle
from aouo.app.lifecycle import terminal_inbound
from aouo.app.proxied import secrets_of
from aouo.app.wiring import App
from aouo.config.file import Loaded, load_settings
from aouo.facts.errors import SetupError
from aouo.local.inside import running
from aouo.plumbing.failing import one_setup_error
from aouo.plumbing.home import Home, is_locked, reachable
from aouo.plumbing.logs import Logs, Nowhere
from aouo.plumbing.redact import Redactor

CHAT = "local"
ANSWER_S = 120.0
BEGINS_S = 5.0
"""How long to wait until a bot listens, which takes its home's lock before."""


class Link(Protocol):
    """A connection to one terminal conversation."""

    async def say(self, text: str, data: str = "") -> None: ...
    def hear(self) -> AsyncIterator[dict[str, Any]]: ...
    async def quiet(self) -> None:
        """Wait until every message is answered."""
        ...


class Remote:
    """A link over the control socket of a running bot."""

    def __init__(self, home: Home) -> None:
        self._home = home

    async def quiet(self) -> None:
        async for _ in self._request({"verb": "idle"}):
            return

    async def say(self, text: str, data: str = "") -> None:
        async for answer in self._request(
            {"verb": "say", "chat": CHAT, "text": text, "data": data}
        ):
            if not answer.get("ok"):
                raise SetupError(f"The bot says: {answer.get('error', 'no')}")
            return

    async def hear(self) -> AsyncGenerator[dict[str, Any]]:
        async for said in self._request({"verb": "chat", "chat": CHAT}):
            if said.get("ok") is False:
                raise SetupError(f"The bot says: {said.get('error', 'no')}")
            yield said

    async def _request(self, request: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        reader, writer = await _connection(self._home)
        try:
            writer.write(json.dumps(request).encode() + b"\n")
            while line := await reader.readline():
                yield json.loads(line)
        finally:
            writer.close()


async def _connection(home: Home) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a bot that holds its home's lock; wait until it listens.

    Raises:
        SetupError: it does not listen in time, or has ended.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(BEGINS_S):
            while is_locked(home):
                with (
                    suppress(FileNotFoundError, ConnectionRefusedError),
                    reachable(home.control_socket) as address,
                ):
                    return await asyncio.open_unix_connection(address)
                await asyncio.sleep(0.02)
    raise SetupError("The running bot does not answer.", fix="Try again in a moment.")


class Inside:
    """A link to a runtime in this process."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def quiet(self) -> None:
        await idle(self._app.database, self._app.clock)

    async def say(self, text: str, data: str = "") -> None:
        await self._app.inbox.submit(terminal_inbound(CHAT, text, data=data))

    async def hear(self) -> AsyncGenerator[dict[str, Any]]:
        waiting, leave = self._app.terminal.watch(CHAT)
        try:
            yield {"kind": "ready"}
            while True:
                yield await waiting.get()
        finally:
            leave()


async def converse(
    home: Home, environ: Mapping[str, str], pack: str, show: Callable[[str], None]
) -> None:
    """Talk until the end of standard input.

    Raises:
        SetupError: no bot is running, and none can be built here.
    """
    async with _link(home, environ) as link:
        screen = _Screen(link, show)
        async with asyncio.TaskGroup() as group:
            hearing = group.create_task(screen.hear())
            await screen.ready.wait()
            if pack:
                await link.say(f"/use {pack}")
            while line := await asyncio.to_thread(sys.stdin.readline):
                if text := line.strip():
                    await screen.say(text)
            await _within(ANSWER_S, link.quiet(), show)
            hearing.cancel()


class _Screen:
    """Shows messages, and maps typed numbers to their buttons."""

    def __init__(self, link: Link, show: Callable[[str], None]) -> None:
        self._link = link
        self._show = show
        self._buttons: list[tuple[str, str]] = []
        self.ready = asyncio.Event()

    async def say(self, text: str) -> None:
        """Tap the button of a number; send any other text as a message."""
        if text.isascii() and text.isdigit() and 1 <= int(text) <= len(self._buttons):
            label, data = self._buttons[int(text) - 1]
            await self._link.say(label, data)
        else:
            await self._link.say(text)

    async def hear(self) -> None:
        async for said in self._link.hear():
            self.ready.set()
            if said.get("kind") == "ready":
                continue
            self._show(said["text"])
            self._buttons = [(label, data) for row in said["buttons"] for label, data in row]
            for number, (label, _) in enumerate(self._buttons, 1):
                self._show(f"  {number}) {label}")


async def _within(limit_s: float, work: Awaitable[None], show: Callable[[str], None]) -> None:
    """Wait for the open answers after the end of input, at most `limit_s` seconds."""
    try:
        async with asyncio.timeout(limit_s):
            await work
    except TimeoutError:
        show("(no answer came)")


@asynccontextmanager
async def _link(home: Home, environ: Mapping[str, str]) -> AsyncGenerator[Link]:
    if is_locked(home):
        with one_setup_error():
            yield Remote(home)
        return
    home.create()
    with home.lock():
        loaded = _without_telegram(load_settings(home.path, environ))
        redactor = Redactor(secrets_of(loaded.settings))
        with Logs(file=home.log_file, redactor=redactor, stderr=Nowhere()), one_setup_error():
            async with running(home, loaded) as (app, _):
                yield Inside(app)


def _without_telegram(loaded: Loaded) -> Loaded:
    """Return the settings without the bot token, so that Telegram is not polled."""
    telegram = loaded.settings.telegram.model_copy(update={"bot_token": SecretStr("")})
    settings = loaded.settings.model_copy(update={"telegram": telegram})
    return Loaded(settings, loaded.notes, loaded.from_last_good, loaded.problems)
