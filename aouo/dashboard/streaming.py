"""Sends facts without secrets, files, and events for as long as somebody listens."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import fields, is_dataclass
from typing import TypeAlias
from urllib.parse import quote

from aiohttp import hdrs, web

from aouo.dashboard.endpoints import Download, Frame
from aouo.plumbing.control import Facts
from aouo.plumbing.logs import log
from aouo.plumbing.redact import Redactor

_HEARTBEAT_S = 15.0
_PATIENCE_S = 60.0
"""How long somebody may leave unread what is sent: 64 KB here, and what the system holds."""
_Write: TypeAlias = Callable[[bytes], Awaitable[None]]
_HARMLESS = re.compile(
    r"(?:(?:image|audio|video)/(?!svg)[a-z0-9.+-]+|text/(?:plain|csv)|application/(?:json|pdf))"
    r"(?:; charset=utf-8)?"
)
"""Types that no page runs or takes its looks from, whoever brought the file."""


def without_secrets(facts: Facts, redactor: Redactor) -> str:
    """Return facts as JSON, dataclasses in them as objects; every text and name is redacted."""
    text = json.dumps(facts, default=_as_object)
    if "\\" not in text and not redactor.suspects(text):  # each text stands in it as it is
        return text
    return json.dumps(redactor.value(json.loads(text)))


def _as_object(one: object) -> Facts:
    if not is_dataclass(one):
        raise TypeError(f"{type(one).__name__} is no fact")
    return {field.name: getattr(one, field.name) for field in fields(one)}


async def streamed(
    request: web.Request, frames: AsyncGenerator[Frame], redactor: Callable[[], Redactor]
) -> web.StreamResponse:
    """Send frames as server-sent events, and a comment when there was none for a while."""
    response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "text/event-stream"})
    async with _begun(request, response) as write, aclosing(frames):
        coming = asyncio.ensure_future(anext(frames, None))
        try:
            while True:
                done, _ = await asyncio.wait([coming], timeout=_HEARTBEAT_S)
                if not done:
                    await write(b": still here\n\n")
                elif frame := coming.result():
                    await write(_written(frame, redactor()))
                    coming = asyncio.ensure_future(anext(frames, None))
                else:
                    break
        finally:
            coming.cancel()
            await asyncio.wait([coming])
    return response


def _written(frame: Frame, redactor: Redactor) -> bytes:
    number = f"id: {frame.id}\n" if frame.id else ""
    data = without_secrets(frame.data, redactor)
    return f"{number}event: {frame.event}\ndata: {data}\n\n".encode()


async def downloaded(request: web.Request, file: Download) -> web.StreamResponse:
    """Send a file to be saved, never to be shown as a page; its head once there is a first piece,
    so that what fails before is answered like anything else."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in file.name)
    harmless = _HARMLESS.fullmatch(file.media_type)
    response = web.StreamResponse(
        headers={
            hdrs.CONTENT_TYPE: file.media_type if harmless else "application/octet-stream",
            hdrs.CONTENT_DISPOSITION: f'attachment; filename="{name}"; '
            f"filename*=UTF-8''{quote(file.name, safe='', errors='replace')}",
        }
    )
    if file.size is not None:
        response.content_length = file.size
    async with _closed(file.content) as chunks:
        pieces = aiter(chunks)
        first = await anext(pieces, b"")
        async with _begun(request, response) as write:
            await write(first)
            async for chunk in pieces:
                await write(chunk)
    return response


@asynccontextmanager
async def _closed(content: AsyncIterable[bytes]) -> AsyncGenerator[AsyncIterable[bytes]]:
    """Let go at the end of what the content stands on, a snapshot for one."""
    try:
        yield content
    finally:
        if isinstance(content, AsyncGenerator):
            await content.aclose()


@asynccontextmanager
async def _begun(request: web.Request, response: web.StreamResponse) -> AsyncGenerator[_Write]:
    """Send the head; yield what sends the rest. What fails from then on can only be cut off.

    Raises: ConnectionError.
    """
    await response.prepare(request)

    async def write(part: bytes) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            await response.write(part)

    try:
        yield write
    except TimeoutError:
        raise ConnectionResetError from None
    except ConnectionError:
        raise
    except Exception as error:
        log.exception("dashboard_failed", path=request.path, error=repr(error))
        raise ConnectionResetError from error
