"""Checks and reads an untrusted folder: follows no links, leaves it nowhere, bounded."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from aouo.packs.format.problems import Problem
from aouo.plumbing.trees import Found, TooMuch, walk

_MAX_FILES = 200


class NotInside(Exception):
    """A path that leads out of the folder, or is not a readable text file in it."""


def read_inside(folder: Path, relative: str, *, max_bytes: int = 256 * 1024) -> str:
    """Return the text of a regular file below `folder`, which may itself be a link.

    Every step is opened without following links, so nothing can be swapped in between.

    Raises:
        FileNotFoundError: there is no such file.
        NotInside: a link, a `..`, not a regular file, too large, or not UTF-8 text.
    """
    parts = PurePosixPath(relative).parts
    if not parts or ".." in parts or parts[0] == "/" or "\0" in relative:
        raise NotInside(f"{relative!r} is not a path inside the folder")
    try:
        content = _read(folder, parts, max_bytes)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotInside(f"{relative} cannot be read: {_why(error)}") from error
    if len(content) > max_bytes:
        raise NotInside(f"{relative} is larger than {max_bytes // 1024} kB")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise NotInside(f"{relative} is not UTF-8 text") from error
    if "\0" in text:
        raise NotInside(f"{relative} holds a NUL byte and is no text")
    return text


def _why(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "links are not followed"
    return "it is not a file" if error.errno == errno.ENXIO else os.strerror(error.errno or 0)


def _read(folder: Path, parts: tuple[str, ...], max_bytes: int) -> bytes:
    opened = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        for part in parts[:-1]:
            opened.append(os.open(part, flags | os.O_DIRECTORY, dir_fd=opened[-1]))
        opened.append(os.open(parts[-1], flags | os.O_NONBLOCK, dir_fd=opened[-1]))
        if not stat.S_ISREG(os.fstat(opened[-1]).st_mode):
            raise NotInside(f"{'/'.join(parts)} is not a file")
        with os.fdopen(opened.pop(), "rb") as file:
            return file.read(max_bytes + 1)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def list_inside(folder: Path, relative: str = "") -> tuple[str, ...]:
    """Return the visible files below `relative`, links left out, at most `_MAX_FILES`.

    Paths are relative to that place; one that leads out, or over a link, holds nothing.
    """
    top = folder
    for part in PurePosixPath(relative).parts:
        top = top / part
        if part in ("..", "/") or "\0" in part or top.is_symlink():
            return ()
    found: list[str] = []
    with suppress(TooMuch, OSError):
        for one in walk(top, enter=_is_visible, closed=lambda path: None):
            is_link = stat.S_ISLNK(one.facts.st_mode)
            if _is_visible(one) and not one.is_folder and not is_link:
                found.append(one.path)
    found.sort(key=lambda path: path.rpartition("/")[::2])
    return tuple(found[:_MAX_FILES])


def _is_visible(found: Found) -> bool:
    return not found.path.rpartition("/")[2].startswith(".")


_FILES_MAX = 2_000
_BYTES_MAX = 64 * 1024 * 1024
_DEPTH_MAX = 16
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})
"""What tools of an author leave behind; never read, never exported."""

_PROBLEMS_MAX = 20


def look_around(folder: Path) -> tuple[Problem, ...]:
    """Return what keeps a folder from being a pack, whatever its files say; follows no link.

    It stops early when there is too much of anything.
    """
    problems: list[Problem] = []
    files = size_bytes = 0
    waiting = [PurePosixPath()]
    while waiting and len(problems) < _PROBLEMS_MAX:
        here = waiting.pop()
        seen: dict[str, str] = {}
        entries, unread = _entries(folder, here)
        problems += unread
        for entry in entries:
            path = here / entry.name
            problems += _of_name(path, seen)
            facts, wrong = _of_entry(folder, entry, path)
            problems += wrong
            if facts and stat.S_ISDIR(facts.st_mode):
                waiting += [path] if entry.name not in SKIPPED else []
            elif facts:
                files, size_bytes = files + 1, size_bytes + facts.st_size
            problems += (much := _too_much(files, size_bytes))
            if much or len(problems) >= _PROBLEMS_MAX:
                return tuple(problems)
    return tuple(problems)


def _entries(folder: Path, here: PurePosixPath) -> tuple[list[os.DirEntry[str]], list[Problem]]:
    if len(here.parts) > _DEPTH_MAX:
        return [], [_problem(here, f"is nested deeper than {_DEPTH_MAX} folders")]
    try:
        with os.scandir(folder / here) as entries:
            return sorted(entries, key=lambda entry: entry.name), []
    except OSError as error:
        # A pack's folder that cannot be read at all is found by reading it.
        return [], [_problem(here, f"cannot be read: {error.strerror}")] if here.parts else []


def _of_entry(
    folder: Path, entry: os.DirEntry[str], path: PurePosixPath
) -> tuple[os.stat_result | None, list[Problem]]:
    """Look at one entry; return what it is, None = that cannot be seen, and what is wrong."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError as error:
        return None, [_problem(path, f"cannot be read: {error.strerror}")]
    wrong = ""
    if stat.S_ISLNK(facts.st_mode):
        if _leads_out(folder, path):
            wrong = "is a link that leads out of the pack; links are not followed"
    elif not stat.S_ISREG(facts.st_mode) and not stat.S_ISDIR(facts.st_mode):
        wrong = "is not a file: a pack holds files and folders only"
    elif stat.S_ISREG(facts.st_mode) and not os.access(folder / path, os.R_OK):
        wrong = "cannot be read: the owner of the folder has to allow it"
    return facts, [_problem(path, wrong)] if wrong else []


def _leads_out(folder: Path, path: PurePosixPath) -> bool:
    link = folder / path
    try:
        inside = link.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle
        inside = False
    return not inside or link.readlink().is_absolute()


def _of_name(path: PurePosixPath, seen: dict[str, str]) -> Iterator[Problem]:
    name = path.name
    if any(ord(letter) < 32 or 0xDC80 <= ord(letter) <= 0xDCFF for letter in name):
        yield _problem(path, "has a name that is not text")
    elif "\\" in name:
        yield _problem(path, "has a \\ in its name, which is a folder elsewhere")
    same = unicodedata.normalize("NFKC", name).casefold()
    other = seen.setdefault(same, name)
    if other != name:
        yield _problem(path, f"is the same name as {other!r} on other machines; rename one")


def _too_much(files: int, size_bytes: int) -> list[Problem]:
    if files > _FILES_MAX:
        return [_problem(PurePosixPath(), f"more than {_FILES_MAX:,} files; a pack is text")]
    if size_bytes > _BYTES_MAX:
        return [_problem(PurePosixPath(), f"more than {_BYTES_MAX >> 20} MB; a pack is text")]
    return []


def _problem(path: PurePosixPath, message: str) -> Problem:
    name = path.as_posix().encode("utf-8", "replace").decode()
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    return Problem(shown, 0, "", message)
