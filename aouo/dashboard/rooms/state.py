"""Answers how the bot is, what `aouo doctor` finds, and when something has changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import cast

from aouo.app.services import configured, key_missing
from aouo.config.file import look_at
from aouo.config.settings import Settings
from aouo.dashboard.access import Shown
from aouo.dashboard.endpoints import Endpoint, Frame
from aouo.facts.errors import Refused, SetupError
from aouo.facts.ports import iso
from aouo.plumbing import children
from aouo.plumbing.control import Facts
from aouo.plumbing.home import Home
from aouo.plumbing.waiting import Look, changes, look_of

_LIMIT_S = 180.0
_SAID_MAX = 1_000_000
"""Bytes of an answer."""


async def _examine(
    home: Home, environ: Mapping[str, str], *, fast: bool, limit_s: float = _LIMIT_S
) -> Facts:
    """Return what `aouo doctor --json` says; a cancellation ends it.

    Raises:
        SetupError: it said nothing that can be read, or did not end within `limit_s`.
    """
    process = await children.spawn(
        *(*children.PYTHON, "-m", "aouo", "--home", str(home.path), "doctor", "--json"),
        *(["--fast"] if fast else []),
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(limit_s):
            said = await _read(process)
    except TimeoutError:
        raise SetupError(f"The checks did not end within {limit_s:g} s.") from None
    finally:
        await children.end(process)
    try:
        facts = json.loads(said)
    except ValueError:
        raise SetupError("The checks could not be run.", fix="Run `aouo doctor`.") from None
    return cast("Facts", facts)


async def _read(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout
    said = await process.stdout.read(_SAID_MAX)
    while more := await process.stdout.read(_SAID_MAX):
        said = (said + more)[:_SAID_MAX]
    await process.wait()
    return said


def doctor(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about the checks."""
    alone = asyncio.Lock()
    last: Facts = {}

    async def about() -> Facts:
        """What the checks ask, and what they found last."""
        settings = await asyncio.to_thread(_settings, shown)
        return {"asks": list(_asks(settings)), "runs": alone.locked(), "last": last or None}

    async def run(fast: bool = False) -> Facts:
        """Run the checks of `aouo doctor`; they end.

        `fast` leaves out what needs the network.
        """
        nonlocal last
        if alone.locked():
            raise Refused("The checks run already; wait for their end.")
        async with alone:
            found = await _examine(shown.home, shown.environ, fast=fast)
            last = {**found, "fast": fast, "at": iso(shown.clock.now())}
            return last

    return (Endpoint("GET", "/api/doctor", about), Endpoint("POST", "/api/doctor", run, body=True))


def _settings(shown: Shown) -> Settings:
    if shown.runtime:
        return shown.runtime.reloading.accepted.settings
    return look_at(shown.home.path, shown.environ).settings


def _asks(settings: Settings) -> Iterator[str]:
    """Yield what the checks ask over the network, a sentence each."""
    if settings.telegram.bot_token.get_secret_value():
        yield "Telegram: whether the token is valid, and what the bot sees in its groups."
    models = dict.fromkeys(configured(settings))
    if settings.gemini.vision_model:
        models |= {("gemini", settings.gemini.vision_model): None}
    for backend, model in models:
        if model and not key_missing(settings, backend):
            yield f"{backend} {model}: one small question with a tool, a fraction of a cent."
    if settings.tts.backend not in ("off", "local"):
        yield f"{settings.tts.backend}: one spoken word."
    if settings.stt.backend not in ("off", "local") and settings.stt_api_key:
        yield f"{settings.stt.backend}: one second of silence to write down."
    for name, server in settings.mcp.servers.items():
        started = "; it is started once more for that" if server.command else ""
        yield f"The MCP server {name}: which tools it has{started}."


_EVERY_S = 0.5


def live(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoint that follows changes."""
    database = shown.home.database
    files = (database, Path(f"{database}-wal"), shown.home.config)

    async def look() -> tuple[Look, ...]:
        return tuple(map(look_of, files))  # the home's disk answers at once, or nothing works

    async def frames() -> AsyncGenerator[Frame]:
        """Yield a frame at once, and at each change; each stands for all before it."""
        seen = await look()
        yield Frame("changed", {})
        found = changes(look, seen, clock=shown.clock, every_s=_EVERY_S)
        async with aclosing(found) as looks:
            async for _ in looks:
                yield Frame("changed", {})

    async def follow() -> AsyncGenerator[Frame]:
        """An event `changed` each time that something stored has changed."""
        return frames()

    return (Endpoint("GET", "/api/live", follow, gives="frames"),)


def state(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about the process."""

    async def health() -> tuple[int, Facts]:
        """Whether messages come in, are worked on and go out."""
        facts = await shown.health()
        return 200 if facts["ok"] else 503, facts

    async def status() -> Facts:
        """How the running bot is."""
        return await shown.status()

    return (
        Endpoint("GET", "/healthz", health, needs_token=False),
        Endpoint("GET", "/api/status", status),
    )
