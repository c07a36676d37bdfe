"""Answers what `aouo doctor` finds, when somebody presses for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from aouo.app.services import configured, key_missing
from aouo.config.file import look_at
from aouo.config.settings import Settings
from aouo.dashboard.endpoints import Endpoint
from aouo.dashboard.examining import examine
from aouo.dashboard.shown import Shown
from aouo.facts.errors import Refused
from aouo.facts.ports import iso
from aouo.plumbing.verbs import Facts


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
            found = await examine(shown.home, shown.environ, fast=fast)
            last = {**found, "fast": fast, "at": iso(shown.clock.now())}
            return last

    return (
        Endpoint("GET", "/api/doctor", about),
        Endpoint("POST", "/api/doctor", run, body=True),
    )


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
