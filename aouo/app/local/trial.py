"""Tries the bot on this machine alone: a local Telegram and the real channel."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from aouo.app.keeping import is_kept, keep
from aouo.app.lifecycle import Runtime
from aouo.app.local.conversing import running, take_up_edits
from aouo.app.serve import stop_on_signals
from aouo.app.wiring import App
from aouo.config.file import Loaded, load_settings
from aouo.emulator.client import ChatMessage, EmulatorClient
from aouo.facts.errors import SetupError
from aouo.facts.ports import NO_MODEL, Clock
from aouo.installer.packs import Packs
from aouo.packs.authoring import make
from aouo.packs.shipping.archive import pack_archive
from aouo.plumbing import children
from aouo.plumbing.home import Home, write_atomically
from aouo.plumbing.logs import Logs
from aouo.plumbing.redact import Redactor
from aouo.plumbing.trees import remove
from aouo.plumbing.waiting import one_setup_error
from aouo.plumbing.web.session import secrets_of
from aouo.queue.lanes import idle
from aouo.store import jobs, turns
from aouo.store.database import Database
from aouo.words.catalogue import text as sentence

_ADA, _BEN = 1001, 1002
_FIRST = "notes"
"""The pack that answers where nobody has chosen one."""
_ANSWER_S = 120.0
_EMULATOR_ENDS_S = 5.0
_SERVICES_OWN = ("AOUO_PROVIDER__", "AOUO_PROVIDERS__")
_KEYS = {
    "OPENAI_API_KEY": "openai",
    "GROQ_API_KEY": "groq",
    "GEMINI_API_KEY": "gemini",
    "GOOGLE_API_KEY": "gemini",
}
"""Keys whose service answers a trial, the first that is set."""
_OLLAMA = "http://127.0.0.1:11434"
_OLLAMA_S = 1.0
_NOBODY = "No model answers. To connect one: OPENAI_API_KEY=… scripts/try, or run Ollama"
_UNCONNECTED = (
    "no model is connected: packs act by phrases, buttons and commands; for the rest set "
    "OPENAI_API_KEY, GROQ_API_KEY or GEMINI_API_KEY, or run Ollama, and start again"
)


@dataclass(frozen=True, slots=True)
class _Local:
    """The local Telegram: its address and token for the bot, and its page for a browser."""

    url: str
    page: str
    token: str


async def run(
    home: Home,
    environ: Mapping[str, str],
    packs: Sequence[Path],
    tell: Callable[[str], None],
    *,
    port: int = 0,
    language: str = "en",
    show: bool = False,
    model: bool = True,
    kept: bool = False,
) -> None:
    """Serve the chat page until a signal comes; `tell` gets lines of progress.

    Edits of the packs are loaded at once. `language` is the people's. With `show` a scripted model
    answers; else the first real one that the environment has a key for, or an Ollama on this
    machine, unless `model` is false. `kept`: the home goes on with what is in it, and can be taken
    to Telegram afterwards.

    Raises:
        SetupError: something the owner has to change.
    """
    async with (
        _answering(environ, tell, show=show, model=model) as served,
        _trial(home, environ, packs, tell, port, served, language, kept=kept) as (
            local,
            app,
            runtime,
        ),
        _taking_up_edits(app.packs, app.shared.clock, packs, tell),
    ):
        stop_on_signals(runtime)
        await _introduced(home, local, app)
        tell(f"ready: open {local.page} in a browser and write as Ada or Ben (Ctrl-C ends)")
        if app.generations.now.model.provider == NO_MODEL:
            tell(_UNCONNECTED)
        await runtime.ended.wait()
    if kept:
        keep(home)
        tell(
            f"kept: to take it to Telegram, set telegram.bot_token and telegram.allowed_user_ids "
            f"there (aouo --home {home.path} config edit), then: aouo start --home {home.path}"
        )


async def _introduced(home: Home, local: _Local, app: App) -> None:
    """Let the page say which model answers, and offer one more pack as a file."""
    model = app.generations.now.model
    banner = f"{model.provider} ({model.model}) answers" if model.model != NO_MODEL else _NOBODY

    def gift() -> Path:
        remove(home.path / "gift")
        folder = make("shopping", home.path / "gift")[0]
        pack_archive(folder, home.path / "gift" / "shopping.aouo")
        return home.path / "gift" / "shopping.aouo"

    file = await asyncio.to_thread(gift)
    content = base64.b64encode(file.read_bytes()).decode()
    async with EmulatorClient(local.url) as people:
        await people.act("introduce", banner=banner, gift=file.name, content=content)


@asynccontextmanager
async def _taking_up_edits(
    installed: Packs, clock: Clock, packs: Sequence[Path], tell: Callable[[str], None]
) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(
            take_up_edits(
                packs,
                clock=clock,
                check=installed.stores.check,
                refresh=installed.refresh,
                tell=tell,
            )
        )
        try:
            yield
        finally:
            watching.cancel()


async def say(
    home: Home,
    environ: Mapping[str, str],
    packs: Sequence[Path],
    tell: Callable[[str], None],
    *,
    text: str,
    pack: str,
    show: bool = False,
    model: bool = True,
) -> str:
    """Send one message as Ada, and return the answer that she reads; see `run`.

    Raises:
        SetupError: no answer came.
    """
    if not text.strip():
        raise SetupError("There is nothing to say.", fix='Write it like this: --say "Hello".')
    names = [folder.name for folder in packs]
    if pack not in names:
        raise SetupError(f"There is no pack {pack!r} to try.", fix=f"Choose: {', '.join(names)}.")
    async with (
        _answering(environ, tell, show=show, model=model) as served,
        _trial(home, environ, packs, tell, 0, served) as (local, app, runtime),
        EmulatorClient(local.url) as people,
    ):
        tell("ready; asking")
        asked = await people.say(_ADA, _ADA, f"/use {pack}")
        await people.next_message(_ADA, after=asked.id, contains="answers here")
        database, clock = app.shared.database, app.shared.clock
        before = await database.read(jobs.count)  # the existing topics are jobs too
        asked = await people.say(_ADA, _ADA, text)
        status = await _answered(database, clock, at_least=before + 1)
        said = [m for m in await people.messages(_ADA) if m.from_bot and m.id > asked.id]
        about = sentence("turns.about-model")  # told to the owner besides
        said = [m for m in said if not m.text.startswith(about)]
        runtime.stop()
        await runtime.ended.wait()
    answer = "\n".join(line for message in said for line in _lines(message))
    if status not in ("ack", "") or not answer:
        raise SetupError(answer or "No answer came.", fix=f"(See {home.log_file})", exit_code=1)
    return answer


def _lines(message: ChatMessage) -> list[str]:
    """Return the lines to print for a message, with its buttons."""
    return [message.text, *(f"  [{button.text}]" for button in message.buttons)]


async def _answered(database: Database, clock: Clock, *, at_least: int) -> str:
    """Wait until so many jobs exist and none is open; return the newest turn's status or ""."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            await idle(database, clock, at_least=at_least)
    except TimeoutError:
        raise SetupError(f"No answer came within {_ANSWER_S:g} s.", exit_code=1) from None
    return await database.read(turns.newest_status)


