"""Opens memory files: one set for a pack and a person, or for a pack and a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aouo.memory.files import ALWAYS, MemoryFiles
from aouo.packs.library import Library
from aouo.packs.load import Pack


@dataclass(slots=True, eq=False)
class Memories:
    """Opens memory files; `folder_of` tells where those of a pack lie for a tenant."""

    library: Callable[[], Library]
    folder_of: Callable[[str, str], Path]
    _open: dict[tuple[str, str], tuple[Pack | None, MemoryFiles]] = field(
        init=False, default_factory=dict[tuple[str, str], tuple[Pack | None, MemoryFiles]]
    )

    def files(self, pack: str, tenant: str) -> MemoryFiles:
        """The memory files of a pack ("" = of none) for `tenant`; made from its templates.

        They remember what they have read, so they are kept until their pack is another one.
        """
        found = self.library().get(pack)
        folder = self.folder_of(pack, tenant)
        made, files = self._open.get((pack, tenant), (None, None))
        if files is None or made is not found:
            files = self._made(found, folder)
            self._open[pack, tenant] = (found, files)
        return files

    def _made(self, found: Pack | None, folder: Path) -> MemoryFiles:
        if found is None:
            return MemoryFiles(folder)
        return MemoryFiles(
            folder,
            found.templates,
            targets=targets_of(found) or ALWAYS,
            max_bytes=found.manifest.memory.max_bytes,
        )

    def read(self, pack: str, tenant: str) -> Mapping[str, str]:
        """What a prompt holds, by file name."""
        files = self.files(pack, tenant)
        return {name: files.shown(name) for name in files.names}


def targets_of(pack: Pack) -> tuple[str, ...]:
    """What the `memory` tool may name in this pack, () = what it always may."""
    kept = pack.manifest.memory
    more = tuple(name for name, there in (("soul", kept.soul), ("state", kept.state)) if there)
    return (*ALWAYS, *more) if more else ()
