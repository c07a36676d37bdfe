"""Walks, opens and removes trees of files that strangers may have made, without recursion.

Below the named root no link is followed, at any depth, even if one is put there meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

_DEEPEST = 100
"""The most names in a path below the root of a walk; archives are bounded in the same way."""
_LONGEST_BYTES = 4_000
"""The longest such path; the system takes 4,096 bytes."""
_MOST = 100_000
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe that nobody writes into would hold the thread for ever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_ONCE = 1_000


class TooMuch(Exception):
    """A tree is too deep or too full; the message continues a sentence after its name."""


@dataclass(frozen=True, slots=True)
class Found:
    """One entry of a tree: its path below the root, and its `lstat`."""

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
    most: int = _MOST,
    enter: Callable[[Found], bool] = lambda folder: True,
    closed: Callable[[str], None] | None = None,
) -> Generator[Found]:
    """Yield every entry below `root`, unordered; a missing root has none, a linked one is followed.

    A folder that `enter` refuses is yielded, but not walked. `closed` is called with each folder
    that may not be read; without it, that is an error.

    Raises:
        TooMuch: at the first entry beyond `most`, or beyond a bound of the path.
        OSError: a folder cannot be read.
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
    if path.count("/") >= _DEEPEST:
        raise TooMuch(f"holds folders more than {_DEEPEST} deep in one another")
    if len(os.fsencode(path)) > _LONGEST_BYTES:
        raise TooMuch(f"holds paths of more than {_LONGEST_BYTES:,} bytes")


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
    """Yield a descriptor of the folder at the absolute `path`, following no link on the way.

    Missing folders below `make_below` are created, private to us.

    Raises:
        OSError: there is none, or a link is in the way; `filename` says where.
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
    """Open the regular file at the absolute `path` for reading, following no link on the way.

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
    """Create a file, private to us, for writing; the path is opened as by `folder`.

    Raises:
        OSError: something exists there, or a link is in the way.
    """
    with folder(path.parent, make_below=make_below) as parent:
        return os.fdopen(os.open(path.name, _NEW, 0o600, dir_fd=parent), "wb")


@contextlib.contextmanager
def workshop(prefix: str) -> Generator[Path]:
    """Yield a private temporary folder, removed afterwards."""
    made = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield made
    finally:
        discard(made)


def discard(path: Path) -> None:
    """Call `remove`, and ignore what the system refuses."""
    with contextlib.suppress(OSError):
        remove(path)


@dataclass(slots=True)
class _Entered:
    """A folder on the way down: its name in the one above, and the names in it still to remove."""

    name: str
    identity: tuple[int, int]
    left: list[str] = field(default_factory=list[str])


def remove(path: str | Path, *, dir_fd: int | None = None) -> None:
    """Remove the file, the link itself, or the whole tree at `path`; a missing one is fine.

    Names are relative to their folder, so no depth is too much; at most two descriptors are open,
    and it works on a full disk. Folders without permissions get them.

    Raises:
        OSError: the system refuses, or a folder was moved meanwhile; a part may stay.
    """
    if _is_gone(path, dir_fd):
        return
    here = _opened(path, dir_fd)
    try:
        way = [_Entered("", _identity(here))]
        while True:
            folder = way[-1]
            folder.left = folder.left or _some_names(here)
            if folder.left:
                name = folder.left.pop()
                if not _is_gone(name, here):
                    here = _moved(here, name)
                    way.append(_Entered(name, _identity(here)))
            elif len(way) > 1:
                way.pop()
                here = _moved(here, "..")
                if _identity(here) != way[-1].identity:
                    raise OSError(errno.ESTALE, "the folder was moved while it was removed")
                _is_gone(folder.name, here)  # what came into it meanwhile is found again
            else:
                break
    finally:
        os.close(here)
    os.rmdir(path, dir_fd=dir_fd)


def _is_gone(name: str | Path, folder: int | None) -> bool:
    """Remove one entry, unless it is a folder with entries; return whether it is gone."""
    try:
        os.rmdir(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        os.unlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _moved(here: int, name: str) -> int:
    """Open the folder `name` in `here` (or `..`), close `here`, and return the descriptor."""
    there = _opened(name, here)
    os.close(here)
    return there


def _opened(name: str | Path, folder: int | None) -> int:
    """Open a folder, with permission to read it and to change its entries."""
    try:
        opened = os.open(name, _LOOK, dir_fd=folder)
    except PermissionError:
        _permit(name, folder)
        opened = os.open(name, _LOOK, dir_fd=folder)
    if stat.S_IMODE(os.fstat(opened).st_mode) & 0o700 != 0o700:
        os.fchmod(opened, 0o700)
    return opened


def _permit(name: str | Path, folder: int | None) -> None:
    if sys.platform != "linux":
        os.chmod(name, 0o700, dir_fd=folder, follow_symlinks=False)
        return
    unread = os.open(name, _STEP, dir_fd=folder)
    try:
        Path(f"/proc/self/fd/{unread}").chmod(0o700)  # this very folder, whatever the name is now
    finally:
        os.close(unread)


def _identity(opened: int) -> tuple[int, int]:
    found = os.fstat(opened)
    return found.st_dev, found.st_ino


def _some_names(opened: int) -> list[str]:
    with os.scandir(opened) as entries:
        return [entry.name for entry in islice(entries, _AT_ONCE)]
