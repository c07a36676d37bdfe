"""`read_file`, `write_file`, `list_dir`, `read_document`: use files that fence and pack allow.

The guard has judged where a path leads and passes exactly that path on; see `guard.opening`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from pydantic import field_validator

from aouo.agent.documents.kinds import Extract
from aouo.agent.documents.reading import AT_ONCE, read
from aouo.agent.tools.kept_files import KeptFiles
from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed
from aouo.guard.paths import failed, opened, parent, placed
from aouo.plumbing.trees import TooMuch, walk
from aouo.plumbing.web.envelope import said_by, untrusted
from aouo.store import contents
from aouo.store.database import Database

MAX_BYTES = 1_000_000
_MAX_FOLDER_BYTES = 200_000_000
_MAX_FOLDER_FILES = 5_000
"""Of a pack's own folder, all below it counted."""
_MAX_FOLDER_ENTRIES = 2 * _MAX_FOLDER_FILES
"""Folders too."""
_MAX_LISTED = 2_000
_FolderOf = Callable[[str, str], Path]
"""Gives a pack's data folder for a tenant."""
_SentOf = Callable[[str, Path], bool]
"""Whether a path is a file that was sent to the conversation whose media folder this is."""
_RootOf = Callable[[str, str, Path], Path | None]
"""The folder below which folders may be made for a path, None = nowhere."""


class OnePath(Arguments):
    path: str = ""
    """relative to the pack's own folder"""


class ReadFile(Arguments):
    path: str


class WriteFile(Arguments):
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Written:
    """Remembers which files repeat the words of others than the person."""

    database: Database

    async def source_of(self, path: Path) -> str:
        """Whose words a file, or what is in a folder above it, may repeat, "" = nobody's."""
        names = [str(one) for one in (path, *path.parents)]
        return await self.database.read(lambda tx: contents.source_of_file(tx, names))

    async def source_in(self, folder: Path) -> str:
        """Whose words the names in a folder may repeat, "" = nobody's."""
        found = await self.database.read(lambda tx: contents.source_in_folder(tx, str(folder)))
        return found or await self.source_of(folder)

    async def note(self, path: Path, source: str) -> None:
        """Note it before the file is written."""
        if source or await self.source_of(path):
            await self.database.transact(
                lambda tx: contents.mark_file(tx, str(path), source), durable=True
            )


def read_file(folder_of: _FolderOf, sent: _SentOf, written: Written) -> Tool:
    async def _run(wish: ReadFile, context: ToolContext, call_id: str) -> str:
        del call_id
        path = placed(wish.path, folder_of(context.facts.pack, context.facts.tenant))
        text = await asyncio.to_thread(_read, path)
        if sent(context.facts.address.folder, path):
            return untrusted(text, path.name)
        return said_by(await written.source_of(path), text)

    return tool(
        "read_file",
        "Read a text file; a relative path is in this pack's own folder.",
        ReadFile,
        _run,
        sink="look",
        group="files",
        read_only=True,
    )


def write_file(folder_of: _FolderOf, root_of: _RootOf, written: Written, files: KeptFiles) -> Tool:
    async def _run(wish: WriteFile, context: ToolContext, call_id: str) -> str:
        own = folder_of(context.facts.pack, context.facts.tenant)
        path = placed(wish.path, own)
        root = root_of(context.facts.pack, context.facts.tenant, path)
        is_own = root == own.resolve()
        if is_own:
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
        if is_own:
            await asyncio.to_thread(check_room, own, len(content))
        await written.note(path, ", ".join(context.sources()))
        await files.write(call_id, path, content, root)
        return f"wrote {len(content):,} bytes"

    return tool(
        "write_file",
        "Write a text file, replacing what is there; a relative path is in this pack's own folder.",
        WriteFile,
        _run,
        sink="own",
        group="files",
        mutates=True,
    )


def list_dir(folder_of: _FolderOf, written: Written) -> Tool:
    async def _run(wish: OnePath, context: ToolContext, call_id: str) -> str:
        del call_id
        own = folder_of(context.facts.pack, context.facts.tenant)
        path = placed(wish.path, own)
        names = await asyncio.to_thread(_list, path, may_be_missing=path == placed("", own))
        return said_by(await written.source_in(path), names)

    return tool(
        "list_dir",
        "List a folder; no path is this pack's own folder.",
        OnePath,
        _run,
        sink="look",
        group="files",
        read_only=True,
    )


