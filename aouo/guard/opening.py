"""Opens exactly the path that the guard judged: it follows no link and opens only files.

The guard followed every link before, so a link in the way now was put there since.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from aouo.facts.errors import ToolFailed
from aouo.plumbing import trees


def placed(text: str, own: Path) -> Path:
    """Return the absolute path of an argument; links are followed only in the folder `own`.

    Raises:
        ToolFailed: it holds `..` or a NUL, as no path does that the guard has judged.
    """
    path = own.resolve() / text.strip()
    if ".." in path.parts or "\0" in text:
        raise ToolFailed(f"{text!r} is no path that was checked; write it without `..`.")
    return path


@contextmanager
def opened(path: Path) -> Generator[int]:
    """Yield a descriptor of the file at the absolute `path`, for reading.

    Raises:
        ToolFailed: it is missing, no file (a folder, a pipe, a device), or a link is in the way.
    """
    with parent(path) as folder:
        try:
            # Without O_NONBLOCK a pipe that nobody writes into would hold the thread for ever.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path.name or ".", flags, dir_fd=folder)
        except OSError as error:
            raise failed(path, error) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise ToolFailed(f"{path} is a folder. Use list_dir to see what is in it.")
        if not stat.S_ISREG(mode):
            raise ToolFailed(f"{path} is not a file that can be read.")
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def parent(path: Path, *, make_below: Path | None = None) -> Generator[int]:
    """Yield a descriptor of `path`'s folder; missing folders are made below `make_below`.

    Raises:
        ToolFailed: it is not there, or a link stands in the way.
    """
    with ExitStack() as stack:
        try:
            found = stack.enter_context(trees.folder(path.parent, make_below=make_below))
        except OSError as error:
            raise failed(Path(error.filename), error) from error
        yield found


def write_new(path: Path, content: bytes, *, own: Path) -> None:
    """Create the file at the absolute `path`, only its owner may read it; also make missing
    folders below `own`.

    Raises:
        ToolFailed: the path exists, or a link is in the way.
    """
    try:
        with trees.new_file(path, make_below=own) as out:
            out.write(content)
    except OSError as error:
        raise failed(Path(error.filename or path), error) from error


def failed(path: Path, error: OSError) -> ToolFailed:
    """Return the system's error in words for the model."""
    match error:
        case FileNotFoundError():
            return ToolFailed(f"{path} is not there. Use list_dir to see what is.")
        case NotADirectoryError():
            return ToolFailed(f"{path} is no folder. Use list_dir to see what is there.")
        case PermissionError():
            return ToolFailed(f"The system does not let us at {path}.")
        case _ if error.errno == errno.ELOOP:
            return ToolFailed(
                f"{path} became a link meanwhile, so it was not followed. Call again."
            )
        case _:
            return ToolFailed(f"{path}: {error.strerror or error}.")
