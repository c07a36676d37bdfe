"""Finds where packs keep what they keep, and brings each tenant's where the scope says."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

from aouo.facts.errors import ToolFailed
from aouo.memory.files import NAMES
from aouo.packs.data.reading import has_rows
from aouo.packs.load import Pack
from aouo.plumbing.home import APART, Home, sync_folder
from aouo.plumbing.logs import log
from aouo.store.chats import is_tenant


def databases_of(home: Home, pack: str) -> list[Path]:
    """Return the files of a pack's databases: the shared one, then each tenant's."""
    shared = home.pack_database(pack)
    return [file for file in (shared,) if file.is_file()] + sorted(
        file for file in (home.store / pack).glob("*.db") if file.is_file()
    )


def unseen_rows(home: Home, pack: Pack) -> Path | None:
    """Return where rows lie that no tenant sees since `schema.scope` changed, None = none."""
    shared, tenant_folders = home.pack_database(pack.name), home.store / pack.name
    if pack.manifest.schema.scope == "person":
        return shared if shared.is_file() and has_rows(shared) else None
    return (
        tenant_folders
        if any(has_rows(file) for file in sorted(tenant_folders.glob("*.db")))
        else None
    )


def places_of(home: Home, tenant: str, shared: Collection[str]) -> list[Path]:
    """Return the files and folders that are one tenant's alone: of packs, their copies, and what
    was sent. In the folder of a `shared` pack nothing is."""
    folders = (one for one in home.pack_data.glob(f"*/{tenant}") if one.parent.name not in shared)
    return [
        *home.store.glob(f"*/{tenant}.db*"),
        *folders,
        *home.backups.glob(f"*/[0-9]*Z-{tenant}.db"),
        *home.media.glob(tenant),
        *home.media.glob(f"{tenant}_*"),
    ]


def tenant_in(pack: str, file: Path) -> str:
    """Whose database this is; "" = everybody's."""
    return file.stem if file.parent.name == pack else ""


def settle(home: Home, pack: str, bot_owner: str, *, shared: bool) -> None:
    """Have everything where the pack's scope says before this returns; one call at a time.

    A pack of scope `person` has a folder for each tenant in its data folder. That of a shared one
    is everybody's, so theirs lie beside it, and `APART` among them says that they were brought
    there: what looks like a tenant's folder or memory from then on is a file like any other,
    whoever made it. A kill ends no move for good: the next one goes on. `bot_owner` gets memory
    files that lie in the data folder itself, of older times.

    Raises:
        ToolFailed: it cannot be moved; it stays where it is, and nobody is given any of it.
    """
    private = home.private_folder(pack)
    if (private / APART).exists() if shared else not private.exists():
        return
    common = home.pack_folder(pack)
    try:
        if shared:
            _part(common, private, bot_owner)
        else:
            _join(common, private)
    except OSError as error:
        raise ToolFailed(
            f"What {pack} keeps cannot be reached: {common} and {private} cannot be brought "
            f"in order ({error}). Tell the person that the bot's owner has to look at them."
        ) from error


def _part(common: Path, private: Path, bot_owner: str) -> None:
    private.mkdir(mode=0o700, parents=True, exist_ok=True)
    moved = 0
    for folder in _tenants_in(common):
        moved += 1
        if (private / folder.name).exists():
            _empty_into(folder, private / folder.name)
        else:
            folder.rename(private / folder.name)
    for file in (common / name for name in NAMES.values()):
        if file.is_file() and not file.is_symlink():
            moved += 1
            own = private / bot_owner
            own.mkdir(mode=0o700, exist_ok=True)
            file.rename(_free(own / file.name))
            sync_folder(own)
    if moved:
        sync_folder(common)
        log.info("memory_set_apart", pack=common.name, moved=moved)
    sync_folder(private)
    (private / APART).touch(mode=0o600)
    sync_folder(private)


def _join(common: Path, private: Path) -> None:
    """The mark goes first: without it, a tenant's folder in `common` is a tenant's."""
    if not private.is_dir():
        return
    common.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (private / APART).exists():
        for entry in _called_like_tenants(common):  # links too: a tool may have planted one
            entry.rename(_free(entry))
        sync_folder(common)
        (private / APART).unlink()
        sync_folder(private)
    for folder in _tenants_in(private):
        log.info("memory_joined", pack=common.name, tenant=folder.name)
        folder.rename(_free(common / folder.name))
    sync_folder(common)
    with contextlib.suppress(OSError):  # it holds something that nobody of us put there
        private.rmdir()


def private_folders(home: Home, pack: Pack) -> dict[str, Path]:
    """Return where each tenant's memory files lie now, by tenant; moves nothing.

    What a change of the scope left elsewhere is brought in order by a running bot (`settle`).
    """
    common, private = home.pack_folder(pack.name), home.private_folder(pack.name)
    apart = (private / APART).exists()
    if pack.manifest.schema.scope == "shared":
        places = (private,) if apart else (common, private)
    else:
        places = (private,) if apart else (private, common)
    return {folder.name: folder for place in places for folder in _tenants_in(place)}


def _tenants_in(folder: Path) -> Iterator[Path]:
    for entry in _called_like_tenants(folder):
        if entry.is_dir() and not entry.is_symlink():
            yield entry


def _called_like_tenants(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (entry for entry in sorted(folder.iterdir()) if is_tenant(entry.name))


def _empty_into(folder: Path, target: Path) -> None:
    for entry in sorted(folder.iterdir()):
        entry.rename(_free(target / entry.name))
    folder.rmdir()
    sync_folder(target)


def _free(wanted: Path) -> Path:
    """`wanted`, or a name beside what is there: `USER.md.older`, then `USER.md.older2`."""
    found, number = wanted, 1
    while found.exists() or found.is_symlink():
        found = wanted.with_name(f"{wanted.name}.older{number if number > 1 else ''}")
        number += 1
    return found
