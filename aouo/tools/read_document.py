"""`read_document`: the text of a PDF, Word, Excel, CSV, HTML or text file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pydantic import field_validator

from aouo.documents.parts import Extract
from aouo.documents.reading import AT_ONCE, read
from aouo.facts.errors import ToolFailed
from aouo.guard.opening import opened, placed
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
        if size > MAX_BYTES:
            raise ToolFailed(f"{path.name} has {size:,} bytes; at most {MAX_BYTES:,} are read.")
        return os.fdopen(os.dup(descriptor), "rb")


def _headline(name: str, found: Extract) -> str:
    note = f"; {found.note}" if found.note else ""
    name = "".join(char if char.isprintable() else "?" for char in name)
    return f"{name}: {found.kind}, {found.total:,} {found.unit}{note}"
