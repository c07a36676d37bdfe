"""Reads a document in a child process, which may fail, hang or exceed its memory without harm."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import IO, Any

from aouo.facts.errors import ToolFailed
from aouo.plumbing import children

LIMIT_S = 20.0
_MAX_ANSWER_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Job:
    """What to read: `name` helps to distinguish kinds of text, `kind` "" = detect it.

    `range` counts the kind's units: pages, rows, paragraphs or lines.
    """

    name: str = ""
    range: str = ""
    kind: str = ""
    charset: str = ""
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """The text of a document; `total` counts all its `unit`s, `note` says what is missing."""

    kind: str
    text: str
    unit: str
    total: int
    note: str


class DocumentReader:
    """Reads documents, a few at a time: each child may take its share of the memory."""

    def __init__(self, at_once: int = 2) -> None:
        self._free = asyncio.Semaphore(at_once)

    async def read(self, source: IO[bytes] | bytes, job: Job, *, limit_s: float = LIMIT_S) -> Read:
        """Read as `read` does; the wait for other readings does not count in the limit."""
        async with self._free:
            return await read(source, job, limit_s=limit_s)


async def read(source: IO[bytes] | bytes, job: Job, *, limit_s: float = LIMIT_S) -> Read:
    """Read a document from an open file, or from its bytes; the file stays open.

    Raises:
        ToolFailed: it is no document, damaged, too large or too slow to read; says which.
    """
    process = await children.spawn(
        *children.PYTHON,
        "-m",
        "aouo.documents.child",
        json.dumps(asdict(job)),
        stdin=asyncio.subprocess.PIPE if isinstance(source, bytes) else source,
    )
    try:
        async with asyncio.timeout(limit_s):
            answer = await _answer(process, source if isinstance(source, bytes) else None)
    except TimeoutError as error:
        raise ToolFailed(
            f"It could not be read in {limit_s:g} s. A smaller file, or a range, may work."
        ) from error
    finally:
        await children.end(process)
    return _read_of(answer)


async def _answer(process: asyncio.subprocess.Process, data: bytes | None) -> bytes:
    stdin, stdout = process.stdin, process.stdout
    if data is not None and stdin is not None:
        with suppress(ConnectionError):  # it ended early; its answer may say why
            stdin.write(data)
            await stdin.drain()
            stdin.close()
    said = bytearray()
    while stdout is not None and (piece := await stdout.read(65_536)):
        said += piece
        if len(said) > _MAX_ANSWER_BYTES:
            break
    return bytes(said)


def _read_of(answer: bytes) -> Read:
    try:
        said: dict[str, Any] = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise ToolFailed("It took too much to read: the file is damaged or too large.") from error
    if "problem" in said:
        raise ToolFailed(str(said["problem"]))
    return Read(**said)
