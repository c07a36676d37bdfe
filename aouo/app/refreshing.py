"""Lets new work begin with another generation; reads what is installed anew."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aouo.app.shared import Shared
from aouo.flow.generation import Generation
from aouo.flow.generations import Generations
from aouo.installer.installed import changed
from aouo.installer.kit import PackKit
from aouo.installer.packs import Packs
from aouo.packs.library import Library
from aouo.triggers.scheduling import ZoneOf


class Refreshing:
    """Swaps generations; `menu_changed` is set when the menu of commands may say less or more."""

    def __init__(self, shared: Shared, generations: Generations) -> None:
        self.shared = shared
        self._generations = generations
        self.menu_changed = asyncio.Event()
        self._one_by_one = asyncio.Lock()

    async def refresh(self) -> None:
        """Make the next generation of what lies on disk now.

        One at a time: what was read earlier never takes the place of what was read later.
        """
        async with self._one_by_one:
            now = self._generations.now
            await self.swap(now.renewed(await now.installable.scanned()))

    async def swap(self, generation: Generation) -> None:
        """From now on new work begins with `generation`; packs that changed are opened anew."""
        for name in changed(self._generations.library, generation.library):
            await asyncio.to_thread(self.shared.stores.release, name)
        self._generations.swap(generation)
        self.menu_changed.set()

    async def _as_if(self, pinned: Mapping[str, str]) -> Library:
        return await self._generations.now.installable.as_if(pinned)

    def packs(self, zone_of: ZoneOf) -> Packs:
        """What installs, upgrades and removes, with a refresh after each change."""
        shared, generations = self.shared, self._generations
        kit = PackKit(
            home=shared.home,
            clock=shared.clock,
            database=shared.database,
            stores=shared.stores,
            library=lambda: generations.library,
            alone=generations.change,
            scan=self._as_if,
            refresh=self.refresh,
            trusted_keys=lambda: generations.now.installable.trusted_keys,
            zone_of=zone_of,
            owner=lambda: generations.now.owner,
        )
        return Packs(kit)
