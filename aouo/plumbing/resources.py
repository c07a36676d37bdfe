"""Shares what is costly, replaces what is read as a whole, and loads what packages bring."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from aouo.facts.errors import SetupError
from aouo.plumbing.logs import log

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Thing:
    """What is shared; `key` says what made it: two that were made from the same are the same."""

    key: object
    made: Any
    close: Callable[[Any], Awaitable[None]] | None
    holders: set[Holder] = field(default_factory=set["Holder"])


@dataclass(slots=True, eq=False)
class Holder:
    """Holds what it has taken until it is closed. Holders of the same `things` share them by
    their keys, which are compared and need no hash."""

    things: list[Thing] = field(default_factory=list["Thing"])

    def take(
        self,
        key: object,
        make: Callable[[], _T],
        close: Callable[[_T], Awaitable[None]] | None = None,
    ) -> _T:
        """Return what `make` makes, or made for the same `key` before; `close` ends it."""
        thing = next((one for one in self.things if one.key == key), None)
        if thing is None:
            thing = Thing(key, make(), close)
            self.things.append(thing)
        thing.holders.add(self)
        return thing.made

    async def aclose(self) -> None:
        """Let go of everything; what nobody else holds is closed. It may be done twice."""
        for one in self.things:
            one.holders.discard(self)
        await _close(self.things, [one for one in self.things if not one.holders])

    async def __aenter__(self) -> Holder:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def close_all(things: list[Thing]) -> None:
    """Close all that is left, whoever holds it."""
    await _close(things, [*things])


async def _close(things: list[Thing], over: Sequence[Thing]) -> None:
    """Close some of the things, last made first."""
    # Forgotten first, so that nobody is handed one that is being closed.
    things[:] = [one for one in things if one not in over]
    for one in reversed(over):
        if one.close is None:
            continue
        try:
            await one.close(one.made)
        except Exception as error:  # the others are closed all the same
            log.exception("close_failed", error=repr(error))


@dataclass(slots=True, eq=False)
class Current(Generic[_T]):
    """Holds the current value as `now`; a reader keeps the value it has read."""

    now: _T


_FIX = "Mend or uninstall its package."


def found_entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, by name."""
    return _found(group, tuple((folder, _changed_at(folder)) for folder in sys.path))


def load_entry_point(entry: EntryPoint, what: str) -> Any:
    """Return the object that an entry point names; `what` it is goes into the error.

    Raises:
        SetupError: its package cannot be imported, or does not have it.
    """
    try:
        return entry.load()
    except Exception as error:
        raise entry_point_failed(entry, what, f"failed: {error!r}") from error


def entry_point_failed(entry: EntryPoint, what: str, why: str, *, fix: str = _FIX) -> SetupError:
    """Make the error of an entry point that is not what it should be."""
    return SetupError(f"The {what} {entry.name!r} ({entry.value}) {why}.", fix=fix)


@lru_cache(maxsize=8)
def _found(group: str, folders: Sequence[tuple[str, int]]) -> tuple[EntryPoint, ...]:
    """Looked for again when one of the folders changed."""
    del folders  # the key: what is searched is `sys.path`
    return tuple(sorted(entry_points(group=group), key=lambda entry: entry.name))


def _changed_at(folder: str) -> int:
    """When something was put into a folder or taken out, in ns; 0 if there is none."""
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0