def _read(path: Path) -> str:
    with opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > MAX_BYTES:
            raise ToolFailed(
                f"{path.name} is {size:,} bytes; read_file reads up to {MAX_BYTES:,}. Read a "
                "smaller file, or ask for the part that matters."
            )
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(MAX_BYTES + 1)
    text = text_in(content)
    if text is None:
        raise ToolFailed(
            f"{path.name} is not a text file. For PDF, Word and the like use read_document."
        )
    return text or "(empty)"


def text_in(content: bytes) -> str | None:
    """Decode a text file, None = it is none."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def check_room(own: Path, more_bytes: int) -> None:
    """Check that `more_bytes` and one more file fit into the pack's folder.

    Raises:
        ToolFailed: they do not, or the folder cannot be read.
    """
    files = size = 0
    try:
        for found in walk(own, most=_MAX_FOLDER_ENTRIES):
            files += not found.is_folder
            size += 0 if found.is_folder else found.facts.st_size
            if files >= _MAX_FOLDER_FILES or size + more_bytes > _MAX_FOLDER_BYTES:
                raise ToolFailed(
                    f"This pack's folder is full: it may hold {_MAX_FOLDER_FILES:,} files and "
                    f"{_MAX_FOLDER_BYTES:,} bytes. Put more into one file, or ask "
                    "the person to tidy up."
                )
    except TooMuch as error:
        raise ToolFailed(
            f"This pack's folder {error}: nothing more fits. Ask the person to tidy up."
        ) from error
    except OSError as error:
        raise ToolFailed(
            "This pack's folder cannot be looked through. Ask the person to tidy up."
        ) from error


def _list(path: Path, *, may_be_missing: bool) -> str:
    try:
        with parent(path / "any") as folder:
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                with os.scandir(descriptor) as found:
                    lines = sorted(_line(entry) for entry in islice(found, _MAX_LISTED))
                    more = sum(1 for _ in found)
            finally:
                os.close(descriptor)
    except OSError as error:
        raise failed(path, error) from error
    except ToolFailed:
        if may_be_missing and not path.exists():
            return "(empty)"
        raise
    lines += [f"[and {more:,} more]"] if more else []
    return "\n".join(lines) or "(empty)"


def _line(entry: os.DirEntry[str]) -> str:
    name = "".join(char if char.isprintable() else "?" for char in entry.name)
    if entry.is_symlink():
        return f"[link] {name}"
    if entry.is_dir(follow_symlinks=False):
        return f"[dir]  {name}/"
    return f"[file] {name}  {entry.stat(follow_symlinks=False).st_size:,} bytes"


DOCUMENT_BYTES = 20_000_000


class ReadDocument(Arguments):
    path: str
    range: str = ""
    """pages or rows, like 3-7"""

    @field_validator("range", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) else value


def read_document(
    folder: Callable[[str, str], Path], room: asyncio.Semaphore | None = None
) -> Tool:
    """Make the tool; `folder` gives a pack's data folder for a tenant, paths are relative to it.

    The guard judges `path` before, so the tool opens what it is given.
    """
    room = room or asyncio.Semaphore(AT_ONCE)

    async def _read(wish: ReadDocument, context: ToolContext, call_id: str) -> str:
        del call_id
        path = placed(wish.path, folder(context.facts.pack, context.facts.tenant))
        with await asyncio.to_thread(_opened, path) as file:
            found = await read(file, name=path.name, wanted=wish.range, room=room)
        return f"{_headline(path.name, found)}\n{untrusted(found.text, path.name)}"

    return tool(
        "read_document",
        "Read a PDF, Word, Excel, CSV, HTML or text file as text.",
        ReadDocument,
        _read,
        sink="look",
        group="documents",
        read_only=True,
        timeout_s=40.0,
    )


def _opened(path: Path) -> BinaryIO:
    """Open the file for reading.

    Raises:
        ToolFailed: it is missing, no file, too large or not readable; says which.
    """
    with opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > DOCUMENT_BYTES:
            raise ToolFailed(
                f"{path.name} has {size:,} bytes; at most {DOCUMENT_BYTES:,} are read."
            )
        return os.fdopen(os.dup(descriptor), "rb")


def _headline(name: str, found: Extract) -> str:
    note = f"; {found.note}" if found.note else ""
    name = "".join(char if char.isprintable() else "?" for char in name)
    return f"{name}: {found.kind}, {found.total:,} {found.unit}{note}"
