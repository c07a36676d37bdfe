"""Holds what every change of packs needs, while the runtime runs or without one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from aouo.facts.people import Owner
from aouo.facts.ports import Clock
from aouo.facts.schedule import ZoneOf
from aouo.packs.library import Library
from aouo.packs.stores import PackStores
from aouo.plumbing.home import Home
from aouo.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class PackKit:
    """What every change of packs needs.

    `library` gives the packs as turns see them. Within `alone` no turn uses the pack. `scan` loads
    the packs as if they were pinned to these digests; `refresh` loads them as they are, for new
    turns. The `owner`'s chat gets the schedules of packs that are installed at a terminal.
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
