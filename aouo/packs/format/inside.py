"""Reads an untrusted folder: follows no links, leaves it nowhere, reads nothing endless."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path, PurePosixPath

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
