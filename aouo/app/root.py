"""Opens an App: the base, and everything that the settings make on it.

The base comes first (database, HTTP session, Telegram's poll), so that a person is heard while
the rest is still being imported and built in `wiring`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

import structlog

from aouo.app.base import Base
from aouo.config.settings import Settings
from aouo.facts.ports import ChatModel, Clock
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.failing import one_setup_error
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Adopt, not_logging
from aouo.plumbing.mounts import file_system, is_network
from aouo.store.opening import opened
from aouo.telegram.channel import TelegramChannel
from aouo.web.session import session_through

if TYPE_CHECKING:
    from aouo.app.wiring import App
    from aouo.tools.registry import Tool

log = structlog.get_logger()


@asynccontextmanager
async def open_app(
    home: Home,
    settings: Settings,
    *,
    clock: Clock | None = None,
    model: ChatModel | None = None,
    more_tools: Sequence[Tool] = (),
    online: bool = True,
    adopt: Adopt = not_logging,
) -> AsyncGenerator[App]:
    """Build the runtime on `home`, whose lock the caller holds; close it in reverse order.

    `model` and `more_tools` replace and extend what the settings name. Polling begins at once;
    what it brings waits until `app.lifecycle` runs the app. `online` and `adopt`: see `Base`.

    Raises:
        SetupError: something the owner has to change.
    """
    clock = clock or SystemClock()
    with one_setup_error():
        async with AsyncExitStack() as stack:
            base = await _base(home, settings, clock, stack)
            base = replace(base, online=online, adopt=adopt)
            # In a thread, so that the poll's request leaves meanwhile.
            await asyncio.to_thread(import_module, "aouo.app.wiring")
            from aouo.app.wiring import build

            yield await build(base, settings, model=model, more_tools=more_tools)


async def _base(home: Home, settings: Settings, clock: Clock, stack: AsyncExitStack) -> Base:
    if is_network(kind := file_system(home.path)):
        log.warning("home_on_network", file_system=kind, home=str(home.path))
    database = await stack.enter_async_context(opened(home.database))
    session = await stack.enter_async_context(session_through(clock=clock))
    telegram = None
    if settings.telegram.enabled and settings.telegram.bot_token.get_secret_value():
        own = session
        if proxy := settings.telegram.proxy:
            own = await stack.enter_async_context(session_through(proxy, clock=clock))
        telegram = TelegramChannel(
            settings=settings.telegram, session=own, clock=clock, database=database
        )
        group = await stack.enter_async_context(asyncio.TaskGroup())
        stack.callback(telegram.stop_listening)
        telegram.start_listening(group)
    return Base(home, clock, database, session, telegram, stack)
