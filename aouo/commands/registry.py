"""One registry for everything that begins with a slash and needs no model.

A handler runs inside the transaction that settles its job and queues its reply, so a command
takes effect exactly once, and a turn never races it. What only looks something up does so before.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from aouo.facts.events import Inbound
from aouo.facts.notices import Notice
from aouo.facts.work import Route
from aouo.packs.library import Library
from aouo.store.database import Tx
from aouo.store.snapshots import Snapshot

_NAME = re.compile(r"[a-z0-9_]{1,32}")


@dataclass(frozen=True, slots=True)
class Call:
    """One command as it reached its lane; `now` is the stored form of the time, `job` its job."""

    inbound: Inbound
    rest: str
    now: str
    job: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What to say, and what the lane has to do once the transaction is committed."""

    notice: Notice
    replay: bool = False  # messages that waited for a pack can go on
    stopped: int = 0  # the job at work that ends without an answer, 0 = none
    dropped: tuple[int, ...] = ()  # jobs that are over, by id


Handler: TypeAlias = Callable[[Tx, Call, Library], Result]
Look: TypeAlias = Callable[[Snapshot, Call, Route | None], Awaitable[Notice]]


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    description: str
    handler: Handler


@dataclass(frozen=True, slots=True)
class Lookup:
    """A command that only reads, and perhaps much: nothing waits while it does."""

    name: str
    description: str
    look: Look


class Commands:
    """Name → handler; a second handler for a name is a bug found at start."""

    def __init__(self, entries: Sequence[Entry | Lookup]) -> None:
        self._entries: dict[str, Entry | Lookup] = {}
        for entry in entries:
            if entry.name in self._entries or not _NAME.fullmatch(entry.name):
                raise ValueError(f"command {entry.name!r} is taken or misspelt")
            self._entries[entry.name] = entry

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._entries)

    def menu(self) -> tuple[tuple[str, str], ...]:
        """(name, description) in the order of registration."""
        return tuple((entry.name, entry.description) for entry in self._entries.values())

    def of(self, name: str) -> Entry | Lookup:
        return self._entries[name]
