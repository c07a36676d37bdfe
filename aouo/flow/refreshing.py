"""Lets new work begin with another generation, and reads anew what is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aouo.flow.generations import Generation, Generations
from aouo.installer.installed import but_for, changed
from aouo.packs.stores import PackStores
from aouo.plumbing.waiting import finish


@dataclass(slots=True, eq=False)
class Refreshing:
    """Swaps generations; `menu_changed` is set when the menu of commands may say less or more."""

    stores: PackStores
    generations: Generations
    menu_changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _one_by_one: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def refresh(self) -> None:
        """Make the next generation of what lies on disk now.

        One at a time: what was read earlier never takes the place of what was read later.
        """
        async with self._one_by_one:
            now = self.generations.now
            await self._swap(now.renewed(await now.scanned()))

    async def swap(self, prepare: Callable[[], Awaitable[Generation]]) -> None:
        """From now on new work begins with what `prepare` returns; packs that changed are opened
        anew, and those that somebody is changing stay as they are until that is over. If it
        raises, nothing changes."""
        async with self._one_by_one:
            generation = await prepare()
            if names := self.generations.changing:
                packs = but_for(self.generations.library, generation.library, names)
                generation = generation.renewed(packs)
            try:
                await self._swap(generation)
            finally:
                if self.generations.now is not generation:
                    await finish(generation.held.aclose())

    async def _swap(self, generation: Generation) -> None:
        for name in changed(self.generations.library, generation.library):
            await asyncio.to_thread(self.stores.release, name)
        self.stores.bot_owner = generation.owner.data_name
        self.generations.swap(generation)
        self.menu_changed.set()
