"""Each pack's database and memory files, opened when first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aouo.errors import ToolFailed
from aouo.home import Home
from aouo.memory.files import MemoryFiles
from aouo.packs.library import Library
from aouo.packs.storage import PackStore

_NO_PACK = "_general"  # no pack can have this name


class PackStores:
    """Opens what packs keep, once each; everything is closed together."""

    def __init__(self, home: Home, library: Callable[[], Library]) -> None:
        self._home = home
        self._library = library
        self._open: dict[str, PackStore] = {}
        self._memories: dict[str, MemoryFiles] = {}

    def open(self, pack: str) -> PackStore:
        """The pack's database.

        Raises:
            ToolFailed: the pack is not loaded.
            PackError: its schema does not run.
        """
        if pack not in self._open:
            found = self._library().get(pack)
            if found is None:
                raise ToolFailed(f"The pack {pack!r} is not loaded.")
            file = self._home.pack_database(pack)
            self._open[pack] = PackStore(file, found.manifest, found.schema_sql)
        return self._open[pack]

    def memory(self, pack: str) -> MemoryFiles:
        """The pack's memory files, "" = those of no pack; made from its templates once."""
        if pack not in self._memories:
            found = self._library().get(pack)
            folder = self._home.pack_folder(pack or _NO_PACK)
            files = MemoryFiles(folder, found.templates if found else {})
            files.create()
            self._memories[pack] = files
        return self._memories[pack]

    def read_memory(self, pack: str) -> Mapping[str, str]:
        files = self.memory(pack)
        return {name: files.read(name) for name in ("USER.md", "MEMORY.md")}

    def close(self) -> None:
        for store in self._open.values():
            store.close()
