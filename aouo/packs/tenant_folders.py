"""Moves each tenant's files out of the folder that all tenants of a shared pack are given."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import structlog

from aouo.facts.errors import ToolFailed
from aouo.memory.files import NAMES
from aouo.plumbing.home import APART, Home, sync_folder
from aouo.store.tenants import is_tenant

log = structlog.get_logger()


class TenantFolders:
    """Knows where packs keep each tenant's files; thread-safe.

    A pack of scope `person` has a folder for each tenant in its data folder. The data folder of a
    shared pack is for all, so the tenants' folders lie beside it, with the file `APART` once they
    were moved there: from then on a file in the data folder that looks like a tenant's is an
    ordinary one. A move that a kill interrupts is finished by the next call.
    """

    def __init__(self, home: Home, bot_owner: str) -> None:
        """`bot_owner` gets memory files that lie in the data folder itself, of older times."""
        self._home = home
        self.bot_owner = bot_owner
        self._lock = threading.Lock()

    def settle(self, pack: str, *, shared: bool) -> None:
        """Move the tenants' files to where the pack's scope wants them, if they are not there.

        Raises:
            ToolFailed: they cannot be moved; they stay where they are, and no tool gets them.
        """
        private = self._home.private_folder(pack)
        if (private / APART).exists() if shared else not private.exists():
            return
        common = self._home.pack_folder(pack)
        try:
            with self._lock:
                if not shared:
                    self._join(common, private)
                elif not (private / APART).exists():
                    self._part(common, private)
        except OSError as error:
            raise ToolFailed(
                f"What {pack} keeps cannot be reached: {common} and {private} cannot be brought "
                f"in order ({error}). Tell the person that the bot's owner has to look at them."
            ) from error

    def _part(self, common: Path, private: Path) -> None:
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
        moved = 0
        for folder in _owners_in(common):
            moved += 1
            if (private / folder.name).exists():
                _empty_into(folder, private / folder.name)
            else:
                folder.rename(private / folder.name)
        for file in (common / name for name in NAMES.values()):
            if file.is_file() and not file.is_symlink():
                moved += 1
                own = private / self.bot_owner
                own.mkdir(mode=0o700, exist_ok=True)
                file.rename(_free(own / file.name))
                sync_folder(own)
        if moved:
            sync_folder(common)
            log.info("memory_set_apart", pack=common.name, moved=moved)
        sync_folder(private)
        (private / APART).touch(mode=0o600)
        sync_folder(private)

    def _join(self, common: Path, private: Path) -> None:
        """The mark goes first: without it, a tenant's folder in `common` is a tenant's."""
        if not private.is_dir():
            return
        common.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (private / APART).exists():
            for entry in _called_like_owners(common):  # links too: a tool may have planted one
                entry.rename(_free(entry))
            sync_folder(common)
            (private / APART).unlink()
            sync_folder(private)
        for folder in _owners_in(private):
            log.info("memory_joined", pack=common.name, tenant=folder.name)
            folder.rename(_free(common / folder.name))
        sync_folder(common)
        with contextlib.suppress(OSError):  # it holds something that nobody of us put there
            private.rmdir()


def _owners_in(folder: Path) -> Iterator[Path]:
    for entry in _called_like_owners(folder):
        if entry.is_dir() and not entry.is_symlink():
            yield entry


def _called_like_owners(folder: Path) -> Iterator[Path]:
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
