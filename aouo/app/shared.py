"""Holds what lives as long as the process, whatever its settings are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from aouo.app.base import Base
from aouo.facts.ports import ChatModel
from aouo.memory.keeping import Keeping
from aouo.packs.library import Library
from aouo.packs.memories import Memories
from aouo.packs.stores import PackStores
from aouo.plumbing.apart import Apart
from aouo.plumbing.bus import Bus
from aouo.plumbing.current import Current
from aouo.plumbing.resources import Resources
from aouo.spending.reservations import Reservations
from aouo.tools.registry import Tool
from aouo.turn.tokens import Estimator


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Base):
    """The base and what generations share: what is open, and what was learnt or counted.

    `model` answers in place of what the settings name, None = as they say; `more_tools` are there
    besides. `library` is what is installed now; nothing is before the first generation. `timezone`
    is that of now, whose day it is for all that is spent. `resources` is what generations hand on
    to each other, as long as they want the same; `tasks` runs what these start, and `apart` what
    may hang. `page` gives the address of the local page, without its token, "" = none listens.
    """

    model: ChatModel | None
    more_tools: Sequence[Tool]
    bus: Bus
    library: Current[Library]
    timezone: Current[str]
    resources: Resources
    tasks: asyncio.TaskGroup
    stores: PackStores
    memories: Memories
    keeping: Keeping
    reservations: Reservations
    estimator: Estimator
    apart: Apart
    page: Current[Callable[[], str]]


async def share(
    base: Base, *, model: ChatModel | None = None, more_tools: Sequence[Tool] = ()
) -> Shared:
    """Open it on the base; what has to be closed is closed with the base's stack."""
    tasks, resources = await base.stack.enter_async_context(asyncio.TaskGroup()), Resources()
    base.stack.push_async_callback(resources.aclose)
    current = Current(Library({}, {}, {}))

    def library() -> Library:
        return current.now

    stores = PackStores(base.home, library, base.clock)
    base.stack.callback(stores.close)
    memories = Memories(library, stores.private)
    return Shared(
        **{one.name: getattr(base, one.name) for one in fields(base)},
        model=model,
        more_tools=more_tools,
        bus=Bus(),
        library=current,
        timezone=Current(""),
        resources=resources,
        tasks=tasks,
        stores=stores,
        memories=memories,
        keeping=Keeping(database=base.database, clock=base.clock, files_of=memories.files),
        reservations=Reservations(),
        estimator=Estimator(),
        apart=Apart(),
        page=Current(lambda: ""),
    )
