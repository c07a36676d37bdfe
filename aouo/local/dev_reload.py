"""Reloads packs under development when their files change, while their bot runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TypeAlias

from aouo.facts.errors import PackError
from aouo.facts.ports import Clock
from aouo.packs.format.folder import SKIPPED
from aouo.packs.format.problems import errors
from aouo.packs.load import Pack, load_pack
from aouo.plumbing.changes import changes
from aouo.plumbing.trees import Found, TooMuch, walk

_LOOK_EVERY_S = 1.0
_Looks: TypeAlias = Mapping[str, tuple[int, int]]
"""The size and modification time of each file of a folder, by its path in it."""


async def take_up_edits(
    folders: Sequence[Path],
    *,
    clock: Clock,
    check: Callable[[Pack], None],
    refresh: Callable[[], Awaitable[None]],
    tell: Callable[[str], None],
) -> None:
    """Watch the folders for ever; `tell` gets one line for each change.

    `check` raises a `PackError` if the stored data does not fit the changed pack. A pack that does
    not load or pass the check stays as it was.
    """

    async def look() -> dict[Path, _Looks]:
        return {folder: await asyncio.to_thread(_looks_of, folder) for folder in folders}

    seen = await look()
    async with aclosing(changes(look, seen, clock=clock, every_s=_LOOK_EVERY_S)) as looks:
        async for now in looks:
            for folder in [one for one in folders if now[one] != seen[one]]:
                tell(await _taken_up(folder, check, refresh))
            seen = now


async def _taken_up(
    folder: Path, check: Callable[[Pack], None], refresh: Callable[[], Awaitable[None]]
) -> str:
    """Reload one pack if possible; return a line that says how it went."""
    loaded = await asyncio.to_thread(load_pack, folder)
    if loaded.pack is None:
        return f"{loaded.name} goes on as it was: {errors(loaded.problems)[0]}"
    try:
        await asyncio.to_thread(check, loaded.pack)
    except PackError as error:
        return f"{loaded.name} goes on as it was: {error}"
    await refresh()
    line = f"reloaded {loaded.name} {loaded.pack.manifest.version}"
    return f"{line}; {loaded.problems[0]}" if loaded.problems else line


def _looks_of(folder: Path) -> _Looks:
    """Return the sizes and times of a folder's files; no file is read."""
    found: dict[str, tuple[int, int]] = {}
    with suppress(TooMuch):  # loading the pack reports that
        for one in walk(folder, enter=_is_looked_at, closed=lambda path: None):
            if not one.is_folder:
                found[one.path] = (one.facts.st_size, one.facts.st_mtime_ns)
    return found


def _is_looked_at(found: Found) -> bool:
    return found.path.rpartition("/")[2] not in SKIPPED
