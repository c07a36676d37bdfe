"""Opens each pack's databases when they are first used, and finds its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from aouo.facts.people import Owner
from aouo.facts.ports import Clock
from aouo.packs.data.storage import PackStore
from aouo.packs.databases import MigratedDatabase, Note, PackDatabases, unnoted
from aouo.packs.library import Library, Pack
from aouo.packs.tenant_folders import TenantFolders
from aouo.plumbing.home import Home
from aouo.plumbing.trees import remove

NO_PACK = "_general"  # no pack can have this name


class PackStores:
    """Opens what packs keep, once each; everything is closed together.

    A pack of scope `person` keeps a database and files for each tenant: the person in a private
    chat, the conversation in a group. Others share theirs, except memory (`tenant_folders`).
    """

    def __init__(
        self,
        home: Home,
        library: Callable[[], Library],
        clock: Clock,
    ) -> None:
        self._home = home
        self._tenant_folders = TenantFolders(home, Owner().data_name)
        self._library = library
        self._databases = PackDatabases(home, library, clock)

    def belong_to(self, bot_owner: str) -> None:
        """From now on memory files of older times, which name nobody, are `bot_owner`'s."""
        self._tenant_folders.bot_owner = bot_owner

    def open(self, pack: str, tenant: str) -> PackStore:
        """See `PackDatabases.open`, as the others that only pass on."""
        return self._databases.open(pack, tenant)

    def databases_of(self, pack: str) -> list[Path]:
        return self._databases.databases_of(pack)

    def release(self, pack: str) -> None:
        """Close what is open of a pack; the next use opens it anew."""
        self._databases.release(pack)

    def closed(self, pack: str) -> AbstractContextManager[None]:
        return self._databases.closed(pack)

    def check(self, pack: Pack) -> None:
        self._databases.check(pack)

    def migrate_all(self, pack: Pack, note: Note = unnoted) -> list[MigratedDatabase]:
        return self._databases.migrate_all(pack, note)

    def restore(self, migrated: Iterable[MigratedDatabase]) -> None:
        self._databases.restore(migrated)

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
        return self._home.pack_folder(pack or NO_PACK, tenant)

    def private(self, pack: str, tenant: str) -> Path:
        """Return the tenant's memory folder: the data folder, or one beside a shared one."""
        folder = self.folder(pack, tenant)
        return folder if self._tenant_of(pack, tenant) else self._home.private_folder(pack, tenant)

    def _tenant_of(self, pack: str, tenant: str) -> str:
        """Whose files these are, "" = everybody's."""
        found = self._library().get(pack)
        return tenant if found is None or found.manifest.schema.scope == "person" else ""

    def close(self) -> None:
        self._databases.close()
