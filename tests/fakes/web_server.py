"""A web site on loopback, and a name service that sends names there: the internet of a test."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from types import TracebackType
from typing import Self

from aiohttp import web

from aouo.plumbing.web.addresses import Address, is_public
from aouo.plumbing.web.client import Web

LOOPBACK = ip_address("127.0.0.1")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path answers; `stalls` sends the head and then nothing more."""

    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    stalls: bool = False


class WebServer:
    """Answers what `pages` says by path; `requests` holds method, path and headers as received."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.pages: dict[str, Answer] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.bodies: list[bytes] = []
        self.port = 0
        self._release = asyncio.Event()
        self._runner: web.ServerRunner | None = None

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(
            web.Server(self._answer, handler_cancellation=True), shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append((request.method, request.path_qs, dict(request.headers)))
        self.bodies.append(await request.read())
        page = self.pages.get(request.path, Answer(b"not here", status=404))
        headers = {"Content-Type": page.content_type, **page.headers}
        if not page.content_type:
            del headers["Content-Type"]
        response = web.StreamResponse(status=page.status, headers=headers)
        await response.prepare(request)
        if page.stalls:
            await self._release.wait()
        try:
            await response.write(page.body)
            await response.write_eof()
        except ConnectionError:
            pass  # the client has read enough
        return response


class Names:
    """A name service; the same name may lead elsewhere each time it is asked for."""

    def __init__(self, **names: Sequence[str]) -> None:
        self.asked: list[str] = []
        self._names = {name.replace("_", "."): list(found) for name, found in names.items()}

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        del port
        self.asked.append(host)
        return self._names.get(host, ())


def web_of(names: Names, *, limit_s: float = 5.0) -> Web:
    """The real client; loopback alone is let in, since that is where the site is."""

    def _admits(address: Address) -> bool:
        return is_public(address) or address == LOOPBACK

    return Web(lookup=names, admits=_admits, limit_s=limit_s)