@asynccontextmanager
async def _trial(
    home: Home,
    environ: Mapping[str, str],
    packs: Sequence[Path],
    tell: Callable[[str], None],
    port: int,
    served: Mapping[str, Any],
    language: str = "en",
    *,
    kept: bool = False,
) -> AsyncGenerator[tuple[_Local, App, Runtime]]:
    """Start a local Telegram in its own process, and the runtime in a fresh home, or one `kept`."""
    home.create()
    with one_setup_error(), home.lock():
        tell("starting a local Telegram")
        topics = [folder.name for folder in packs]
        async with _emulator(port, topics, language) as local:
            loaded = _furnish(home, environ, packs, local, served, kept=kept)
            redactor = Redactor(secrets_of(loaded.settings.secrets()))
            with Logs(file=home.log_file, redactor=redactor, quiet=True) as logs:
                tell("starting aouo")
                async with running(home, loaded, adopt=logs.adopt) as (app, runtime):
                    yield local, app, runtime


def _furnish(
    home: Home,
    environ: Mapping[str, str],
    packs: Sequence[Path],
    local: _Local,
    served: Mapping[str, Any],
    *,
    kept: bool = False,
) -> Loaded:
    """Empty the home, whose lock we hold, unless it is `kept`, and fill it.

    Raises:
        SetupError: there is another home than that of a trial.
    """
    if kept and json.loads(home.config.read_text("utf-8")) and not is_kept(home):
        raise SetupError(
            f"{home.path} is no trial's home.", fix="Choose another folder with --keep."
        )
    for child in () if kept else home.path.iterdir():
        if child != home.run:
            remove(child)
    home.create()
    for folder in packs:
        if not (home.packs / folder.name).exists():
            (home.packs / folder.name).symlink_to(folder.resolve())
    config = {
        "telegram": {
            "bot_token": local.token,
            "allowed_user_ids": [_ADA, _BEN],
            "message_batch_ms": 250,
            "api_base_url": local.url,
        },
        "packs": {"default": next((folder.name for folder in packs if folder.name == _FIRST), "")},
        **served,
    }
    write_atomically(home.config, json.dumps(config, indent=2))
    real = ("TELEGRAM_BOT_TOKEN", "AOUO_TELEGRAM__")  # the owner's Telegram is not this one
    told = _without_services(environ, served)
    own = {key: value for key, value in told.items() if not key.startswith(real)}
    return load_settings(home.path, own)


