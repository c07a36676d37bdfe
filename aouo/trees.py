"""Trees of files that other hands may have made: walked, opened and removed without recursion.

Below the place that is named no link is followed, at any depth, whoever puts one there meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

DEEPEST = 100
"""Names in a path below the root of a walk; archives hold no more either."""
LONGEST_BYTES = 4_000
"""Of such a path; the system takes 4,096 at once."""
MOST = 100_000
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe that nobody writes into would hold the thread for ever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TooMuch(Exception):
    """A tree is deeper or fuller than anything of ours; says so, as words after its name."""


@dataclass(frozen=True, slots=True)
class Found:
    """One entry of a tree: its path below the root, and what it is, no link followed."""

    path: str
    facts: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.facts.st_mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.facts.st_mode)


@dataclass(slots=True)
class _Level:
    """A folder that is being walked."""

    descriptor: int
    below: str
    entries: Iterator[os.DirEntry[str]]
    end: Callable[[], None]

    @classmethod
    def of(cls, descriptor: int, below: str) -> _Level:
        try:
            entries = os.scandir(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, below, entries, entries.close)

    def close(self) -> None:
        self.end()
        os.close(self.descriptor)


def walk(
    root: Path,
    *,
    most: int = MOST,
    enter: Callable[[Found], bool] = lambda folder: True,
    closed: Callable[[str], None] | None = None,
) -> Generator[Found]:
    """Every entry below `root`, in no order; a missing root has none, a link to one is followed.

    A folder that `enter` does not want is an entry, and nothing in it is. `closed` hears of each
    folder that the system does not let us look into; without it, that is an error.

    Raises:
        TooMuch: at the first entry that is too much of anything.
        OSError: a folder cannot be looked into.
    """
    try:
        first = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    levels = [_Level.of(first, "")]
    try:
        while levels:
            level = levels[-1]
            entry = next(level.entries, None)
            if entry is None:
                levels.pop().close()
                continue
            found = _looked_at(entry, level.below)
            if found is None:
                continue
            most -= 1
            _refuse_too_much(found.path, most)
            yield found
            if found.is_folder and enter(found) and (below := _below(level, entry, found, closed)):
                levels.append(below)
    finally:
        for level in levels:
            level.close()


def _looked_at(entry: os.DirEntry[str], below: str) -> Found | None:
    try:
        return Found(f"{below}{entry.name}", entry.stat(follow_symlinks=False))
    except FileNotFoundError:  # gone meanwhile
        return None


def _refuse_too_much(path: str, left: int) -> None:
    if left < 0:
        raise TooMuch("holds too many files and folders")
    if path.count("/") >= DEEPEST:
        raise TooMuch(f"holds folders more than {DEEPEST} deep in one another")
    if len(os.fsencode(path)) > LONGEST_BYTES:
        raise TooMuch(f"holds paths of more than {LONGEST_BYTES:,} bytes")


def _below(
    level: _Level, entry: os.DirEntry[str], found: Found, closed: Callable[[str], None] | None
) -> _Level | None:
    try:
        descriptor = os.open(entry.name, _LOOK, dir_fd=level.descriptor)
    except (FileNotFoundError, NotADirectoryError):  # gone or another thing meanwhile
        return None
    except OSError as error:
        if closed is None:
            error.filename = found.path
            raise
        closed(found.path)
        return None
    return _Level.of(descriptor, f"{found.path}/")


@contextlib.contextmanager
def folder(path: Path, *, make_below: Path | None = None) -> Generator[int]:
    """A descriptor of the folder at the absolute `path`, no link on the way followed; missing
    ones are made below `make_below`, for our eyes only.

    Raises:
        OSError: there is none, or a link stands in the way; `filename` says where.
    """
    here = os.open("/", _STEP)
    at = Path("/")
    try:
        for name in path.parts[1:]:
            at /= name
            make = make_below is not None and at.is_relative_to(make_below)
            try:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=here)
                below = os.open(name, _STEP, dir_fd=here)
            except OSError as error:
                error.filename = str(at)
                raise
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def open_file(path: Path) -> IO[bytes]:
    """The regular file at the absolute `path` for reading, no link on the way followed.

    Raises:
        OSError: there is none.
    """
    with folder(path.parent) as parent:
        descriptor = os.open(path.name, _READ, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def new_file(path: Path, *, make_below: Path | None = None) -> IO[bytes]:
    """A file for our eyes only where there is nothing yet, for writing, reached as by `folder`.

    Raises:
        OSError: something is there, or on the way to it.
    """
    with folder(path.parent, make_below=make_below) as parent:
        return os.fdopen(os.open(path.name, _NEW, 0o600, dir_fd=parent), "wb")


@contextlib.contextmanager
def workshop(prefix: str = ".aouo-", *, beside: Path | None = None) -> Generator[Path]:
    """A folder for our own eyes, gone afterwards; `beside` keeps it on the same disk."""
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=beside))
    try:
        yield made
    finally:
        discard(made)


def discard(path: Path) -> None:
    """`remove`, as far as the system lets us."""
    with contextlib.suppress(OSError):
        remove(path)


def remove(path: Path) -> None:
    """Remove what lies at `path`, whatever it is, however deep; of a link the link. Nothing there
    is fine.

    Raises:
        OSError: the system does not let us; what could not be removed stays.
    """
    try:
        with folder_of(path) as parent:
            if not _unlinked(path.name, parent):
                _empty(path.name, parent)
                os.rmdir(path.name, dir_fd=parent)
    except FileNotFoundError:
        return


@contextlib.contextmanager
def folder_of(path: Path) -> Generator[int]:
    """A descriptor of the folder in which `path` lies; links on the way to it are followed."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unlinked(name: str, parent: int) -> bool:
    """Remove an entry that is no folder; False = it is one."""
    if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        return False
    os.unlink(name, dir_fd=parent)
    return True


def _empty(name: str, parent: int) -> None:
    """Take everything out of a folder: what is in its folders moves up first."""
    with _writable(name, parent) as top:
        while inner := _names(top):
            for one in inner:
                if not _unlinked(one, top):
                    _lift(one, top)
                    os.rmdir(one, dir_fd=top)


def _lift(name: str, top: int) -> None:
    """Everything in the folder `name` goes, and its folders become neighbours of it."""
    with _writable(name, top) as opened:
        for one in _names(opened):
            if not _unlinked(one, opened):
                with _writable(one, opened):  # else it may not be moved
                    os.rename(one, secrets.token_hex(16), src_dir_fd=opened, dst_dir_fd=top)


def _names(opened: int) -> list[str]:
    return os.listdir(opened)


@contextlib.contextmanager
def _writable(name: str, parent: int) -> Generator[int]:
    """A folder's descriptor; its owner may do everything in it from now on."""
    reached = os.open(name, _STEP, dir_fd=parent)
    try:
        with contextlib.suppress(OSError):  # another's; the next call says so
            Path(f"/proc/self/fd/{reached}").chmod(0o700)
        opened = os.open(".", _LOOK, dir_fd=reached)
    finally:
        os.close(reached)
    try:
        yield opened
    finally:
        os.close(opened)
