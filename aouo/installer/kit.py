"""What every change of packs works with, whether the runtime goes on or none runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from aouo.facts.people import Owner
from aouo.facts.ports import Clock
from aouo.packs.library import Library
from aouo.packs.stores import PackStores
from aouo.plumbing.home import Home
from aouo.store.database import Database
from aouo.triggers.scheduling import ZoneOf


@dataclass(frozen=True, slots=True, kw_only=True)
class PackKit:
    """`library` is what is installed, as turns see it. `alone` has a pack for oneself. `scan` reads
    what is installed as if packs were pinned to these digests, `refresh` reads it as it is and lets
    new turns begin with it. The chat of the `owner` gets the schedules of what was installed at a
    terminal.
    """

    home: Home
    clock: Clock
    database: Database
    stores: PackStores
    library: Callable[[], Library]
    alone: Callable[[str], AbstractAsyncContextManager[None]]
    scan: Callable[[Mapping[str, str]], Awaitable[Library]]
    refresh: Callable[[], Awaitable[None]]
    trusted_keys: Callable[[], Mapping[str, str]]
    zone_of: ZoneOf
    owner: Callable[[], Owner]
