"""A conversation with each family of model services: what its cache saves, what learning costs.

Each runs the real channel, runtime and provider code against a local service that keeps the
family's rules (`tests.fakes.models`); every third message calls a tool, every fifteenth writes
into a memory file. Requests for titles and summaries count too, and so do refused ones. Pictures,
restarts and a change of service are in `tests/path/models/test_sixty_turns.py`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from aouo.app.local.conversing import running
from aouo.config.file import load_settings
from aouo.emulator import ADA
from aouo.installer.installed import sample_packs
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Logs
from aouo.queue.lanes import idle
from aouo.store import jobs
from scripts.benchmarks.table import Row
from tests.fakes.models import CallPart, ModelService, Reply, Says, names, profile
from tests.fakes.models.asked import Asked
from tests.fakes.telegram import LocalTelegram

_WAIT_S = 300.0
_ANSWER = "This is the answer to what you just asked of me here, in a sentence or two. " * 3
_BEGINNING = _ANSWER[:30]
_TOOL = "memory"
_CALLS = {
    "look it up": {"action": "read"},
    "note it": {"action": "append", "content": "They asked for it."},
}


def services(_bench: Any, *, quick: bool) -> list[Row]:
    """Cached share of the prompts, and requests for one answer: a row for each profile."""
    return asyncio.run(_all(9 if quick else 60))


async def _all(turns: int) -> list[Row]:
    """All at the same time, for Telegram takes no more than a message a second in one chat."""
    with Logs(quiet=True):
        async with asyncio.TaskGroup() as group:
            talks = [group.create_task(_conversation(name, turns)) for name in names()]
    return [talk.result() for talk in talks]


async def _conversation(name: str, turns: int) -> Row:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        telegram = await stack.enter_async_context(LocalTelegram(parts=()))
        # Windows as an owner would set them who read what the docs say of Ollama's 4,096.
        loaded = 0 if profile(name).key == "bearer" or name == "gemini" else 32_768
        service = ModelService(profile(name), _answer, keep=False, loaded=loaded)
        await stack.enter_async_context(service)
        home = Home(folder)
        home.create()
        packs = {pack.name: pack for pack in sample_packs()}
        (home.packs / "notes").symlink_to(packs["notes"].resolve())
        told = {
            "telegram": {
                "bot_token": telegram.token,
                "allowed_user_ids": [ADA],
                "api_base_url": telegram.base_url,
                "streaming": "off",
            },
            **service.settings(),
        }
        home.config.write_text(json.dumps(told))
        home.config.chmod(0o600)
        with home.lock():
            async with (
                running(home, load_settings(folder, {})) as (app, _),
                asyncio.timeout(_WAIT_S),
            ):
                for at in range(turns):
                    before = await app.shared.database.read(jobs.count)
                    await telegram.client.say(ADA, ADA, f"{at}: {_words(at)}")
                    await idle(app.shared.database, app.shared.clock, at_least=before + 1)
        shown = await telegram.client.messages(ADA)
        answered = sum(one.from_bot and one.text.startswith(_BEGINNING) for one in shown)
        return _row(name, answered, service.figures())


def _answer(asked: Asked) -> Reply:
    last = asked.entries[-1]
    for words, how in _CALLS.items():
        if last.role == "user" and last.text.endswith(words) and _TOOL in asked.tools:
            return Says(calls=(CallPart(_TOOL, {"target": "memory"} | how),))
    return Says(_ANSWER)


def _words(at: int) -> str:
    if at % 15 == 8:
        return "note it"
    return "look it up" if at % 3 == 2 else "What do you think of this?"


def _row(name: str, answered: int, figures: dict[str, int]) -> Row:
    """Services that have no cache, or say nothing of it, have no share."""
    told = profile(name).caching.kind != "none"
    share = 100 * figures["cached_tokens"] / (figures["prompt_tokens"] or 1)
    each = figures["requests"] / (answered or 1)
    note = f"{each:.2f} requests for each of {answered} answers, {figures['refused']} refused"
    return Row(
        f"{name}: cached share of the prompts",
        "%",
        share if told else None,
        digits=1,
        n=answered,
        note=note if told else f"{note}; the service tells of no cache",
    )
