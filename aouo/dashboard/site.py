"""Answers requests: the page's files, and the facts that it and other programs read."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import structlog
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from aouo.dashboard.access import PAGE_HEADER, Access, Asked, Refusal
from aouo.dashboard.endpoints import (
    NAME_MAX,
    Answer,
    Answered,
    Download,
    Endpoint,
    Frames,
    NotShown,
)
from aouo.dashboard.openapi import document
from aouo.dashboard.rooms.all import endpoints
from aouo.dashboard.shown import Shown
from aouo.dashboard.streaming import downloaded, streamed
from aouo.facts.errors import Refused, SetupError, TooMuchToRead
from aouo.plumbing.verbs import BadRequest, Facts, parsed

log = structlog.get_logger()
_PAGE = Path(__file__).with_name("page")
_BODY_MAX = 2_000_000
_LINK = "Open the link that `aouo dashboard` prints."
_REFUSALS: dict[Refusal, tuple[int, str]] = {
    "host": (403, "This page is for the address that it listens at only."),
    "origin": (403, "This page answers no other page."),
    "token": (401, f"The token is missing or wrong. {_LINK}"),
    "page": (403, "This change does not come from the page. Reload it."),
    "too many": (429, "Too many wrong tokens. Wait a minute."),
}
_AROUND = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


async def serve(listener: socket.socket, shown: Shown, access: Access) -> None:
    """Take the connections of a socket that listens, until cancelled."""
    port = listener.getsockname()[1]
    runner = web.AppRunner(
        Site(endpoints(shown), access, f"aouo_{port}").application(),
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

    def __init__(self, endpoints: tuple[Endpoint, ...], access: Access, cookie: str) -> None:
        self._endpoints = endpoints
        self._access = access
        self._cookie = cookie
        self._free = {one.path for one in endpoints if not one.needs_token}

    def application(self) -> web.Application:
        """Make the server's side of it."""
        app = web.Application(middlewares=[self._around], client_max_size=_BODY_MAX)
        for endpoint in self._endpoints:
            app.router.add_route(endpoint.method, endpoint.path, _answering(endpoint))
        app.router.add_get("/api/openapi.json", self._document)
        app.router.add_get("/api/page", self._page_token)
        app.router.add_get("/", self._page)
        app.router.add_static("/page", _PAGE)
        return app

    @web.middleware
    async def _around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await self._answer(request, handler)
        if not response.prepared:
            response.headers.update(_AROUND)
        return response

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        asked = self._asked(request)
        if refusal := self._access.is_foreign(asked):
            return _refused(refusal)
        if request.path not in self._free and (
            refusal := self._access.refusal(asked, time.monotonic())
        ):
            return _refused(refusal)
        if "token" in request.query and request.method == hdrs.METH_GET:
            return self._signed_in(request)
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _problem(error.status, f"{error.reason}.")
        except NotShown as error:
            return _problem(error.status, str(error))
        except BadRequest as error:
            return _problem(400, str(error))
        except TooMuchToRead as error:
            return _problem(413, f"There is too much to show: {error}. Ask for less.")
        except (Refused, SetupError) as error:
            return _problem(409, str(error))
        except ConnectionError:  # they have gone
            raise
        except Exception as error:
            log.exception("dashboard_failed", path=request.path, error=repr(error))
            return _problem(500, "Something broke. The log says what.")

    def _asked(self, request: web.Request) -> Asked:
        bearer = request.headers.get(hdrs.AUTHORIZATION, "")
        scheme, _, token = bearer.partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""
        token = token or request.headers.get("X-Aouo-Token", "") or request.query.get("token", "")
        return Asked(
            request.headers,
            request.scheme,
            token,
            request.cookies.get(self._cookie, ""),
            changes=request.method not in (hdrs.METH_GET, hdrs.METH_HEAD),
        )

    def _signed_in(self, request: web.Request) -> web.StreamResponse:
        """Keep a cookie in the place of the token, which leaves the address."""
        response = web.Response(status=303, headers={hdrs.LOCATION: request.path})
        response.set_cookie(
            self._cookie, self._access.cookie, httponly=True, samesite="Strict", path="/"
        )
        return response

    async def _document(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(document(self._endpoints))

    async def _page_token(self, request: web.Request) -> web.Response:
        """Say what the page sends with each change in `PAGE_HEADER`; no other page can read it."""
        del request
        return web.json_response({"header": PAGE_HEADER, "token": self._access.page})

    async def _page(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.FileResponse(_PAGE / "index.html")


def _answering(endpoint: Endpoint) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        values: Facts = dict(request.match_info)
        if any(len(value) > NAME_MAX or "\0" in value for value in values.values()):
            return _problem(404, "There is nothing of that name.")
        try:
            values |= {one.name: one.of(request.query) for one in endpoint.query}
        except ValueError as error:
            return _problem(400, str(error))
        if endpoint.body:
            values["body"] = parsed(endpoint.body, await _body(request))
        return await _response(request, await endpoint.answer(**values))

    return answer


async def _body(request: web.Request) -> dict[str, Any]:
    """Read the JSON object that a request brings. Raises: BadRequest."""
    try:
        found = json.loads(await request.read())
    except (ValueError, RecursionError):
        raise BadRequest("The body has to be JSON.") from None
    if not isinstance(found, dict):
        raise BadRequest("The body has to be a JSON object.")
    return cast("dict[str, Any]", found)


async def _response(request: web.Request, answered: Answered) -> web.StreamResponse:
    match answered:
        case Answer(status, facts):
            return web.json_response(facts, status=status)
        case Download():
            return await downloaded(request, answered, _AROUND)
        case Frames(frames):
            return await streamed(request, frames, _AROUND)
        case facts:
            return web.json_response(facts)


def _refused(refusal: Refusal) -> web.Response:
    status, why = _REFUSALS[refusal]
    return _problem(status, why)


def _problem(status: int, why: str) -> web.Response:
    return web.json_response({"error": why}, status=status)
