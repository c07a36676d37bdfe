"""Checks a pack's folder before anything in it is read: its size, its names, its links."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from aouo.packs.format.problems import Problem

FILES_MAX = 2_000
BYTES_MAX = 64 * 1024 * 1024
_DEPTH_MAX = 16
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})
"""What tools of an author leave behind; never read, never exported."""

_PROBLEMS_MAX = 20


def look_around(folder: Path) -> tuple[Problem, ...]:
    """Return what keeps a folder from being a pack, whatever its files say; follows no link."""
    walk = _Walk(folder)
    walk.all()
    return tuple(walk.problems)


class _Walk:
    """One walk over a folder; stops early when there is too much of anything."""

    def __init__(self, folder: Path) -> None:
        self.problems: list[Problem] = []
        self._folder = folder
        self._files = 0
        self._bytes = 0

    def all(self) -> None:
        waiting = [PurePosixPath()]
        while waiting and not self._too_much():
            here = waiting.pop()
            seen: dict[str, str] = {}
            for entry in self._entries(here):
                path = here / entry.name
                self._name(path, seen)
                if self._is_folder(entry, path) and entry.name not in SKIPPED:
                    waiting.append(path)
                if self._too_much():
                    break

    def _entries(self, here: PurePosixPath) -> Iterator[os.DirEntry[str]]:
        if len(here.parts) > _DEPTH_MAX:
            self._add(here, f"is nested deeper than {_DEPTH_MAX} folders")
            return
        try:
            with os.scandir(self._folder / here) as entries:
                yield from sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if here.parts:  # a pack's folder that cannot be read at all is found by reading it
                self._add(here, f"cannot be read: {error.strerror}")

    def _is_folder(self, entry: os.DirEntry[str], path: PurePosixPath) -> bool:
        """Look at one entry; say whether to walk into it."""
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError as error:
            self._add(path, f"cannot be read: {error.strerror}")
            return False
        kind = stat.S_IFMT(found.st_mode)
        if kind == stat.S_IFDIR:
            return True
        self._files += 1
        self._bytes += found.st_size
        if kind == stat.S_IFLNK:
            self._link(path)
        elif kind != stat.S_IFREG:
            self._add(path, "is not a file: a pack holds files and folders only")
        elif not os.access(self._folder / path, os.R_OK):
            self._add(path, "cannot be read: the owner of the folder has to allow it")
        return False

    def _link(self, path: PurePosixPath) -> None:
        link = self._folder / path
        try:
            inside = link.resolve().is_relative_to(self._folder.resolve())
        except (OSError, RuntimeError):  # links in a circle
            inside = False
        if not inside or link.readlink().is_absolute():
            self._add(path, "is a link that leads out of the pack; links are not followed")

    def _name(self, path: PurePosixPath, seen: dict[str, str]) -> None:
        name = path.name
        if any(ord(letter) < 32 or 0xDC80 <= ord(letter) <= 0xDCFF for letter in name):
            self._add(path, "has a name that is not text")
        elif "\\" in name:
            self._add(path, "has a \\ in its name, which is a folder elsewhere")
        same = unicodedata.normalize("NFKC", name).casefold()
        other = seen.setdefault(same, name)
        if other != name:
            self._add(path, f"is the same name as {other!r} on other machines; rename one")

    def _too_much(self) -> bool:
        if len(self.problems) >= _PROBLEMS_MAX:
            return True
        if self._files > FILES_MAX:
            self._add(PurePosixPath(), f"more than {FILES_MAX:,} files; a pack is text")
            return True
        if self._bytes > BYTES_MAX:
            self._add(PurePosixPath(), f"more than {BYTES_MAX >> 20} MB; a pack is text")
            return True
        return False

    def _add(self, path: PurePosixPath, message: str) -> None:
        name = path.as_posix().encode("utf-8", "replace").decode()
        shown = "".join(letter if letter.isprintable() else "?" for letter in name)
        self.problems.append(Problem(shown, 0, "", message))
