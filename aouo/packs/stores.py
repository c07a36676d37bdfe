"""Opens each pack's databases when they are first used, and finds its files."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import structlog

from aouo.facts.errors import ToolFailed
from aouo.facts.people import Owner
from aouo.facts.ports import Clock
from aouo.memory.files import NAMES
from aouo.packs.databases import PackDatabases
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.plumbing.home import APART, Home, sync_folder
from aouo.plumbing.trees import remove
from aouo.store.tenants import is_tenant

log = structlog.get_logger()
_NO_PACK = "_general"  # no pack can have this name


class PackStores(PackDatabases):
    """Opens what packs keep, once each; everything is closed together.

    A pack of scope `person` keeps a database and files for each tenant: the person in a private
    chat, the conversation in a group. Others share theirs, except memory (`TenantFolders`).
    """

    def __init__(
        self,
        home: Home,
        library: Callable[[], Library],
        clock: Clock,
    ) -> None:
        super().__init__(home, library, clock)
        self._tenant_folders = TenantFolders(home, Owner().data_name)

    def belong_to(self, bot_owner: str) -> None:
        """From now on memory files of older times, which name nobody, are `bot_owner`'s."""
        self._tenant_folders.bot_owner = bot_owner

    def keeps(self, pack: str) -> bool:
        """Whether there is anything that a pack of this name has kept."""
        folder = self._home.pack_folder(pack)
        return bool(self.databases_of(pack)) or (folder.is_dir() and any(folder.iterdir()))

    def purge(self, pack: str) -> None:
        """Delete all that a pack keeps: its databases and its folders, not the backups."""
        self.release(pack)
        for file in self.databases_of(pack):
            for part in (file, *(file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm"))):
                remove(part)
        home = self._home
        for folder in (home.store / pack, home.pack_folder(pack), home.private_folder(pack)):
            if not folder.is_symlink():  # the owner's own way elsewhere
                remove(folder)

    def file(self, pack: str, tenant: str) -> Path:
        """Where the pack's database for `tenant` lies; it may not be there yet."""
        return self._home.pack_database(pack, self._tenant_of(pack, tenant))

    def folder(self, pack: str, tenant: str) -> Path:
        """The data folder of a pack ("" = of no pack) for `tenant`; it may not be there yet."""
        tenant = self._tenant_of(pack, tenant)
        self._tenant_folders.settle(pack, shared=not tenant)
        return self._home.pack_folder(pack or _NO_PACK, tenant)

    def private(self, pack: str, tenant: str) -> Path:
        """Return the tenant's memory folder: the data folder, or one beside a shared one."""
        folder = self.folder(pack, tenant)
        return folder if self._tenant_of(pack, tenant) else self._home.private_folder(pack, tenant)

    def _tenant_of(self, pack: str, tenant: str) -> str:
        """Whose files these are, "" = everybody's."""
        found = self._library().get(pack)
        return tenant if found is None or found.manifest.schema.scope == "person" else ""


class TenantFolders:
    """Knows where packs keep what is one tenant's; may be asked from any thread.

    A pack of scope `person` has a folder for each tenant in its data folder. That of a shared one
    is everybody's, so theirs lie beside it, and `APART` among them says that they were brought
    there: what looks like a tenant's folder or memory from then on is a file like any other,
    whoever made it. A kill ends no move for good: the next one goes on.
    """

    def __init__(self, home: Home, bot_owner: str) -> None:
        """`bot_owner` gets memory files that lie in the data folder itself, of older times."""
        self._home = home
        self.bot_owner = bot_owner
        self._lock = threading.Lock()

    def settle(self, pack: str, *, shared: bool) -> None:
        """Have everything where the pack's scope says before this returns.

        Raises:
            ToolFailed: it cannot be moved; it stays where it is, and nobody is given any of it.
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
        for folder in _tenants_in(common):
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

    What an earlier version left elsewhere is brought in order by a running bot (`TenantFolders`).
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
