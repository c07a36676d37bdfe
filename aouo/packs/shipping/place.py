"""Moves the folders of a change: a new pack waits for a yes, then replaces the old one.

Each move is one rename, and all of them together are idempotent, so that a change that is half
done after a kill can be carried out again.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from aouo.plumbing import failpoint
from aouo.plumbing.home import sync_folder
from aouo.plumbing.trees import remove

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

    @property
    def _placed(self) -> Path:
        """Is there once the new pack may have left `app`."""
        return self.waiting / "placed"

    @property
    def _backups(self) -> Path:
        return self.waiting / "backups"

    def put(self) -> None:
        """Put the new pack in its place; the old one stays aside."""
        if self.app.is_dir():
            self._placed.touch()
            sync_folder(self.waiting)
            self.take_away()
            _move(self.app, self.installed, "a new pack takes its place")

    def take_away(self) -> None:
        """Move the installed pack aside."""
        if os.path.lexists(self.installed) and not os.path.lexists(self.before):
            _move(self.installed, self.before, "an old pack goes aside")

    def put_back(self) -> None:
        """Undo `put` or `take_away`; the new pack waits again."""
        if self._placed.exists() and not self.app.exists() and os.path.lexists(self.installed):
            _move(self.installed, self.app, "a new pack goes back")
        if os.path.lexists(self.before):
            if os.path.lexists(self.installed):
                remove(self.installed)
            _move(self.before, self.installed, "an old pack comes back")

    def note(self, database: Path, backup: Path) -> None:
        """Remember the backup of a database that is about to change, on disk."""
        self.waiting.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._backups.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps([str(database), str(backup)])}\n")
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self.waiting)

    def noted(self) -> dict[Path, Path]:
        """Return the first backup of each database that may have changed."""
        if not self._backups.is_file():
            return {}
        first: dict[Path, Path] = {}
        for line in self._backups.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):  # else a kill cut it off, and its database did not change
                database, backup = json.loads(line)
                first.setdefault(Path(database), Path(backup))
        return first

    def clear(self) -> None:
        """Remove the folders of the change, but not the installed pack."""
        remove(self.waiting)
        remove(self.before)


def leftovers(packs: Path, kept: frozenset[str]) -> tuple[Path, ...]:
    """Return the folders of changes whose id is not in `kept`."""
    return tuple(
        child
        for child in sorted(packs.iterdir())
        if child.name.startswith((_WAITING, _BEFORE)) and child.name.partition("-")[2] not in kept
    )


def _move(old: Path, new: Path, what: str) -> None:
    """One rename, on disk when this returns."""
    failpoint.reached(f"before {what}")
    old.rename(new)
    failpoint.reached(f"after {what}")
    sync_folder(new.parent)
    if old.parent != new.parent:
        sync_folder(old.parent)
