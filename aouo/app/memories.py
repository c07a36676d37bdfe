"""Whose memory lies where: for (pack, person) in private chats, (pack, conversation) in groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from aouo.app.stores import NO_PACK
from aouo.flow.prepare import targets_of
from aouo.home import Home
from aouo.memory.files import ALWAYS, NAMES, MemoryFiles
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.settings import Settings
from aouo.store.owners import is_owner, of_person


class Memories:
    """Opens memory files, and tells which files of a pack's folder are somebody else's.

    A pack of scope `shared` has one folder for its files and in it one for each owner's memory.
    Memory files in the folder itself, older ones or written by hand, are the bot's owner's: they
    are what the owner's memory begins with in private, and nobody else reads them.
    """

    def __init__(
        self, home: Home, library: Callable[[], Library], *, bot_owners: frozenset[str]
    ) -> None:
        """`bot_owners` are the names under which the bot's owner keeps data in private."""
        self._home = home
        self._library = library
        self._bot_owners = bot_owners

    def files(self, pack: str, owner: str) -> MemoryFiles:
        """The memory files of a pack ("" = of none) for `owner`; made from its templates."""
        found = self._library().get(pack)
        folder = self._home.pack_folder(pack or NO_PACK, owner)
        if found is None:
            return MemoryFiles(folder)
        targets = targets_of(found) or ALWAYS
        first = dict(found.templates)
        if _is_shared(found) and owner in self._bot_owners:
            first |= self._older(pack)
        return MemoryFiles(
            folder, first, targets=targets, max_bytes=found.manifest.memory.max_bytes
        )

    def read(self, pack: str, owner: str) -> Mapping[str, str]:
        """What a prompt holds, by file name."""
        files = self.files(pack, owner)
        return {name: files.read(name) for name in files.names}

    def is_closed(self, pack: str, owner: str, path: Path) -> bool:
        """Whether a path in the pack's folder, links followed, is memory of somebody else."""
        found = self._library().get(pack)
        shared = self._home.pack_folder(pack or NO_PACK).resolve()
        if found is None or not _is_shared(found) or not path.is_relative_to(shared):
            return False
        inside = [part.casefold() for part in path.relative_to(shared).parts]
        if len(inside) == 1 and inside[0] in {name.casefold() for name in NAMES.values()}:
            return owner not in self._bot_owners
        return bool(inside) and is_owner(inside[0]) and inside[0] != owner.casefold()

    def _older(self, pack: str) -> Mapping[str, str]:
        lying = MemoryFiles(self._home.pack_folder(pack), targets=tuple(NAMES))
        texts = {name: lying.text(name) for name in lying.names}
        return {name: text for name, text in texts.items() if text.strip()}


def bot_owners(settings: Settings) -> frozenset[str]:
    """The names under which the bot's owner keeps data: in the terminal, and in Telegram."""
    owner = settings.telegram.owner
    names = [of_person("cli", "owner"), *([of_person("tg", str(owner))] if owner else [])]
    return frozenset(names)


def _is_shared(pack: Pack) -> bool:
    return pack.manifest.schema.scope == "shared"
