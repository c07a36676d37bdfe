"""Holds what lives as long as the process, whatever its settings are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from aouo.app.base import Base
from aouo.facts.ports import ChatModel
from aouo.memory.keeping import Keeping
from aouo.packs.library import Library
from aouo.packs.memories import Memories
from aouo.packs.stores import PackStores
from aouo.plumbing.bus import Bus
from aouo.plumbing.current import Current
from aouo.spending.reservations import Reservations
from aouo.tools.registry import Tool
from aouo.turn.tokens import Estimator


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Base):
    """The base and what generations share: what is open, and what was learnt or counted.

    `model` answers in place of what the settings name, None = as they say; `more_tools` are there
    besides. `library` is what is installed now; nothing is before the first generation.
    """

    model: ChatModel | None
    more_tools: Sequence[Tool]
    bus: Bus
    library: Current[Library]
    stores: PackStores
    memories: Memories
    keeping: Keeping
    reservations: Reservations
    estimator: Estimator


def share(base: Base, *, model: ChatModel | None = None, more_tools: Sequence[Tool] = ()) -> Shared:
    """Open it on the base; what has to be closed is closed with the base's stack."""
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
        stores=stores,
        memories=memories,
        keeping=Keeping(database=base.database, clock=base.clock, files_of=memories.files),
        reservations=Reservations(),
        estimator=Estimator(),
    )
