"""The egress proxy, for processes without a network: it reaches what its permits allow.

It speaks the HTTP that a client's proxy support needs: `CONNECT host:port` for TLS, and whole
`http://` requests, one per connection. It resolves and checks addresses itself, as `fetch` does,
and connects to one of them.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from yarl import URL

from aouo.facts.errors import ToolFailed
from aouo.plumbing.logs import log
from aouo.plumbing.web.addresses import Address, Permits, is_public, literal, target
from aouo.plumbing.web.client import Lookup, system_lookup

_HEAD_BYTES = 32_768
_TRANSFER_BYTES = 50_000_000
"""The bound for one connection, both directions together."""
_CONNECT_S = 10.0
_IDLE_S = 30.0
_AT_ONCE = 16
_CHUNK_BYTES = 65_536
_HOP = re.compile(rb"(?i)(proxy-[^:]*|connection|keep-alive|host|te|trailer|upgrade):")
_REQUEST = re.compile(r"([A-Z]{1,20}) (\S+) HTTP/1\.[01]")
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*([0-9]{1,12})[ \t]*\r?$")
_CHUNKED = re.compile(rb"(?im)^transfer-encoding:")


@dataclass(slots=True, eq=False, kw_only=True)
class EgressProxy:
    """Serves listening sockets; `lookup` and `admits` exist for tests, which have no network."""

    lookup: Lookup = system_lookup
    admits: Callable[[Address], bool] = is_public

    @asynccontextmanager
    async def open(self, listening: socket.socket, permits: Permits) -> AsyncGenerator[None]:
        """Serve `listening` until the block ends; then cut every connection."""
        listening.setblocking(False)
        free = asyncio.Semaphore(_AT_ONCE)
        handlers: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is not None:
                handlers.add(task)
                task.add_done_callback(handlers.discard)
            try:
                async with free:
                    await self._serve(reader, writer, permits)
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                pass  # one side closed the connection
            finally:
                writer.close()

        server = await asyncio.start_server(serve, sock=listening, limit=_HEAD_BYTES)
        try:
            yield
        finally:
            server.close()
            for task in list(handlers):
                task.cancel()
            if handlers:
                await asyncio.wait(handlers)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, permits: Permits
    ) -> None:
        try:
            async with asyncio.timeout(_CONNECT_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return await _refuse(writer, 431, "the request's head is too long")
        found = _REQUEST.fullmatch(head.partition(b"\r\n")[0].decode("latin-1"))
        if found is None:
            return await _refuse(writer, 400, "this is no request to a proxy")
        method, where = found.groups()
        tunnel = method == "CONNECT"
        try:
            url = target(f"https://{where}/" if tunnel else where, permits)
            if not tunnel and url.scheme != "http":
                raise ToolFailed("Use CONNECT for https.")
            upstream = await self._connect(url)
        except ToolFailed as error:
            log.info("sandbox_host_refused", pack=permits.who, url=where[:200], why=str(error))
            return await _refuse(writer, 403, str(error))
        except (OSError, TimeoutError):
            return await _refuse(writer, 502, f"{where} could not be reached")
        there, back = upstream
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await writer.drain()
                budget = _Budget()
                await _both(_pump(budget, reader, back), _pump(budget, there, writer))
                return None
            if _CHUNKED.search(head):
                return await _refuse(writer, 411, "send the body with a Content-Length")
            back.write(_direct(method, url, head))
            budget = _Budget()
            asking = _pump(budget, reader, back, _length(head))
            await _both(asking, _pump(budget, there, writer))
        finally:
            back.close()
        return None

    async def _connect(self, url: URL) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a checked address of a URL's host.

        Raises:
            ToolFailed: the host has no address, or one that is not public.
            OSError, TimeoutError: no address could be reached.
        """
        host, port = url.raw_host or "", url.port or 0
        fixed = literal(host)
        if fixed is not None:
            addresses: Sequence[Address] = (fixed,)
        else:
            async with asyncio.timeout(_CONNECT_S):
                addresses = [ip_address(text) for text in await self.lookup(host, port)]
        if not addresses:
            raise ToolFailed(f"There is no host {host}.")
        if not all(self.admits(address) for address in addresses):
            raise ToolFailed(f"{host} is not on the internet, so it is closed to tools.")
        last: OSError | None = None
        async with asyncio.timeout(_CONNECT_S):
            for address in addresses:
                try:
                    return await asyncio.open_connection(str(address), port)
                except OSError as error:
                    last = error
        raise last or OSError("no address")


class _Budget:
    """The bytes that one connection may still carry."""

    def __init__(self) -> None:
        self._left = _TRANSFER_BYTES

    def take(self, count: int) -> bool:
        self._left -= count
        return self._left >= 0


async def _both(up: Coroutine[Any, Any, None], down: Coroutine[Any, Any, None]) -> None:
    """Carry bytes both ways until `down` has ended: at its end, or after a silence."""
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(up)
        await down
        sending.cancel()


async def _pump(
    budget: _Budget,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    most: int | None = None,
) -> None:
    left = _TRANSFER_BYTES if most is None else most
    with suppress(OSError, TimeoutError):
        while left > 0:
            async with asyncio.timeout(_IDLE_S):
                piece = await reader.read(min(left, _CHUNK_BYTES))
            if not piece or not budget.take(len(piece)):
                break
            left -= len(piece)
            writer.write(piece)
            await writer.drain()
        if most is None and writer.can_write_eof():
            writer.write_eof()


def _direct(method: str, url: URL, head: bytes) -> bytes:
    """Return the request as a server expects it, with the checked host as its only host."""
    lines = [line for line in head.split(b"\r\n")[1:] if line and not _HOP.match(line)]
    first = f"{method} {url.raw_path_qs} HTTP/1.1".encode()
    host = url.raw_authority.encode()
    return b"\r\n".join([first, b"Host: " + host, *lines, b"Connection: close", b"", b""])


def _length(head: bytes) -> int:
    found = _LENGTH.search(head)
    return int(found[1]) if found else 0


async def _refuse(writer: asyncio.StreamWriter, status: int, why: str) -> None:
    body = why.encode()
    head = f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain; charset=utf-8\r\n"
    head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    with suppress(OSError):
        await writer.drain()
