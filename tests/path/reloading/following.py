"""Saves a configuration while the bot runs on it, and waits for what follows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

from aouo.plumbing.client import answers
from aouo.plumbing.home import write_atomically
from tests.path.world import WAIT_S, Running, World


def tree(world: World) -> dict[str, Any]:
    return json.loads(world.home.config.read_text())


def save(world: World, **sections: Mapping[str, Any]) -> None:
    """Change these keys as an editor does: a new file takes the place of the old."""
    new = tree(world)
    for name, section in sections.items():
        new[name] = new.get(name, {}) | section
    write_atomically(world.home.config, json.dumps(new))


@asynccontextmanager
async def swap(bot: Running) -> AsyncGenerator[None]:
    """What the block does leads to another generation."""
    before = bot.app.generations.now
    yield
    async with asyncio.timeout(WAIT_S):
        await bot.app.generations.after(before)


async def ask_for(world: World, verb: str) -> dict[str, Any]:
    """What the running bot answers to a terminal."""
    async with aclosing(answers(world.home, verb, timeout_s=WAIT_S)) as found:
        return await anext(found)


async def reload(world: World) -> dict[str, Any]:
    return await ask_for(world, "reload")
