"""The way to a server on loopback, as a network is: its connections die in silence, it is gone and
comes back, all on one port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress


class Road:
    """Passes on what comes to `port` of `host`, to another port of 127.0.0.1.

    `opened` counts the connections that were ever taken.
    """

    def __init__(self, to: int, *, host: str = "127.0.0.1") -> None:
        self._to = to
        self._host = host
        self._server: asyncio.Server | None = None
        self._ends: list[asyncio.StreamWriter] = []
        self._frozen: set[asyncio.StreamWriter] = set()
        self.opened = 0
        self.port = 0

    @property
    def base_url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}"

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Road]:
        await self.up()
        try:
            yield self
        finally:
            self.down()

    async def up(self) -> None:
        self._server = await asyncio.start_server(self._take, self._host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def down(self) -> None:
        """Take nothing more; break off what is open."""
        if self._server:
            self._server.close()
            self._server = None
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()

    def freeze(self) -> None:
        """What is open stays open, and nothing passes on it any more; new ones work."""
        self._frozen.update(self._ends)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        self._ends += [writer, back]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pass_on(reader, back))
            group.create_task(self._pass_on(there, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while piece := await reader.read(65536):
                if writer not in self._frozen:
                    writer.write(piece)
                    await writer.drain()
        if writer not in self._frozen:
            writer.close()
