"""Reads what is installed anew, and lets new turns begin with it."""

from __future__ import annotations

import asyncio
from functools import partial

from aouo.app.base import Base
from aouo.app.generations import Built
from aouo.installer.changes import owners_chat
from aouo.installer.installed import as_if, changed, going_on, scanned
from aouo.installer.kit import PackKit
from aouo.installer.packs import Packs
from aouo.store import installs
from aouo.triggers.scheduling import ZoneOf


class Refreshing:
    """Swaps generations; `menu_changed` is set when the menu of commands may say less or more."""

    def __init__(self, base: Base, built: Built) -> None:
        self._base = base
        self._built = built
        self.menu_changed = asyncio.Event()
        self._one_by_one = asyncio.Lock()

    async def refresh(self) -> None:
        """Make the next generation of what lies on disk now; what changed is opened anew.

        One at a time: what was read earlier never takes the place of what was read later.
        """
        async with self._one_by_one:
            await self._refresh()

    async def _refresh(self) -> None:
        base, leases = self._base, self._built.leases
        found = await scanned(base.home, base.settings, base.database)
        pinned = await base.database.read(installs.all_of)
        library = going_on(leases.library, found, base.home, pinned)
        for name in changed(leases.library, library):
            await asyncio.to_thread(self._built.stores.release, name)
        leases.swap(self._built.renewed(library))
        self.menu_changed.set()

    def packs(self, zone_of: ZoneOf) -> Packs:
        """What installs, upgrades and removes, with this behind each change."""
        base, leases = self._base, self._built.leases
        kit = PackKit(
            home=base.home,
            clock=base.clock,
            database=base.database,
            stores=self._built.stores,
            library=lambda: leases.library,
            alone=leases.change,
            scan=partial(as_if, base.home, base.settings, base.database),
            refresh=self.refresh,
            trusted_keys=lambda: base.settings.packs.trusted_keys,
            zone_of=zone_of,
            owners_chat=owners_chat(base.settings),
        )
        return Packs(kit)
