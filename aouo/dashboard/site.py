"""Answers requests: the page's files, and the facts that it and other programs read."""

from __future__ import annotations

import asyncio
import html
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from aouo.dashboard.access import COOKIE_S, PAGE_HEADER, Access, Asked, Refusal
from aouo.dashboard.endpoints import (
    NAME_MAX,
    Answered,
    Download,
    Endpoint,
    NotShown,
    document,
    is_text,
)
from aouo.dashboard.streaming import downloaded, streamed, without_secrets
from aouo.facts.errors import Refused, SetupError, TooMuchToRead
from aouo.plumbing.control import BadRequest, Facts, arguments
from aouo.plumbing.logs import log
from aouo.plumbing.redact import Redactor

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
_IN_WORDS = {
    403: "There is nothing to show at this address.",
    404: "There is nothing at this address.",
    405: "This address does not take that.",
    413: "The body is too long.",
}
_Taken: TypeAlias = Callable[[web.Request], None]
_TAKEN: web.AppKey[_Taken] = web.AppKey("taken")
_ONCE = (hdrs.HOST, hdrs.ORIGIN, "Sec-Fetch-Site", hdrs.AUTHORIZATION, "X-Aouo-Token", PAGE_HEADER)
"""Headers that say one thing or, sent twice, nothing."""
AROUND = {
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


_SLASHES = "/\\"
"""Two of them begin another host's address, for a browser that takes each for the other."""


@dataclass(eq=False)
class Site:
    """The routes, and what stands around each answer. `cookie` is the name of ours: cookies do not
    tell the ports of a machine apart. `taken` is called when a request has arrived completely.
    No fact and no error leaves with what `redactor` takes out; a room redacts only what it cuts or
    has saved as a file."""

    endpoints: tuple[Endpoint, ...]
    access: Access
    cookie: str
    taken: _Taken
    redactor: Callable[[], Redactor]

    def __post_init__(self) -> None:
        self._free = {one.path for one in self.endpoints if not one.needs_token}

    def application(self) -> web.Application:
        """Make the server's side of it."""
        app = web.Application(middlewares=[self._around], client_max_size=_BODY_MAX)
        app[_TAKEN] = self.taken
        app.on_response_prepare.append(_protect)
        for endpoint in self.endpoints:
            answer = self._answering(endpoint)
            app.router.add_route(endpoint.method, endpoint.path, answer)
            if endpoint.method == hdrs.METH_GET and endpoint.gives == "facts":
                app.router.add_route(hdrs.METH_HEAD, endpoint.path, answer)
        app.router.add_get("/api/openapi.json", self._document)
        app.router.add_get("/api/page", self._page_token)
        app.router.add_get("/", self._page)
        app.router.add_static("/page", _PAGE)
        return app

    @web.middleware
    async def _around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if status_and_why := self._refusal(request):
            refused = problem(request, *status_and_why)
            refused.force_close()  # the rest of the body is not read
            return refused
        if (
            "token" in request.query
            and request.method == hdrs.METH_GET
            and not self._is_free(request)
        ):
            return self._signed_in(request)
        response = await self._answer(request, handler)
        if self._is_free(request):
            response.force_close()  # who has no token holds no connection
        return response

    def _refusal(self, request: web.Request) -> tuple[int, str] | None:
        """Return why they are not let in, None = they are."""
        if any(len(request.headers.getall(name, ())) > 1 for name in _ONCE):
            return 400, "A header is there twice."
        asked = self._asked(request)
        refusal = self.access.is_foreign(asked)
        if not refusal and not self._is_free(request):
            refusal = self.access.refusal(asked, time.monotonic())
        return _REFUSALS[refusal] if refusal else None

    def _is_free(self, request: web.Request) -> bool:
        """Whether nobody has looked at the token that it brings."""
        return request.path in self._free

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        def refused(status: int, why: str) -> web.Response:
            return problem(request, status, self.redactor().text(why))

        try:
            if not request.body_exists:
                self.taken(request)
            return await handler(request)
        except web.HTTPException as error:
            response = refused(error.status, _IN_WORDS.get(error.status, f"{error.reason}."))
            if hdrs.ALLOW in error.headers:
                response.headers[hdrs.ALLOW] = error.headers[hdrs.ALLOW]
            return response
        except NotShown as error:
            return refused(error.status, str(error))
        except BadRequest as error:
            return refused(400, str(error))
        except TooMuchToRead as error:
            return refused(413, f"There is too much to show: {error}. Ask for less.")
        except (Refused, SetupError) as error:
            return refused(409, str(error))
        except ConnectionError:  # they have gone
            raise
        except Exception as error:
            log.exception("dashboard_failed", path=request.path, error=repr(error))
            return refused(500, "Something broke. The log says what.")

    def _answering(
        self, endpoint: Endpoint
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(request: web.Request) -> web.StreamResponse:
            if not endpoint.body:
                request.app[_TAKEN](request)
            values: Facts = dict(request.match_info)
            if any(len(value) > NAME_MAX or not is_text(value) for value in values.values()):
                return problem(request, 404, "There is nothing of that name.")
            try:
                query = _seen(request) if endpoint.gives == "frames" else request.query
                values |= {one.name: one.read(query) for one in endpoint.query}
            except ValueError as error:
                return problem(request, 400, str(error))
            if endpoint.body:
                sent = await _body(request)
                values |= arguments(endpoint.answer, sent, endpoint.in_address)
            if endpoint.takes_file:
                values["content"] = request.content.iter_any()
            return await self._response(request, await endpoint.answer(**values))

        return answer

    async def _response(self, request: web.Request, answered: Answered) -> web.StreamResponse:
        match answered:
            case Download():
                return await downloaded(request, answered)
            case AsyncGenerator():
                return await streamed(request, answered, self.redactor)
            case (status, facts):
                pass
            case facts:
                status = 200
        text = await asyncio.to_thread(without_secrets, facts, self.redactor())
        return web.json_response(text=text, status=status)

    def _asked(self, request: web.Request) -> Asked:
        reads = request.method in (hdrs.METH_GET, hdrs.METH_HEAD)
        scheme, _, bearer = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        token = bearer.strip() if scheme.lower() == "bearer" else ""
        token = token or request.headers.get("X-Aouo-Token", "")
        return Asked(
            request.headers,
            request.raw_path,
            token or (request.query.get("token", "") if reads else ""),
            request.cookies.get(self.cookie, ""),
            changes=not reads,
        )

    def _signed_in(self, request: web.Request) -> web.StreamResponse:
        """Keep a cookie in the place of the token, which leaves the address."""
        address = str(request.rel_url.without_query_params("token"))
        response = web.Response(status=303, headers={hdrs.LOCATION: f"/{address.lstrip(_SLASHES)}"})
        response.set_cookie(
            self.cookie,
            self.access.cookie(time.time()),
            max_age=COOKIE_S,
            httponly=True,
            samesite="Strict",
            path="/",
        )
        return response

    async def _document(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(document(self.endpoints))

    async def _page_token(self, request: web.Request) -> web.Response:
        """Say what the page sends with each change in `PAGE_HEADER`; no other page can read it."""
        del request
        return web.json_response({"header": PAGE_HEADER, "token": self.access.page})

    async def _page(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.FileResponse(_PAGE / "index.html")


def _seen(request: web.Request) -> Mapping[str, str]:
    """Return the query of a browser that comes back, from the last event that it has seen on."""
    last = request.headers.get("Last-Event-ID", "")
    return {**request.query, "after": last} if last else request.query


async def _body(request: web.Request) -> dict[str, Any]:
    """Read the JSON object that a request brings. Raises: BadRequest."""
    sent = await request.read()
    request.app[_TAKEN](request)
    try:
        found = json.loads(sent)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise BadRequest("The body has to be JSON in UTF-8.") from None
    if not isinstance(found, dict):
        raise BadRequest("The body has to be a JSON object.")
    return cast("dict[str, Any]", found)


async def _protect(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(AROUND)
    if request.path.startswith("/page/"):
        response.headers[hdrs.CACHE_CONTROL] = "no-cache"  # but asked for anew by its tag


def problem(request: web.BaseRequest, status: int, why: str) -> web.Response:
    """Say why there is no answer: to a person who opens an address as a page, else as JSON."""
    if "text/html" not in request.headers.get(hdrs.ACCEPT, ""):
        return web.json_response({"error": why}, status=status)
    head = '<!doctype html><html lang="en"><meta name="color-scheme" content="light dark">'
    text = f"{head}<title>aouo</title><p>{html.escape(why)}</p></html>"
    return web.Response(status=status, text=text, content_type="text/html")
