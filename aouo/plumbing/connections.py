"""Bounds the connections of a public server: their number, and the time for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from aouo.facts.ports import Clock

_BYTES_PER_S = 32_768
"""The pace of a slow line."""


class Connections:
    """Hands connections on to a server's protocols, at most `most` at once.

    A request has `patience_s` from its first byte, or from the opening of the connection, until
    `taken` is called for it, and longer as long as it comes at a pace. Late ones are cut off when
    another connection opens, or by `cut`; for one too many the oldest goes that has not arrived.
    """

    def __init__(
        self, serve: Callable[[], asyncio.Protocol], *, clock: Clock, patience_s: float, most: int
    ) -> None:
        self._serve = serve
        self._clock = clock
        self._patience_s = patience_s
        self._most = most
        self._since_s: dict[asyncio.BaseTransport, float] = {}
        self._open: set[asyncio.BaseTransport] = set()
        self._cut = 0

    def __call__(self) -> asyncio.Protocol:
        return _Connection(self._serve(), self)

    def taken(self, transport: asyncio.BaseTransport | None) -> None:
        """Note that the connection's request has arrived completely."""
        if transport:
            self._since_s.pop(transport, None)

    def cut(self) -> int:
        """Cut off late connections; return how many were cut or refused since the last call."""
        self._cut_late()
        found, self._cut = self._cut, 0
        return found

    def _cut_late(self) -> None:
        before_s = self._clock.monotonic_s() - self._patience_s
        late = [one for one, since_s in self._since_s.items() if since_s <= before_s]
        for transport in late:
            self._abort(transport)
        self._cut += len(late)

    def _abort(self, transport: asyncio.BaseTransport) -> None:
        self.went(transport)
        cast("asyncio.Transport", transport).abort()

    def came(self, transport: asyncio.BaseTransport) -> bool:
        """Register an opened connection; False = there are too many."""
        self._cut_late()
        if len(self._open) >= self._most:
            self._cut += 1
            oldest = min(self._since_s, key=self._since_s.__getitem__, default=None)
            if oldest is None:
                return False
            self._abort(oldest)
        self._open.add(transport)
        self.heard(transport)
        return True

    def heard(self, transport: asyncio.BaseTransport, size: int = 0) -> None:
        """Note that so many bytes of a request came: they win it the time that they may take."""
        now_s = self._clock.monotonic_s()
        since_s = self._since_s.setdefault(transport, now_s)
        self._since_s[transport] = min(now_s, since_s + size / _BYTES_PER_S)

    def went(self, transport: asyncio.BaseTransport) -> None:
        self._open.discard(transport)
        self._since_s.pop(transport, None)


class _Connection(asyncio.Protocol):
    """One connection: reports its events to `Connections`, then to the server's protocol."""

    def __init__(self, inner: asyncio.Protocol, all_: Connections) -> None:
        self._inner = inner
        self._all = all_
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not self._all.came(transport):
            cast("asyncio.Transport", transport).abort()
            return
        self._transport = transport
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._transport:
            self._all.heard(self._transport, len(data))
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received() if self._transport else None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport:
            self._all.went(self._transport)
            self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
