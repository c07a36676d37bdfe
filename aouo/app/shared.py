"""Holds what lives as long as the process, whatever its settings are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import aiohttp

from aouo.facts.ports import ChatModel, Clock
from aouo.memory.keeping import Keeping
from aouo.packs.library import Library
from aouo.packs.memories import Memories
from aouo.packs.stores import PackStores
from aouo.plumbing.apart import Apart
from aouo.plumbing.bus import Bus
from aouo.plumbing.current import Current
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Adopt, not_logging
from aouo.plumbing.resources import Thing, close_all
from aouo.providers.dialect import Dialects
from aouo.spending.reservations import Reservations
from aouo.store.database import Database
from aouo.telegram.channel import TelegramChannel
from aouo.tools.registry import Tool
from aouo.turn.tokens import Estimator


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What generations share: what is open, and what was learnt or counted.

    Not `online`: no tool reaches the internet, whatever a pack may. `adopt` tells the process log
    what to write and to hide. `model` answers in place of what the settings name, None = as they
    say; `more_tools` are there besides. `library` is what is installed now; nothing is before the
    first generation. `timezone` is that of now, whose day it is for all that is spent. `things`
    are what generations hand on to each other, as long as they want the same; `tasks` runs what
    these start, and `apart` what may hang. `dialects` is what all models learn of their services.
    `page` gives the address of the local page, without its token, "" = none listens.
    """

    home: Home
    clock: Clock
    database: Database
    session: aiohttp.ClientSession
    telegram: TelegramChannel | None
    online: bool
    adopt: Adopt
    model: ChatModel | None
    more_tools: Sequence[Tool]
    bus: Bus
    library: Current[Library]
    timezone: Current[str]
    things: list[Thing]
    tasks: asyncio.TaskGroup
    stores: PackStores
    memories: Memories
    keeping: Keeping
    reservations: Reservations
    estimator: Estimator
    apart: Apart
    dialects: Dialects
    page: Current[Callable[[], str]]


async def share(
    stack: AsyncExitStack,
    *,
    home: Home,
    clock: Clock,
    database: Database,
    session: aiohttp.ClientSession,
    telegram: TelegramChannel | None,
    online: bool = True,
    adopt: Adopt = not_logging,
    model: ChatModel | None = None,
    more_tools: Sequence[Tool] = (),
) -> Shared:
    """Make the rest; `stack` closes what has to be closed, last made first."""
    tasks, things = await stack.enter_async_context(asyncio.TaskGroup()), list[Thing]()
    stack.push_async_callback(close_all, things)
    library = Current(Library({}, {}, {}))
    stores = PackStores(home, lambda: library.now, clock)
    stack.callback(stores.close)
    memories = Memories(lambda: library.now, stores.private)
    return Shared(
        home=home,
        clock=clock,
        database=database,
        session=session,
        telegram=telegram,
        online=online,
        adopt=adopt,
        model=model,
        more_tools=more_tools,
        bus=Bus(),
        library=library,
        timezone=Current(""),
        things=things,
        tasks=tasks,
        stores=stores,
        memories=memories,
        keeping=Keeping(database=database, clock=clock, files=memories.files),
        reservations=Reservations(),
        estimator=Estimator(),
        apart=Apart(),
        dialects=Dialects(),
        page=Current(lambda: ""),
    )