@asynccontextmanager
async def _emulator(port: int, topics: Sequence[str], language: str) -> AsyncGenerator[_Local]:
    """Run the local Telegram as a child process, which ends when its stdin does."""
    process = await children.spawn(
        *children.PYTHON,
        "-m",
        "aouo.emulator",
        f"--port={port}",
        f"--language={language}",
        *(f"--topic={name}" for name in topics),
        "--told-of-topics",
        "--with-parent",
        stderr=None,
    )
    assert process.stdout
    try:
        line = await process.stdout.readline()
        if not line:
            raise SetupError("The local Telegram did not start.", fix="Is its port free?")
        told: dict[str, Any] = json.loads(line)
        yield _Local(told["url"], told["page"], told["token"])
    finally:
        await children.end(process, patience_s=_EMULATOR_ENDS_S)


@asynccontextmanager
async def _answering(
    environ: Mapping[str, str], tell: Callable[[str], None], *, show: bool, model: bool
) -> AsyncGenerator[Mapping[str, Any]]:
    """The settings of what answers a trial, while it does."""
    if show:
        from aouo.emulator.show import playing

        tell("a scripted model answers, to show what a real one does: write as Ada")
        async with playing() as served:
            yield {**served, "security": {"fence_mode": "ask"}}
    elif not model:
        yield {"provider": {"backend": NO_MODEL}}
    elif any(key.startswith(_SERVICES_OWN) for key in environ):
        yield {}
    elif key := next((key for key in _KEYS if environ.get(key)), ""):
        tell(f"{_KEYS[key]} answers, since {key} is set; it may cost money (--no-model: nobody)")
        yield {"provider": {"backend": _KEYS[key]}}
    elif name := await _ollama():
        tell(f"the Ollama of this machine answers, with {name} (--no-model: nobody)")
        yield {
            "provider": {"backend": "ollama", "model": name},
            "providers": {"ollama": {"base_url": f"{_OLLAMA}/v1"}},
        }
    else:
        yield {}


async def _ollama() -> str:
    """Return the first model of an Ollama on this machine, "" = there is none."""
    limit = aiohttp.ClientTimeout(total=_OLLAMA_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(f"{_OLLAMA}/api/tags") as answer,
        ):
            return str((await answer.json())["models"][0]["name"])
    except (aiohttp.ClientError, TimeoutError, ValueError, LookupError, TypeError):
        return ""


def _without_services(environ: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, str]:
    """The environment without what would point the trial at another service instead."""
    real = (*_SERVICES_OWN, *(f"AOUO_{section.upper()}__" for section in settings))
    chosen = dict[str, Any](settings.get("provider", {})).get("backend")
    keys = {key for key, backend in _KEYS.items() if backend == chosen}
    return {
        key: value
        for key, value in environ.items()
        if not settings or key in keys or not (key.startswith(real) or key.endswith("_API_KEY"))
    }
