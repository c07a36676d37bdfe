"""Connects to one MCP server over the SDK, which only this module imports."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import shutil
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import aiohttp
import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CONNECTION_CLOSED,
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    Implementation,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import ValidationError

from aouo.agent.tools.mcp import MAX_TOOLS, Answer, Offered
from aouo.config.sections import McpServer
from aouo.facts.attachments import PICTURES
from aouo.facts.errors import OutcomeUnknown, SetupError
from aouo.facts.transcript import Image
from aouo.plumbing.magic import type_of
from aouo.providers.http import shared_client

_MAX_PAGES = 20
_PICTURES_MAX, _PICTURE_BYTES = 4, 4_000_000
"""Of one answer, that are shown and kept."""
_HTTP_TIMEOUT = httpx2.Timeout(30.0, read=300.0)
# The SDK hands these on whatever it is told; PATH and HOME are enough.
_NOT_HANDED_ON = ("LOGNAME", "SHELL", "TERM", "USER")
_LOST = (anyio.ClosedResourceError, anyio.BrokenResourceError, httpx2.TransportError, OSError)


class LinkLost(Exception):
    """The connection broke; a call that was sent may have taken effect."""


class Link:
    """An open connection; `lost` is set as soon as the other side is gone."""

    def __init__(self, client: Client, lost: asyncio.Event, *, http: bool) -> None:
        self._client = client
        self._http = http
        self.lost = lost

    async def tools(self) -> list[Offered]:
        """Return the tools that the server lists; reads no page after the one past `MAX_TOOLS`."""
        found: list[Offered] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            for item in page.tools:
                hints = item.annotations
                found.append(
                    Offered(
                        name=item.name,
                        description=item.description or "",
                        schema=item.input_schema,
                        read_only=bool(hints and hints.read_only_hint),
                        idempotent=bool(hints and hints.idempotent_hint),
                        destructive=not hints or hints.destructive_hint is not False,
                        open_world=not hints or hints.open_world_hint is not False,
                    )
                )
            cursor = page.next_cursor
            if not cursor or len(found) > MAX_TOOLS:
                break
        return found

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool.

        Raises:
            OutcomeUnknown: the answer cannot be read.
            LinkLost: the connection broke.
        """
        try:
            result = await self._client.call_tool(name, dict(arguments))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and (self._http or _is_closed(error)):
                raise LinkLost(str(error)) from error
            return Answer(error.message[:1000] or "refused", failed=True)
        except _LOST as error:
            raise LinkLost(repr(error)) from error
        except (ValidationError, RuntimeError) as error:
            raise OutcomeUnknown("The server's answer does not follow the protocol.") from error
        return Answer(_text(result), result.is_error, tuple(_pictures(result)))


@asynccontextmanager
async def connected(
    server: McpServer, stderr: deque[str], session: aiohttp.ClientSession
) -> AsyncGenerator[Link]:
    """Connect, and disconnect at the end; a child is ended with all processes that it started.

    `stderr` receives the last lines that a child writes there; a server with a `url` is reached
    over `session`.

    Raises:
        SetupError: there is no such program.
    """
    lost = asyncio.Event()
    # Otherwise each malformed line of a server is a traceback with its words in our log.
    logging.getLogger("mcp.client.stdio").setLevel(logging.CRITICAL)
    async with AsyncExitStack() as stack:
        if server.command:
            transport = stdio_client(
                _child(server), errlog=await stack.enter_async_context(_lines_into(stderr))
            )
        else:
            headers = {name: value.get_secret_value() for name, value in server.headers.items()}
            http = shared_client(session, headers=headers, again=False)
            http.timeout = _HTTP_TIMEOUT
            await stack.enter_async_context(http)
            transport = streamable_http_client(server.url, http_client=http)
        about = Implementation(name="aouo", version="0")
        client = await stack.enter_async_context(
            Client(_watched(transport, lost), client_info=about, cache=None)
        )
        client.session.validate_tool_result = _take_as_said
        yield Link(client, lost, http=not server.command)


