"""What is installed, as it lies on disk now."""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from aouo.home import Home
from aouo.packs import library as packs
from aouo.packs.library import Library
from aouo.settings import Settings
from aouo.store import installs
from aouo.store.database import Database

log = structlog.get_logger()


async def scanned(home: Home, settings: Settings, database: Database) -> Library:
    """Load what is installed; a broken pack is said and left out."""
    pinned = await database.read(installs.all_of)
    library = await asyncio.to_thread(
        packs.scan,
        home.packs,
        map(Path, settings.packs.scan_dirs),
        settings.packs.enabled,
        home.skills,
        settings.tools.enabled,
        {pack: install.digest for pack, install in pinned.items()},
    )
    for name, problems in library.broken.items():
        log.error("pack_broken", pack=name, problems=[str(problem) for problem in problems])
    for name, problems in library.warnings.items():
        for problem in problems:
            log.warning("pack_warning", pack=name, problem=str(problem))
    for problem in library.command_collisions():
        log.warning("command_collision", problem=str(problem))
    return library


def changed(old: Library, new: Library) -> tuple[str, ...]:
    """The packs that are not in both, or not the same in both."""
    names = {*old.names, *new.names}
    return tuple(sorted(name for name in names if old.get(name) != new.get(name)))
