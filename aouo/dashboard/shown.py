"""Holds what the page shows: a running bot, or what is stored while none runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import TYPE_CHECKING

from aouo.config.settings import Settings
from aouo.dashboard.endpoints import NotFound
from aouo.facts.errors import Refused
from aouo.facts.people import Owner
from aouo.facts.ports import Clock
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.plumbing.home import Home
from aouo.plumbing.redact import Redactor
from aouo.plumbing.verbs import Facts
from aouo.store.snapshots import Snapshot

if TYPE_CHECKING:
    from aouo.app.lifecycle import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the rooms of the page stand on. `snapshot` opens one state of the database, read beside
    the event loop; `environ` is what the configuration is read with; `trusted_keys` are signers by
    name; `runtime` is None while no bot runs, and all is read only then."""

    home: Home
    environ: Mapping[str, str]
    clock: Clock
    snapshot: Callable[[], AbstractAsyncContextManager[Snapshot]]
    zone: Callable[[], tzinfo]
    library: Callable[[], Library]
    settings: Callable[[], Settings]
    redactor: Callable[[], Redactor]
    owner: Callable[[], Owner]
    trusted_keys: Callable[[], Mapping[str, str]]
    health: Callable[[], Awaitable[Facts]]
    status: Callable[[], Awaitable[Facts]]
    runtime: Runtime | None = None

    @property
    def today(self) -> date:
        """The local day."""
        return self.clock.now().astimezone(self.zone()).date()

    @property
    def bot(self) -> Runtime:
        """The bot that runs. Raises: Refused."""
        if self.runtime is None:
            raise Refused("No bot runs; this is what is stored, to be read only.")
        return self.runtime

    def pack(self, name: str) -> Pack:
        """Return an installed pack that loads. Raises: NotFound, Refused."""
        library = self.library()
        if pack := library.get(name):
            return pack
        if name in library.broken:
            raise Refused(f"The pack {name} does not load; About says why.")
        raise NotFound(f"There is no pack {name!r}.")
