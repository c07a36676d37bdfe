"""Talks in a terminal to the running bot over its socket, or to a runtime in this process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from pydantic import SecretStr

from aouo.app.verbs import verbs_of
from aouo.config.file import Loaded, load_settings
from aouo.facts.errors import SetupError
from aouo.local.inside import running
from aouo.plumbing.client import NotRunning, answers
from aouo.plumbing.failing import one_setup_error
from aouo.plumbing.home import Home, is_locked
from aouo.plumbing.logs import Logs
from aouo.plumbing.redact import Redactor
from aouo.plumbing.verbs import Facts, Verbs
from aouo.web.session import secrets_of

_CHAT = "local"
_ANSWER_S = 120.0

Ask: TypeAlias = Callable[..., AsyncGenerator[Facts]]
"""Yields the answers to a verb of the control socket, asked with these arguments."""


def _remote(home: Home) -> Ask:
    """Ask the bot that holds the home's lock."""

    async def ask(verb: str, **arguments: Any) -> AsyncGenerator[Facts]:
        try:
            async with aclosing(answers(home, verb, timeout_s=None, **arguments)) as found:
                async for answer in found:
                    yield answer
        except NotRunning as error:
            problem = "The running bot does not answer."
            raise SetupError(problem, fix="Try again in a moment.") from error

    return ask


def _inside(verbs: Verbs) -> Ask:
    """Ask a runtime of this process."""

    async def ask(verb: str, **arguments: Any) -> AsyncGenerator[Facts]:
        found = verbs[verb](**arguments)
        if not isinstance(found, AsyncGenerator):
            yield await found
            return
        async with aclosing(found) as answers:
            async for answer in answers:
                yield answer

    return ask


async def converse(
    home: Home, environ: Mapping[str, str], pack: str, show: Callable[[str], None]
) -> None:
    """Talk until the end of standard input.

    Raises:
        SetupError: no bot is running, and none can be built here.
    """
    async with _asking(home, environ) as ask:
        screen = _Screen(ask, show)
        async with asyncio.TaskGroup() as group:
            hearing = group.create_task(screen.hear())
            await screen.ready.wait()
            if pack:
                await screen.say(f"/use {pack}")
            while line := await asyncio.to_thread(sys.stdin.readline):
                if text := line.strip():
                    await screen.say(text)
            await _within(_ANSWER_S, screen.answered(), show)
            hearing.cancel()


class _Screen:
    """Shows messages, and maps typed numbers to their buttons."""

    def __init__(self, ask: Ask, show: Callable[[str], None]) -> None:
        self._ask = ask
        self._show = show
        self._buttons: list[tuple[str, str]] = []
        self.ready = asyncio.Event()

    async def say(self, text: str) -> None:
        """Tap the button of a number; send any other text as a message."""
        if text.isascii() and text.isdigit() and 1 <= int(text) <= len(self._buttons):
            label, data = self._buttons[int(text) - 1]
            await self._once("say", chat=_CHAT, text=label, data=data)
        else:
            await self._once("say", chat=_CHAT, text=text)

    async def answered(self) -> None:
        """Wait until everything that was said is answered."""
        await self._once("idle")

    async def _once(self, verb: str, **arguments: Any) -> None:
        async with aclosing(self._ask(verb, **arguments)) as answers:
            await anext(answers)

    async def hear(self) -> None:
        async for said in self._ask("chat", chat=_CHAT):
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
async def _asking(home: Home, environ: Mapping[str, str]) -> AsyncGenerator[Ask]:
    if is_locked(home):
        with one_setup_error():
            yield _remote(home)
        return
    home.create()
    with home.lock():
        loaded = _without_telegram(load_settings(home.path, environ))
        redactor = Redactor(secrets_of(loaded.settings.secrets()))
        with (
            Logs(file=home.log_file, redactor=redactor, quiet=True) as logs,
            one_setup_error(),
        ):
            async with running(home, loaded, adopt=logs.adopt) as (_, runtime):
                yield _inside(verbs_of(runtime))


def _without_telegram(loaded: Loaded) -> Loaded:
    """Return the settings without the bot token, so that Telegram is not polled."""
    telegram = loaded.settings.telegram.model_copy(update={"bot_token": SecretStr("")})
    settings = loaded.settings.model_copy(update={"telegram": telegram})
    return replace(loaded, settings=settings)
