"""Each pack's databases, opened when first used, and where its files lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aouo.facts.people import Owner
from aouo.facts.ports import Clock
from aouo.packs.databases import PackDatabases
from aouo.packs.library import Library
from aouo.packs.tenant_folders import TenantFolders
from aouo.plumbing.home import Home
from aouo.plumbing.trees import remove

NO_PACK = "_general"  # no pack can have this name


class PackStores(PackDatabases):
    """Opens what packs keep, once each; everything is closed together.

    A pack of scope `person` keeps a database and files for each tenant: the person in a private
    chat, the conversation in a group. Others share theirs, but for memory (`app.tenant_folders`).
    """

    def __init__(
        self,
        home: Home,
        library: Callable[[], Library],
        clock: Clock,
        *,
        bot_owner: str = Owner().data_name,
    ) -> None:
        super().__init__(home, library, clock)
        self._tenant_folders = TenantFolders(home, bot_owner)

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
        """Where memory lies: in the data folder, or beside it where that is everybody's."""
        folder = self.folder(pack, tenant)
        return folder if self._tenant_of(pack, tenant) else self._home.private_folder(pack, tenant)

    def _tenant_of(self, pack: str, tenant: str) -> str:
        """Whose files these are, "" = everybody's."""
        found = self._library().get(pack)
        return tenant if found is None or found.manifest.schema.scope == "person" else ""
