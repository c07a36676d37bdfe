"""A bot with a past, with secrets in its configuration, whose page is sent whatever there is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.path.dashboard.fuzzing import Fuzzing
from tests.path.dashboard.looking import dashboard
from tests.path.looking import settled
from tests.path.world import World

SECRET = "sk-hidden-4f9a7c21d0b8"
"""No answer of the model or of a tool says it."""


@asynccontextmanager
async def fuzzed(world: World, seed: int = 0) -> AsyncGenerator[Fuzzing]:
    """Run the bot; yield what sends."""
    world.install("notes", "vocab")
    world.config = {
        "providers": {"fake": {"base_url": world.model.base_url, "api_key": SECRET}},
        "dashboard": {"token": f"{SECRET}-page"},
    }
    async with dashboard(world) as shown:
        for said in ("/use notes", "remember the bees", "<script>alert(1)</script> \u202e"):
            await shown.bot.ask(said)
        await settled(shown.bot)
        await shown.get("/healthz")  # from the first connection on there is a key
        hidden = (SECRET, world.emulator.token, world.home.dashboard_key.read_text())
        address = str(shown.link.origin())
        yield await asyncio.to_thread(Fuzzing, address, f"{SECRET}-page", hidden, seed)
