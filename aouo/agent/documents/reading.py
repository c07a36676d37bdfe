"""Reads a document in a child process, which may fail, hang or exceed its memory without harm."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext, suppress
from datetime import datetime, tzinfo
from typing import IO, Any

from aouo.agent.documents.entries import Entry, NotAFeed, Sent
from aouo.agent.documents.kinds import Extract
from aouo.facts.errors import ToolFailed
from aouo.plumbing import children

_LIMIT_S = 20.0
AT_ONCE = 2
"""Each child may take its share of the memory."""
_MAX_ANSWER_BYTES = 4_000_000


async def read(
    source: IO[bytes] | bytes,
    *,
    name: str = "",
    wanted: str = "",
    kind: str = "",
    charset: str = "",
    base_url: str = "",
    limit_s: float = _LIMIT_S,
    room: asyncio.Semaphore | None = None,
) -> Extract:
    """Read a document from an open file, or from its bytes; the file stays open.

    `name` helps to distinguish kinds of text, `kind` "" = detect it. The range that is `wanted`
    counts the kind's units: pages, rows, paragraphs or lines. The wait for `room`, in which other
    documents are read, does not count in the limit.

    Raises:
        ToolFailed: it is no document, damaged, too large or too slow to read; says which.
    """
    job = {"name": name, "range": wanted, "kind": kind, "charset": charset, "base_url": base_url}
    async with room or nullcontext():
        return Extract(**_parsed(await _answered(source, json.dumps(job), limit_s)))


async def read_feed(
    body: bytes, now: datetime, zone: tzinfo, url: str, room: asyncio.Semaphore
) -> Sent:
    """Read the feed or the calendar that `url` sent.

    Raises:
        NotAFeed: it is neither, or it is damaged or takes too long to read.
    """
    # a zone without a name is that of this machine
    name = getattr(zone, "key", "")
    job = {"kind": "feed", "now": now.isoformat(), "zone": name, "url": url}
    try:
        async with room:
            sent: Any = _parsed(await _answered(body, json.dumps(job), _LIMIT_S))["sent"]
    except ToolFailed as error:
        raise NotAFeed("too-long") from error
    if sent is None:
        raise NotAFeed("not-a-feed")
    sent["entries"] = tuple(Entry(**entry) for entry in sent["entries"])
    return Sent(**sent)


async def _answered(source: IO[bytes] | bytes, job: str, limit_s: float) -> bytes:
    process = await children.spawn(
        *children.PYTHON,
        "-m",
        "aouo.agent.documents.child",
        job,
        stdin=asyncio.subprocess.PIPE if isinstance(source, bytes) else source,
    )
    try:
        async with asyncio.timeout(limit_s):
            return await _answer(process, source if isinstance(source, bytes) else None)
    except TimeoutError as error:
        raise ToolFailed(
            f"It could not be read in {limit_s:g} s. A smaller file, or a range, may work."
        ) from error
    finally:
        await children.end(process)


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


def _parsed(answer: bytes) -> dict[str, Any]:
    try:
        parsed: dict[str, Any] = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise ToolFailed("It took too much to read: the file is damaged or too large.") from error
    if "problem" in parsed:
        raise ToolFailed(str(parsed["problem"]))
    return parsed
