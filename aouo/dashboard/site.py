"""Answers requests: the page's files, and the facts that it and other programs read."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from aouo.dashboard.access import Access, Asked, Refused
from aouo.dashboard.openapi import Endpoint, Number, document
from aouo.dashboard.reads import DAYS_MAX, Reads
from aouo.facts.errors import TooMuchToRead
from aouo.plumbing.verbs import Facts

log = structlog.get_logger()
_PAGE = Path(__file__).with_name("page")
_LINK = "Open the link that `aouo dashboard` prints."
_REFUSED: dict[Refused, tuple[int, str]] = {
    "host": (403, "This page is for the address that it listens at only."),
    "origin": (403, "This page answers no other page."),
    "token": (401, f"The token is missing or wrong. {_LINK}"),
    "too many": (429, "Too many wrong tokens. Wait a minute."),
}
_AROUND = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


async def serve(listener: socket.socket, reads: Reads, access: Access) -> None:
    """Take the connections of a socket that listens, until cancelled."""
    port = listener.getsockname()[1]
    runner = web.AppRunner(
        Site(reads, access, f"aouo_{port}").application(),
        access_log=None,  # it would name the token
        handler_cancellation=True,
        shutdown_timeout=1,
        max_line_size=16_384,
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


class Site:
    """The routes, and what stands around each answer. `cookie` is the name of ours: cookies do not
    tell the ports of a machine apart."""

    def __init__(self, reads: Reads, access: Access, cookie: str) -> None:
        self._reads = reads
        self._access = access
        self._cookie = cookie
        self.endpoints = (
            Endpoint(
                "/healthz",
                "Whether messages come in, are worked on and go out.",
                self._health,
                needs_token=False,
            ),
            Endpoint("/api/status", "How the running bot is.", self._status),
            Endpoint(
                "/api/usage",
                "What was used in the last days, today included: calls, tokens and USD.",
                self._usage,
                (Number("days", 1, DAYS_MAX, 30, "How many days."),),
            ),
        )

        self._free = {one.path for one in self.endpoints if not one.needs_token}

    def application(self) -> web.Application:
        """Make the server's side of it."""
        app = web.Application(middlewares=[self._around], client_max_size=1_000_000)
        for endpoint in self.endpoints:
            app.router.add_get(endpoint.path, self._told(endpoint))
        app.router.add_get("/api/openapi.json", self._document)
        app.router.add_get("/", self._page)
        app.router.add_static("/page", _PAGE)
        return app

    @web.middleware
    async def _around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await self._answer(request, handler)
        response.headers.update(_AROUND)
        return response

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        asked = self._asked(request)
        if refused := self._access.is_foreign(asked):
            return _refusal(refused)
        if request.path not in self._free and (
            refused := self._access.refused(asked, time.monotonic())
        ):
            return _refusal(refused)
        if "token" in request.query and request.method == hdrs.METH_GET:
            return self._signed_in(request)
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _problem(error.status, error.reason)
        except TooMuchToRead as error:
            return _problem(413, f"There is too much to show: {error}. Ask for fewer days.")
        except Exception as error:
            log.exception("dashboard_failed", path=request.path, error=repr(error))
            return _problem(500, "Something broke. The log says what.")

    def _asked(self, request: web.Request) -> Asked:
        bearer = request.headers.get(hdrs.AUTHORIZATION, "")
        scheme, _, token = bearer.partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""
        token = token or request.headers.get("X-Aouo-Token", "") or request.query.get("token", "")
        return Asked(request.headers, request.scheme, token, request.cookies.get(self._cookie, ""))

    def _signed_in(self, request: web.Request) -> web.StreamResponse:
        """Keep a cookie in the place of the token, which leaves the address."""
        response = web.Response(status=303, headers={hdrs.LOCATION: request.path})
        response.set_cookie(
            self._cookie, self._access.cookie, httponly=True, samesite="Strict", path="/"
        )
        return response

    def _told(self, endpoint: Endpoint) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def tell(request: web.Request) -> web.Response:
            try:
                values = {number.name: number.of(request.query) for number in endpoint.query}
            except ValueError as error:
                return _problem(400, str(error))
            status, facts = await endpoint.read(**values)
            return web.json_response(facts, status=status)

        return tell

    async def _health(self) -> tuple[int, Facts]:
        facts = await self._reads.health()
        return 200 if facts["ok"] else 503, facts

    async def _status(self) -> tuple[int, Facts]:
        return 200, await self._reads.status()

    async def _usage(self, days: int) -> tuple[int, Facts]:
        return 200, await self._reads.usage(days)

    async def _document(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(document(self.endpoints))

    async def _page(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.FileResponse(_PAGE / "index.html")


def _refusal(refused: Refused) -> web.Response:
    status, why = _REFUSED[refused]
    return _problem(status, why)


def _problem(status: int, why: str) -> web.Response:
    return web.json_response({"error": why}, status=status)
