"""Sends files, and events for as long as somebody listens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from urllib.parse import quote

import structlog
from aiohttp import hdrs, web

from aouo.dashboard.endpoints import Download, Frame
from aouo.facts.errors import AouoError

log = structlog.get_logger()
HEARTBEAT_S = 15.0


async def streamed(
    request: web.Request, frames: AsyncGenerator[Frame], around: Mapping[str, str]
) -> web.StreamResponse:
    """Send frames as server-sent events, and a comment when there was none for a while."""
    response = web.StreamResponse(headers={**around, hdrs.CONTENT_TYPE: "text/event-stream"})
    await response.prepare(request)
    async with aclosing(frames):
        coming = asyncio.ensure_future(anext(frames, None))
        try:
            while True:
                done, _ = await asyncio.wait([coming], timeout=HEARTBEAT_S)
                if not done:
                    await response.write(b": still here\n\n")
                elif frame := coming.result():
                    await response.write(_written(frame))
                    coming = asyncio.ensure_future(anext(frames, None))
                else:
                    return response
        finally:
            coming.cancel()
            await asyncio.wait([coming])


def _written(frame: Frame) -> bytes:
    number = f"id: {frame.id}\n" if frame.id else ""
    return f"{number}event: {frame.event}\ndata: {json.dumps(frame.data)}\n\n".encode()


async def downloaded(
    request: web.Request, file: Download, around: Mapping[str, str]
) -> web.StreamResponse:
    """Send a file to be saved, never to be shown as a page."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in file.name)
    response = web.StreamResponse(
        headers={
            **around,
            hdrs.CONTENT_TYPE: file.media_type,
            hdrs.CONTENT_DISPOSITION: f'attachment; filename="{name}"; '
            f"filename*=UTF-8''{quote(file.name, safe='', errors='replace')}",
        }
    )
    if file.size is not None:
        response.content_length = file.size
    await response.prepare(request)
    try:
        async for chunk in file.content:
            await response.write(chunk)
    except AouoError as error:  # half of a file must not look like all of it
        log.warning("download_broken", path=request.path, error=str(error))
        if request.transport:
            request.transport.abort()
    return response
