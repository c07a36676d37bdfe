"""Each pack's databases and memory files, opened when first used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from aouo.errors import ToolFailed
from aouo.home import Home
from aouo.memory.files import MemoryFiles
from aouo.packs.library import Library
from aouo.packs.storage import PackStore

_NO_PACK = "_general"  # no pack can have this name


class PackStores:
    """Opens what packs keep, once each; everything is closed together.

    A pack of scope `person` keeps a database and memory files for each owner: the person in a
    private chat, the conversation in a group. Others share theirs.
    """

    def __init__(self, home: Home, library: Callable[[], Library]) -> None:
        self._home = home
        self._library = library
        self._open: dict[tuple[str, str], PackStore] = {}
        self._lock = threading.Lock()
        self._memories: dict[tuple[str, str], MemoryFiles] = {}

    def open(self, pack: str, owner: str) -> PackStore:
        """The pack's database for `owner`; may be asked from any thread, and take a while.

        Raises:
            ToolFailed: the pack is not loaded.
            PackError: its schema does not run.
        """
        found = self._library().get(pack)
        if found is None:
            raise ToolFailed(f"The pack {pack!r} is not loaded.")
        kept_for = owner if found.manifest.schema.scope == "person" else ""
        key = (pack, kept_for)
        with self._lock:
            if key not in self._open:
                file = self._home.pack_database(pack, kept_for)
                self._open[key] = PackStore(file, found.manifest, found.schema_sql)
            return self._open[key]

    def memory(self, pack: str, owner: str) -> MemoryFiles:
        """The pack's memory files for `owner`, "" = those of no pack; made from its templates."""
        found = self._library().get(pack)
        key = (pack, self._kept_for(pack, owner))
        if key not in self._memories:
            folder = self.folder(pack, owner)
            self._memories[key] = MemoryFiles(folder, found.templates if found else {})
        return self._memories[key]

    def folder(self, pack: str, owner: str) -> Path:
        """The data folder of a pack ("" = of no pack) for `owner`; it may not be there yet."""
        return self._home.pack_folder(pack or _NO_PACK, self._kept_for(pack, owner))

    def _kept_for(self, pack: str, owner: str) -> str:
        """Whose memory and files these are, "" = everybody's."""
        found = self._library().get(pack)
        return owner if found is None or found.manifest.schema.scope == "person" else ""

    def read_memory(self, pack: str, owner: str) -> Mapping[str, str]:
        files = self.memory(pack, owner)
        return {name: files.read(name) for name in ("USER.md", "MEMORY.md")}

    def close(self) -> None:
        for store in self._open.values():
            store.close()
