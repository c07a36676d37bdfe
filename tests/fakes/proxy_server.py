"""A loopback proxy: SOCKS5, CONNECT tunnels and plain requests to be passed on, on one port."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class ProxyServer:
    """Leads every name to 127.0.0.1 (`seen` keeps what was asked for); `refuses` turns all away.

    `login` is the user and password it wants, ("", "") = none; `logins` are those it was told
    over HTTP.
    """

    def __init__(self) -> None:
        self.port = 0
        self.seen: list[str] = []
        self.logins: list[str] = []
        self.refuses = False
        self.login: tuple[str, str] = ("", "")

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[ProxyServer]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            first = await reader.readexactly(1)
            await (self._socks if first == b"\x05" else self._http)(reader, writer, first)
        writer.close()

    async def _socks(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, version: bytes
    ) -> None:
        """RFC 1928, and RFC 1929 where a login is wanted."""
        del version
        await reader.readexactly((await reader.readexactly(1))[0])
        if self.login[0]:
            writer.write(b"\x05\x02")
            await reader.readexactly(1)
            user = await reader.readexactly((await reader.readexactly(1))[0])
            word = await reader.readexactly((await reader.readexactly(1))[0])
            good = (user.decode(), word.decode()) == self.login
            writer.write(b"\x01\x00" if good else b"\x01\x01")
            if not good:
                return
        else:
            writer.write(b"\x05\x00")
        _, _, _, kind = await reader.readexactly(4)
        assert kind == 3, "names are the proxy's to resolve"
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        port = int.from_bytes(await reader.readexactly(2))
        self.seen.append(f"{host}:{port}")
        code = b"\x02" if self.refuses else b"\x00"
        writer.write(b"\x05" + code + b"\x00\x01\x7f\x00\x00\x01\x00\x00")
        if not self.refuses:
            await self._join(reader, writer, port)

    async def _http(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes
    ) -> None:
        head = first + await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        self.seen.append(target)
        for line in head.decode("latin-1").split("\r\n"):
            name, _, value = line.partition(": ")
            if name.lower() == "proxy-authorization":
                self.logins.append(b64decode(value.removeprefix("Basic ")).decode())
        if self.refuses:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        elif method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await self._join(reader, writer, int(target.rpartition(":")[2]))
        else:
            await self._join(reader, writer, urlsplit(target).port or 80, head=_origin_form(head))

    async def _join(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        port: int,
        *,
        head: bytes = b"",
    ) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        back.write(head)
        async with asyncio.TaskGroup() as group:
            group.create_task(_pass_on(reader, back))
            group.create_task(_pass_on(there, writer))


def _origin_form(head: bytes) -> bytes:
    line, rest = head.split(b"\r\n", 1)
    method, target, version = line.split(b" ")
    parts = urlsplit(target)
    connection = b"Connection: close\r\n"
    path = parts.path + (b"?" + parts.query if parts.query else b"")
    return b" ".join((method, path, version)) + b"\r\n" + connection + rest


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()