async def _take_as_said(name: str, result: CallToolResult) -> None:
    """Replace the SDK's check of an answer against the schema that the server declares.

    A kilobyte of schema can hold the event loop for hours, and the model reads text anyway.
    """
    del name, result


def _child(server: McpServer) -> StdioServerParameters:
    program = shutil.which(os.path.expanduser(server.command))  # noqa: PTH111 - may be a bare name
    if program is None:
        raise SetupError(f"there is no program {server.command!r}")
    unset = [part for name in _NOT_HANDED_ON if name not in server.env for part in ("-u", name)]
    return StdioServerParameters(
        command=shutil.which("env") or "/usr/bin/env",
        args=[*unset, program, *server.args],
        env={name: value.get_secret_value() for name, value in server.env.items()},
        cwd=Path.home(),
    )


@asynccontextmanager
async def _watched(transport: Any, lost: asyncio.Event) -> AsyncGenerator[Any]:
    """Yield the transport's streams; the incoming one sets `lost` when it ends."""
    async with transport as (incoming, outgoing):
        yield _Watched(incoming, lost), outgoing


@dataclass(slots=True, eq=False)
class _Watched:
    """A stream of messages from the server that sets an event at its end."""

    inner: Any
    lost: asyncio.Event

    async def receive(self) -> Any:
        try:
            return await self.inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self.lost.set()
            raise

    async def aclose(self) -> None:
        await self.inner.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Watched:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *what: Any) -> Any:
        return await self.inner.__aexit__(*what)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@asynccontextmanager
async def _lines_into(kept: deque[str]) -> AsyncGenerator[TextIO]:
    """Yield a file for a child's stderr; its lines are put into `kept` as they come."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    loop = asyncio.get_running_loop()
    rest = ""

    def _read() -> None:
        nonlocal rest
        try:
            data = os.read(reading, 65_536)
        except BlockingIOError:
            return
        if not data:
            loop.remove_reader(reading)
        *lines, rest = (rest + data.decode("utf-8", "replace")).split("\n")
        kept.extend(line[:500] for line in lines if line.strip())
        rest = rest[-500:]

    loop.add_reader(reading, _read)
    try:
        with os.fdopen(writing, "w") as file:
            yield file
    finally:
        _read()
        loop.remove_reader(reading)
        os.close(reading)


def _is_closed(error: MCPError) -> bool:
    """Whether the SDK says that the pipe closed; servers use its code for their failures, too."""
    return error.message == "Connection closed"


def _text(result: CallToolResult) -> str:
    """Return all parts as text, other kinds described; structured content only if no part is."""
    parts = [_part(part) for part in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return "\n".join(part for part in parts if part)


def _pictures(result: CallToolResult) -> Iterator[Image]:
    """Yield the first pictures, by what their bytes say that they are."""
    parts = (part for part in result.content if isinstance(part, ImageContent))
    for part in islice(parts, _PICTURES_MAX):
        try:
            data = base64.b64decode(part.data)
        except ValueError:
            continue
        if (kind := type_of(data)) in PICTURES and len(data) <= _PICTURE_BYTES:
            yield Image(kind, data)


def _part(part: ContentBlock) -> str:
    match part:
        case TextContent():
            return part.text
        case ImageContent():
            return f"[picture: {part.mime_type}, {len(part.data) * 3 // 4:,} bytes]"
        case AudioContent():
            return f"[{part.type}: {part.mime_type}, {len(part.data) * 3 // 4:,} bytes, not heard]"
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case EmbeddedResource():
            kind = part.resource.mime_type or "of no known type"
            return f"[resource {part.resource.uri}: {kind}, not shown]"
        case ResourceLink():
            return f"[link to {part.uri}: {part.title or part.name}] {part.description or ''}"
