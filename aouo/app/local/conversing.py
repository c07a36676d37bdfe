"""Talks in a terminal to a bot, running or inside this process, also while packs change."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from pydantic import SecretStr

from aouo.app.lifecycle import Runtime
from aouo.app.serve import open_app
from aouo.app.status import verbs_of
from aouo.app.wiring import App
from aouo.config.file import Loaded, load_settings
from aouo.facts.errors import PackError, SetupError
from aouo.facts.ports import ChatModel, Clock
from aouo.packs.format.folder import SKIPPED
from aouo.packs.format.problems import errors
from aouo.packs.load import Pack, load_pack
from aouo.plumbing.client import NotRunning, answers
from aouo.plumbing.control import Facts, Verbs
from aouo.plumbing.home import Home, is_locked
from aouo.plumbing.logs import Adopt, Logs, not_logging
from aouo.plumbing.redact import Redactor
from aouo.plumbing.trees import Found, TooMuch, walk
from aouo.plumbing.waiting import changes, one_setup_error
from aouo.plumbing.web.session import secrets_of


@asynccontextmanager
async def running(
    home: Home,
    loaded: Loaded,
    *,
    clock: Clock | None = None,
    model: ChatModel | None = None,
    online: bool = True,
    adopt: Adopt = not_logging,
) -> AsyncGenerator[tuple[App, Runtime]]:
    """Run the bot of `home`, whose lock the caller holds; it is ready when the block begins.

    Leaving the block stops it gracefully; the rest is as for `open_app`, and so is what it raises,
    and what `Runtime.run` does.
    """
    async with (
        open_app(
            home, loaded.settings, clock=clock, model=model, online=online, adopt=adopt
        ) as app,
        asyncio.TaskGroup() as group,
    ):
        runtime = Runtime(app, loaded)
        group.create_task(runtime.run())
        await runtime.ready.wait()
        try:
            yield app, runtime
        finally:
            runtime.stop()


_LOOK_EVERY_S = 1.0
_Looks: TypeAlias = Mapping[str, tuple[int, int]]
"""The size and modification time of each file of a folder, by its path in it."""


async def take_up_edits(
    folders: Sequence[Path],
    *,
    clock: Clock,
    check: Callable[[Pack], None],
    refresh: Callable[[], Awaitable[None]],
    tell: Callable[[str], None],
) -> None:
    """Watch the folders for ever; `tell` gets one line for each change.

    `check` raises a `PackError` if the stored data does not fit the changed pack. A pack that does
    not load or pass the check stays as it was.
    """

    async def look() -> dict[Path, _Looks]:
        return {folder: await asyncio.to_thread(_looks_of, folder) for folder in folders}

    seen = await look()
    async with aclosing(changes(look, seen, clock=clock, every_s=_LOOK_EVERY_S)) as looks:
        async for now in looks:
            for folder in [one for one in folders if now[one] != seen[one]]:
                tell(await _taken_up(folder, check, refresh))
            seen = now


async def _taken_up(
    folder: Path, check: Callable[[Pack], None], refresh: Callable[[], Awaitable[None]]
) -> str:
    """Reload one pack if possible; return a line that says how it went."""
    loaded = await asyncio.to_thread(load_pack, folder)
    if loaded.pack is None:
        return f"{loaded.name} goes on as it was: {errors(loaded.problems)[0]}"
    try:
        await asyncio.to_thread(check, loaded.pack)
    except PackError as error:
        return f"{loaded.name} goes on as it was: {error}"
    await refresh()
    line = f"reloaded {loaded.name} {loaded.pack.manifest.version}"
    return f"{line}; {loaded.problems[0]}" if loaded.problems else line


def _looks_of(folder: Path) -> _Looks:
    """Return the sizes and times of a folder's files; no file is read."""
    found: dict[str, tuple[int, int]] = {}
    with suppress(TooMuch):  # loading the pack reports that
        for one in walk(folder, enter=_is_looked_at, closed=lambda path: None):
            if not one.is_folder:
                found[one.path] = (one.facts.st_size, one.facts.st_mtime_ns)
    return found


def _is_looked_at(found: Found) -> bool:
    return found.path.rpartition("/")[2] not in SKIPPED


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
    home: Home,
    environ: Mapping[str, str],
    pack: str,
    show: Callable[[str], None],
    *,
    said: str = "",
) -> None:
    """Talk until the end of standard input, or until what was `said` is answered.

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
            if said:
                await screen.say(said)
            else:
                await screen.hear_out(sys.stdin)
            await _within(_ANSWER_S, screen.answered(), show)
            hearing.cancel()


async def ask(home: Home, environ: Mapping[str, str], pack: str, text: str) -> str:
    """Return what is answered to `text`, which waits for it however long it takes.

    Raises:
        SetupError: no bot is running, and none can be built here.
        TurnFailed, NoAnswer: there is no answer; says why.
    """
    async with _asking(home, environ) as asks:
        answer: Facts = {}
        for said in (f"/use {pack}", text) if pack else (text,):
            async with aclosing(asks("ask", text=said, chat=_CHAT)) as answers:
                answer = await anext(answers)
        return answer["text"]


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

    async def hear_out(self, lines: TextIO) -> None:
        while line := await asyncio.to_thread(lines.readline):
            if text := line.strip():
                await self.say(text)

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
        with Logs(file=home.log_file, redactor=redactor, quiet=True) as logs, one_setup_error():
            async with running(home, loaded, adopt=logs.adopt) as (_, runtime):
                yield _inside(verbs_of(runtime))


def _without_telegram(loaded: Loaded) -> Loaded:
    """Return the settings without the bot token, so that Telegram is not polled."""
    telegram = loaded.settings.telegram.model_copy(update={"bot_token": SecretStr("")})
    settings = loaded.settings.model_copy(update={"telegram": telegram})
    return replace(loaded, settings=settings)
