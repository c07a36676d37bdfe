"""Names what no tool may touch: the runtime's own, and where whoever runs it keeps keys."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from aouo.facts.languages import bundled
from aouo.guard.paths import mentioned, quoted, resolved
from aouo.guard.prepared import Allowed, Blocked, PreparedCall, Verdict
from aouo.guard.sent_files import SentFiles
from aouo.memory.files import NAMES
from aouo.plumbing.trees import Found, TooMuch, walk

_PROCESSES = Path("/proc")
"""Holds every process's environment, and with it our keys."""
_DEPTHS = {"": 2, "data": 3}
"""So deep below the home links are looked for, by its folder, "" = any other."""
_MAX_LOOKED_AT = 5_000
"""Entries of a folder that is opened to a tool which are looked at for keys."""
_CLOSED: Mapping[str, Sequence[str]] = bundled("aouo.guard", "closed_files.yml")
_MEMORY = frozenset(name.casefold() for name in NAMES.values())
"""What later turns read as their own: it is marked where others wrote it, by its tool."""
_KEY_BYTES = 64_000
"""A larger `.key` is no key but a presentation."""


class Protection:
    """Guards one home; inside it only the acting pack's data folder is open to tools.

    `folder_of` gives that folder for a pack and a tenant. Also closed are the targets of links in
    the home and in its folders, and `packs_in`, folders of packs, since their files hold their
    permissions.
    """

    def __init__(
        self,
        *,
        home: Path,
        folder_of: Callable[[str, str], Path],
        packs_in: Sequence[Path] = (),
        sent: SentFiles | None = None,
    ) -> None:
        self._sent = sent
        self._home = home.resolve()
        self._folder_of = folder_of
        self._packs_in = tuple(packs_in)
        self._listed: dict[Path, tuple[int, tuple[tuple[Path, bool], ...]]] = {}

    def judge(self, action: PreparedCall) -> Verdict:
        """Block a call that names a closed file. Pure except for resolving links."""
        named = tuple(self._named(action))
        if not named:
            return Allowed("no file")
        own = self._folder_of(action.facts.pack, action.facts.tenant).resolve()
        bound = {touched.path for touched in action.paths}
        for text, path in named:
            if path is None:
                return Blocked(
                    f"{quoted(text)} is not a path that can be checked.", "no path", "protection"
                )
            is_theirs = own.name == action.facts.tenant  # a shared pack's memory lies elsewhere
            in_memory = is_theirs and path.parent == own and path.name.casefold() in _MEMORY
            if action.mutates and in_memory:
                return Blocked(
                    f"{path.name} is changed with the memory tool alone.",
                    rule="a memory file",
                    judge="protection",
                )
            if action.facts.pack and path.is_relative_to(own):
                continue
            if self._sent and self._sent.opens(action, path):
                continue
            if self._is_own(path):
                return Blocked(
                    f"{quoted(text)} belongs to the runtime itself and is closed to tools. "
                    "Use the pack's own data folder; what is remembered is read with the memory "
                    "tool.",
                    rule="a file of the runtime itself",
                    judge="protection",
                )
            if _holds_keys(path) and (path.exists() or path in bound):
                return Blocked(
                    f"{quoted(text)} is where people keep keys, and closed to tools wherever it "
                    "lies. Do without it.",
                    rule="a file with keys",
                    judge="protection",
                )
        return Allowed("no protected file")

    def closes(self, path: Path) -> bool:
        """Whether no tool may touch a path, whose links are followed: it is the runtime's own, or
        holds keys of whoever runs it."""
        return _holds_keys(path) or self._is_own(path)

    def closed_in(self, folders: Sequence[Path]) -> tuple[Path, ...]:
        """Return the folders and files that no tool may touch, with links followed, and those in
        `folders`, which may be opened to one; so far as they are looked through."""
        inside = (path for folder in folders for path in self._with_keys(folder))
        return tuple(dict.fromkeys((*self.closed(), *inside)))

    def _with_keys(self, folder: Path) -> Iterator[Path]:
        with suppress(TooMuch, OSError):
            for found in walk(
                folder, most=_MAX_LOOKED_AT, enter=_is_open, closed=lambda path: None
            ):
                path = folder / found.path
                if _holds_keys(path) or (found.is_file and self._is_one_of_ours(found.facts)):
                    yield path

    def _is_own(self, path: Path) -> bool:
        """Whether a path is the runtime's own, however it is spelt, or another name of such a
        file."""
        folded = Path(str(path).casefold())
        for folder in self.closed():
            if path.is_relative_to(folder) or folded.is_relative_to(str(folder).casefold()):
                return True
        with suppress(OSError):
            return self._is_one_of_ours(path.lstat())
        return False

    def _is_one_of_ours(self, facts: os.stat_result) -> bool:
        """Whether a file that has several names has one in the home."""
        if facts.st_nlink < 2 or not stat.S_ISREG(facts.st_mode):
            return False
        with suppress(TooMuch, OSError):
            return any(
                (one.facts.st_ino, one.facts.st_dev) == (facts.st_ino, facts.st_dev)
                for one in walk(self._home, closed=lambda path: None)
                if one.facts.st_nlink > 1
            )
        return True

    def _named(self, action: PreparedCall) -> Iterator[tuple[str, Path | None]]:
        """Find the paths that the call is bound to or may name otherwise: (text, path)."""
        yield from ((str(touched.path), touched.path) for touched in action.paths)
        if action.tool == "memory":  # what it calls its target is no path
            return
        is_foreign = "__" in action.tool
        bases = [self._folder_of(action.facts.pack, action.facts.tenant).resolve()]
        if action.tool.startswith("mcp__"):
            bases.append(Path.home())  # where `tools.mcp_link` starts a server
        for text in mentioned(action.payload, anywhere=is_foreign):
            yield from ((text, resolved(text, base)) for base in bases)

    def closed(self) -> tuple[Path, ...]:
        """Return the folders and files that no tool may touch, with links followed."""
        return tuple(self._closed())

    def _closed(self) -> Iterator[Path]:
        yield self._home
        yield _PROCESSES
        yield from (folder.resolve() for folder in self._packs_in)
        yield from self._linked(self._home, 1)

    def _linked(self, folder: Path, level: int) -> Iterator[Path]:
        """Yield what links lead to in a folder and in those below it; a folder that has not
        changed is not listed again, for one of media may be large."""
        try:
            changed_ns = folder.stat().st_mtime_ns
            if self._listed.get(folder, (0,))[0] != changed_ns:
                entries = [one for one in os.scandir(folder) if one.is_symlink() or one.is_dir()]
                self._listed[folder] = (
                    changed_ns,
                    tuple((Path(one), one.is_symlink()) for one in entries),
                )
        except OSError:
            return
        for path, is_link in self._listed[folder][1]:
            if is_link:
                yield path.resolve()
            first = path.relative_to(self._home).parts[0]
            if level < _DEPTHS.get(first, _DEPTHS[""]):
                yield from self._linked(path, level + 1)


def _is_open(folder: Found) -> bool:
    """Whether what is in a folder has to be looked at; where all of it is closed, it has not."""
    return not _holds_keys(Path("/", folder.path))


def _holds_keys(path: Path) -> bool:
    """Whether a path, with links followed, leads to such a file or into such a folder, however it
    is spelt."""
    parts = [part.casefold() for part in path.parts]
    whole = "/".join(parts) + "/"
    if any(f"/{folder}/" in whole for folder in _CLOSED["folders"]):
        return True
    name = parts[-1] if parts else ""
    if any(fnmatchcase(name, pattern) for pattern in _CLOSED["names"]):
        return not name.endswith(".pub")
    return name.endswith(".key") and _size(path) <= _KEY_BYTES


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a path that is none raises OSError, too
    except OSError:
        return 0
