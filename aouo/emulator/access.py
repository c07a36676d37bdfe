"""Restricts access to programs on this machine and to the emulator's own page."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_OURS = frozenset({"same-origin", "none"})
"""From the same origin, or typed into the browser; another port of this machine is neither."""
SHOWN_NOWHERE_ELSE = {
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@web.middleware
async def only_ours(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests of other pages in a browser.

    Programs send neither `Origin` nor `Sec-Fetch-Site`; every browser sends one of them with each
    request that could change something, and a page cannot omit it.
    """
    if problem := _foreign(request):
        return web.Response(status=403, text=f"Forbidden: {problem}")
    return await handler(request)


async def shown_nowhere_else(_request: web.Request, response: web.StreamResponse) -> None:
    """Forbid other pages to embed an answer."""
    response.headers.update(SHOWN_NOWHERE_ELSE)


def on_this_machine(url: str) -> bool:
    return urlsplit(url).hostname in LOOPBACK


def _foreign(request: web.Request) -> str:
    """Return why a request is refused, "" = it is allowed."""
    headers: Mapping[str, str] = request.headers
    if request.url.host not in LOOPBACK:  # a name that was rebound to 127.0.0.1
        return "only this machine"
    if headers.get("Sec-Fetch-Site", "none") not in _OURS:
        return "only its own page"
    own = f"{request.scheme}://{request.host}"
    if headers.get(hdrs.ORIGIN, own).lower() != own.lower():
        return "only its own page"
    return ""
