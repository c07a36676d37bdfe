"""The folders of a change: where a pack waits for a yes, and how it takes another one's place.

Each move is one rename, and doing all of them again changes nothing, so that whoever finds them
half done after a kill can go on.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from aouo.home import sync_folder

_WAITING = ".waiting-"
_BEFORE = ".before-"


@dataclass(frozen=True, slots=True)
class Places:
    """The three places of one change: `waiting` holds the new pack as `sources.fetch_source`
    brought it, `before` the old one, `installed` is where it is used."""

    waiting: Path
    before: Path
    installed: Path

    @classmethod
    def of(cls, packs: Path, change_id: str, pack: str) -> Places:
        return cls(packs / f"{_WAITING}{change_id}", packs / f"{_BEFORE}{change_id}", packs / pack)

    @property
    def app(self) -> Path:
        """The folder of the new pack itself."""
        return self.waiting / "app"

    def put(self) -> None:
        """The new pack takes its place; the old one stays aside."""
        if self.app.is_dir():
            self.take_away()
            self.app.replace(self.installed)
            sync_folder(self.installed.parent)

    def take_away(self) -> None:
        """The installed pack goes aside."""
        if os.path.lexists(self.installed) and not os.path.lexists(self.before):
            self.installed.rename(self.before)
            sync_folder(self.installed.parent)

    def put_back(self) -> None:
        """As it was before `put` or `take_away`."""
        if os.path.lexists(self.before):
            if os.path.lexists(self.installed):
                remove(self.installed)
            self.before.rename(self.installed)
            sync_folder(self.installed.parent)

    def clear(self) -> None:
        """Nothing of the change stays but the installed pack."""
        remove(self.waiting)
        remove(self.before)


def leftovers(packs: Path, kept: frozenset[str]) -> tuple[Path, ...]:
    """Folders of changes that nobody knows any more; `kept` are the ids of those somebody does."""
    return tuple(
        child
        for child in sorted(packs.iterdir())
        if child.name.startswith((_WAITING, _BEFORE)) and child.name.partition("-")[2] not in kept
    )


def remove(folder: Path) -> None:
    """Remove a folder, or the link to one and not what it leads to."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
