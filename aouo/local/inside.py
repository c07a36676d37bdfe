"""Runs the bot inside this process while a block runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aouo.app.lifecycle import Runtime
from aouo.app.serve import open_app
from aouo.app.wiring import App
from aouo.config.file import Loaded
from aouo.facts.ports import ChatModel, Clock
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Adopt, not_logging


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
