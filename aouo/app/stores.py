"""Each pack's databases, opened when first used, and where its files lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aouo.errors import ToolFailed
from aouo.home import Home
from aouo.packs.library import Library
from aouo.packs.storage import PackStore

NO_PACK = "_general"  # no pack can have this name


class PackStores:
    """Opens what packs keep, once each; everything is closed together.

    A pack of scope `person` keeps a database and files for each owner: the person in a private
    chat, the conversation in a group. Others share theirs; memory is apart in either case
    (`app.memories`).
    """

    def __init__(self, home: Home, library: Callable[[], Library]) -> None:
        self._home = home
        self._library = library
        self._open: dict[tuple[str, str], PackStore] = {}

    def open(self, pack: str, owner: str) -> PackStore:
        """The pack's database for `owner`.

        Raises:
            ToolFailed: the pack is not loaded.
            PackError: its schema does not run.
        """
        found = self._library().get(pack)
        if found is None:
            raise ToolFailed(f"The pack {pack!r} is not loaded.")
        kept_for = owner if found.manifest.schema.scope == "person" else ""
        key = (pack, kept_for)
        if key not in self._open:
            file = self._home.pack_database(pack, kept_for)
            self._open[key] = PackStore(file, found.manifest, found.schema_sql)
        return self._open[key]

    def folder(self, pack: str, owner: str) -> Path:
        """The data folder of a pack ("" = of no pack) for `owner`; it may not be there yet."""
        return self._home.pack_folder(pack or NO_PACK, self._kept_for(pack, owner))

    def _kept_for(self, pack: str, owner: str) -> str:
        """Whose files these are, "" = everybody's."""
        found = self._library().get(pack)
        return owner if found is None or found.manifest.schema.scope == "person" else ""

    def close(self) -> None:
        for store in self._open.values():
            store.close()
