"""Loads the library from what is installed on disk, and finds the packs of aouo."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from aouo.config.sections import Packs
from aouo.packs.databases import unseen_rows
from aouo.packs.format.manifest import FILE as MANIFEST
from aouo.packs.format.problems import Problem
from aouo.packs.library import Library
from aouo.packs.library import scan as read_library
from aouo.packs.load import Pack
from aouo.plumbing.home import Home
from aouo.plumbing.logs import log
from aouo.store import installs
from aouo.store.database import Database
from aouo.store.opening import reading


def sample_packs() -> list[Path]:
    """Return the folders of the sample packs, in the checkout or in the installed package."""
    import aouo

    package = Path(aouo.__file__).parent
    places = (package.parent / "packs", package / "sample_packs")
    folder = next((place for place in places if place.is_dir()), places[1])
    return sorted(file.parent for file in folder.glob("*/pack.yml"))


def _scan(home: Home, section: Packs, tools: Sequence[str], pinned: Mapping[str, str]) -> Library:
    """Load the installed packs, as the owner's `section` on packs and the enabled `tools` say;
    `pinned` are the content hashes they were installed with, by pack."""
    library = read_library(
        home.packs, map(Path, section.scan_dirs), section.enabled, home.skills, tools, pinned
    )
    unseen = {
        pack.name: (*library.warnings.get(pack.name, ()), _unseen(pack, place))
        for pack in library.packs.values()
        if (place := unseen_rows(home, pack))
    }
    return replace(library, warnings={**library.warnings, **unseen}) if unseen else library


def _unseen(pack: Pack, place: Path) -> Problem:
    """Return the warning that the owner reads after `schema.scope` changed."""
    person = pack.manifest.schema.scope == "person"
    was, whose = ("shared", "everybody shared") if person else ("person", "each person kept apart")
    message = (
        f"rows that {whose} before are not seen any more; they stay in {place} until you remove "
        f"them, and scope: {was} shows them again"
    )
    return Problem(MANIFEST, 0, "schema.scope", message, "warning")


def scan_at_rest(
    home: Home, section: Packs, tools: Sequence[str], *, left_out_too: bool = False
) -> Library:
    """Load the packs as the bot of this home would, whether it runs or not.

    `left_out_too`: also those that packs.enabled leaves out. Raises `SetupError` as `reading`.
    """
    if left_out_too:
        section = section.model_copy(update={"enabled": ()})
    if not home.database.exists():
        return _scan(home, section, tools, {})
    with reading(home.database) as tx:
        pinned = installs.all_of(tx)
    return _scan(home, section, tools, {pack: install.digest for pack, install in pinned.items()})


async def as_if(
    home: Home, section: Packs, tools: Sequence[str], database: Database, pinned: Mapping[str, str]
) -> Library:
    """Load the packs as if those in `pinned` were installed with these content hashes."""
    known = await database.read(installs.all_of)
    digests = {pack: install.digest for pack, install in known.items()}
    return await asyncio.to_thread(_scan, home, section, tools, {**digests, **pinned})


async def scanned(home: Home, section: Packs, tools: Sequence[str], database: Database) -> Library:
    """Load the installed packs; a broken one is logged and left out."""
    library = await as_if(home, section, tools, database, {})
    for name, problems in library.broken.items():
        log.error("pack_broken", pack=name, problems=[str(problem) for problem in problems])
    for name, problems in library.warnings.items():
        for problem in problems:
            log.warning("pack_warning", pack=name, problem=str(problem))
    for problem in library.command_collisions():
        log.warning("command_collision", problem=str(problem))
    return library


def going_on(old: Library, new: Library, home: Home, pinned: Collection[str]) -> Library:
    """Return `new`; a pack that is edited in place and does not load stays as it was in `old`.

    An installed pack does not stay: its files are not those that the owner agreed to.
    """
    kept = {
        name: pack
        for name, pack in old.packs.items()
        if name in new.broken and name not in pinned and _is_edited_there(pack.folder, home)
    }
    return replace(new, packs=MappingProxyType(dict(sorted({**new.packs, **kept}.items()))))


def but_for(old: Library, new: Library, names: Collection[str]) -> Library:
    """Return `new` with these packs as they are in `old`: somebody is changing them, and half of a
    change may have been read."""
    packs = {name: pack for name, pack in new.packs.items() if name not in names}
    packs |= {name: old.packs[name] for name in names if name in old.packs}
    broken = {name: problems for name, problems in new.broken.items() if name not in names}
    return replace(new, packs=MappingProxyType(dict(sorted(packs.items()))), broken=broken)


def _is_edited_there(folder: Path, home: Home) -> bool:
    return folder.is_dir() and (folder.is_symlink() or folder.parent != home.packs)


def changed(old: Library, new: Library) -> tuple[str, ...]:
    """Return the names of packs that differ, or that only one library has."""
    names = {*old.names, *new.names}
    return tuple(sorted(name for name in names if old.get(name) != new.get(name)))
