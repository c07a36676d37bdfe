"""Who may ask the emulator: programs on this machine and its own page, no other page."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_OURS = frozenset({"same-origin", "none"})
"""From this very origin, or typed into the browser; another port of this machine is neither."""
SHOWN_NOWHERE_ELSE = {
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@web.middleware
async def only_ours(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what another page in somebody's browser sends here.

    Programs send neither `Origin` nor `Sec-Fetch-Site`; every browser sends one of them with
    whatever could change something, and no page can leave it out.
    """
    if problem := _foreign(request):
        return web.Response(status=403, text=f"Forbidden: {problem}")
    return await handler(request)


async def shown_nowhere_else(_request: web.Request, response: web.StreamResponse) -> None:
    """No answer of ours is a part of another page."""
    response.headers.update(SHOWN_NOWHERE_ELSE)


def on_this_machine(url: str) -> bool:
    return urlsplit(url).hostname in LOOPBACK


def _foreign(request: web.Request) -> str:
    """What is foreign about a request, "" = nothing."""
    headers: Mapping[str, str] = request.headers
    if request.url.host not in LOOPBACK:  # a name that was rebound to 127.0.0.1
        return "only this machine"
    if headers.get("Sec-Fetch-Site", "none") not in _OURS:
        return "only its own page"
    own = f"{request.scheme}://{request.host}"
    if headers.get(hdrs.ORIGIN, own).lower() != own.lower():
        return "only its own page"
    return ""
