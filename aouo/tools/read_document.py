"""`read_document`: the text of a PDF, Word, Excel, CSV, HTML or text file."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pydantic import field_validator

from aouo.documents.reading import Job, Read, read
from aouo.errors import ToolFailed
from aouo.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.web.envelope import untrusted

MAX_BYTES = 20_000_000


class ReadDocument(Arguments):
    path: str
    range: str = ""
    """pages or rows, like 3-7"""

    @field_validator("range", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) else value


def read_document(folder: Callable[[str, str], Path]) -> Tool:
    """`folder` is a pack's own data folder for an owner; paths are relative to it.

    Which files may be opened is the guard's to say: it judges `path` before.
    """

    async def _read(wish: ReadDocument, context: ToolContext, call_id: str) -> str:
        del call_id
        path = _path(folder(context.pack, context.owner), wish.path.strip())
        with await asyncio.to_thread(_opened, path) as file:
            found = await read(file, Job(name=path.name, range=wish.range))
        return f"{_headline(path.name, found)}\n{untrusted(found.text, path.name)}"

    return tool(
        "read_document",
        "Read a PDF, Word, Excel, CSV, HTML or text file as text.",
        ReadDocument,
        _read,
        group="documents",
        reads=True,
        timeout_s=40.0,
    )


def _path(folder: Path, text: str) -> Path:
    return folder / os.path.expanduser(text)  # noqa: PTH111 - keeps a bare "~x" as it is


def _opened(path: Path) -> BinaryIO:
    """The file, open for reading.

    Raises:
        ToolFailed: not there, no file, too large or closed to us; says which.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise ToolFailed(f"There is no file {str(path)!r}.") from error
    except (OSError, ValueError) as error:
        raise ToolFailed(f"{str(path)!r} cannot be opened ({type(error).__name__}).") from error
    facts = os.fstat(descriptor)
    problem = ""
    if not stat.S_ISREG(facts.st_mode):
        problem = f"{str(path)!r} is no file."
    elif facts.st_size > MAX_BYTES:
        problem = f"{path.name} has {facts.st_size:,} bytes; at most {MAX_BYTES:,} are read."
    if problem:
        os.close(descriptor)
        raise ToolFailed(problem)
    return os.fdopen(descriptor, "rb")


def _headline(name: str, found: Read) -> str:
    note = f"; {found.note}" if found.note else ""
    return f"{name}: {found.kind}, {found.total:,} {found.unit}{note}"
