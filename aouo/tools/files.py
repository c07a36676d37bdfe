"""`read_file`, `write_file`, `list_dir`: files that the owner's fence and the pack let through.

The guard has followed every link and judged where it leads before a handler runs, and hands over
that very path. So a link that stands in the way now was put there since, and is not followed.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from aouo.errors import ToolFailed
from aouo.tools.registry import Arguments, Tool, ToolContext, tool

MAX_BYTES = 1_000_000
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FolderOf = Callable[[str, str], Path]
"""The data folder of a pack, and of whose data it is."""
RootOf = Callable[[str, str, Path], Path | None]
"""The folder below which folders may be made for a path, None = nowhere."""


class OnePath(Arguments):
    path: str = ""
    """relative to the pack's own folder"""


class ReadFile(Arguments):
    path: str


class WriteFile(Arguments):
    path: str
    content: str


def read_file(folder_of: FolderOf) -> Tool:
    async def _run(wish: ReadFile, context: ToolContext, call_id: str) -> str:
        del call_id
        path = _place(wish.path, folder_of(context.pack, context.owner))
        return await asyncio.to_thread(_read, path)

    return tool(
        "read_file",
        "Read a text file; a relative path is in this pack's own folder.",
        ReadFile,
        _run,
        group="files",
        reads=True,
    )


def write_file(folder_of: FolderOf, root_of: RootOf) -> Tool:
    async def _run(wish: WriteFile, context: ToolContext, call_id: str) -> str:
        own = folder_of(context.pack, context.owner)
        path = _place(wish.path, own)
        root = root_of(context.pack, context.owner, path)
        if root == own.resolve():
            own.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            content = wish.content.encode()
        except UnicodeEncodeError:
            raise ToolFailed(
                "The content holds half of a character; send it whole, as UTF-8."
            ) from None
        if len(content) > MAX_BYTES:
            raise ToolFailed(
                f"The content is {len(content):,} bytes; a file may have {MAX_BYTES:,}. Write "
                "several smaller files."
            )
        await asyncio.to_thread(_write, path, content, root, draft=f".{call_id}.new")
        return f"wrote {len(content):,} bytes"

    return tool(
        "write_file",
        "Write a text file, replacing what is there; a relative path is in this pack's own folder.",
        WriteFile,
        _run,
        group="files",
        effect=True,
    )


def list_dir(folder_of: FolderOf) -> Tool:
    async def _run(wish: OnePath, context: ToolContext, call_id: str) -> str:
        del call_id
        own = folder_of(context.pack, context.owner)
        path = _place(wish.path, own)
        return await asyncio.to_thread(_list, path, may_be_missing=path == _place("", own))

    return tool(
        "list_dir",
        "List a folder; no path is this pack's own folder.",
        OnePath,
        _run,
        group="files",
        reads=True,
    )


def _place(text: str, own: Path) -> Path:
    """The absolute path; only the way to the pack's own folder is followed here."""
    return Path(os.path.normpath(own.resolve() / text.strip()))


def _read(path: Path) -> str:
    with _parent(path) as folder, _opened(path, folder) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > MAX_BYTES:
            raise ToolFailed(
                f"{path.name} is {size:,} bytes; read_file reads up to {MAX_BYTES:,}. Read a "
                "smaller file, or ask for the part that matters."
            )
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(MAX_BYTES + 1)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ToolFailed(
            f"{path.name} is not a text file. For PDF, Word and the like use read_document."
        )
    return text or "(empty)"


@contextmanager
def _opened(path: Path, folder: int) -> Generator[int]:
    """The file, open for reading; a folder, a pipe or a device is refused."""
    try:
        # Without O_NONBLOCK a pipe that nobody writes into would hold the thread for ever.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path.name or ".", flags, dir_fd=folder)
    except OSError as error:
        raise _failed(path, error) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise ToolFailed(f"{path} is a folder. Use list_dir to see what is in it.")
        if not stat.S_ISREG(mode):
            raise ToolFailed(f"{path} is not a file that can be read.")
        yield descriptor
    finally:
        os.close(descriptor)


def _write(path: Path, content: bytes, root: Path | None, *, draft: str) -> None:
    """Put the whole content there or leave what was there; new folders only below `root`.

    The draft is named by the call, so that a call which runs again after a crash cleans up.
    """
    with _parent(path, make_below=root) as folder:
        mode = _mode_of(path, folder)
        try:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(draft, flags, mode, dir_fd=folder), "wb") as out:
                os.fchmod(out.fileno(), mode)
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            os.replace(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise _failed(path, error) from error


def _mode_of(path: Path, folder: int) -> int:
    """The permissions that the file has, for its owner only if it is new."""
    try:
        there = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o600
    except OSError as error:
        raise _failed(path, error) from error
    if stat.S_ISDIR(there.st_mode):
        raise ToolFailed(f"{path} is a folder. Name a file in it.")
    if not stat.S_ISREG(there.st_mode):
        raise ToolFailed(f"{path} is not a file that can be written.")
    return stat.S_IMODE(there.st_mode)


def _list(path: Path, *, may_be_missing: bool) -> str:
    try:
        with _parent(path / "any") as folder:
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                with os.scandir(descriptor) as entries:
                    lines = sorted(_line(entry) for entry in entries)
            finally:
                os.close(descriptor)
    except OSError as error:
        raise _failed(path, error) from error
    except ToolFailed:
        if may_be_missing and not path.exists():
            return "(empty)"
        raise
    return "\n".join(lines) or "(empty)"


def _line(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"[link] {entry.name}"
    if entry.is_dir(follow_symlinks=False):
        return f"[dir]  {entry.name}/"
    return f"[file] {entry.name}  {entry.stat(follow_symlinks=False).st_size:,} bytes"


@contextmanager
def _parent(path: Path, *, make_below: Path | None = None) -> Generator[int]:
    """The folder that holds `path`, reached without following a link.

    Raises:
        ToolFailed: it is not there, or a link stands in the way.
    """
    folder = os.open("/", _STEP)
    at = Path("/")
    try:
        for name in path.parent.parts[1:]:
            at /= name
            make = make_below is not None and at.is_relative_to(make_below)
            try:
                below = _step(name, folder, make=make)
            except OSError as error:
                raise _failed(at, error) from error
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def _step(name: str, folder: int, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=folder)
    return os.open(name, _STEP, dir_fd=folder)


def _failed(path: Path, error: OSError) -> ToolFailed:
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
