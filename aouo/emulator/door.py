"""Lets only this machine and its own page in, and delivers updates to getUpdates."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from aouo.emulator.description import JsonObject
from aouo.emulator.files import Parameters
from aouo.emulator.refusals import ChangeSignal, Refusal, conflict
from aouo.emulator.world import World

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_OURS = frozenset({"same-origin", "none"})
"""From the same origin, or typed into the browser; another port of this machine is neither."""
_SHOWN_NOWHERE_ELSE = {"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"}


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
    response.headers.update(_SHOWN_NOWHERE_ELSE)


def _foreign(request: web.Request) -> str:
    """Return why a request is refused, "" = it is allowed."""
    headers: Mapping[str, str] = request.headers
    if request.url.host not in _LOOPBACK:  # a name that was rebound to 127.0.0.1
        return "only this machine"
    if headers.get("Sec-Fetch-Site", "none") not in _OURS:
        return "only its own page"
    own = f"{request.scheme}://{request.host}"
    if headers.get(hdrs.ORIGIN, own).lower() != own.lower():
        return "only its own page"
    return ""


_MAX_TIMEOUT_S = 50
_TERMINATED = (
    "terminated by other getUpdates request; make sure that only one bot instance is running"
)
_WEBHOOK = (
    "can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)


class Poll:
    """The one long poll that a bot may have open."""

    def __init__(self, world: World, signal: ChangeSignal) -> None:
        self._world = world
        self._signal = signal
        self._newest = object()
        self._stopped = False

    async def get_updates(self, params: Parameters) -> list[JsonObject]:
        """Return the updates from `offset` on; wait up to `timeout` seconds for the first one."""
        self._check_webhook()
        mine = self._newest = object()
        self._signal.wake()
        self.confirm(params)
        limit = params.integer("limit", 100)
        limit = limit if 1 <= limit <= 100 else 100
        timeout_s = max(0, min(_MAX_TIMEOUT_S, params.integer("timeout")))
        try:
            async with asyncio.timeout(timeout_s or None):
                while timeout_s and not len(self._world.updates):
                    await self._signal.wait()
                    self._check_alone(mine)
        except TimeoutError:
            return []
        return self._world.updates.head(limit)

    def confirm(self, params: Parameters) -> list[JsonObject]:
        """Take up what a call says of updates; return those that it confirms."""
        updates = self._world.updates
        if params.has("allowed_updates"):
            updates.allow([str(kind) for kind in params.values["allowed_updates"]])
        offset = params.integer("offset")
        return updates.confirm(offset) if offset else []

    def _check_alone(self, mine: object) -> None:
        if self._stopped:
            raise Refusal(500, "Internal Server Error: restart")
        if self._newest is not mine:
            raise conflict(_TERMINATED)
        self._check_webhook()

    def _check_webhook(self) -> None:
        if self._world.webhook:
            raise conflict(_WEBHOOK)

    def stop(self) -> None:
        """End the open poll, because the server stops."""
        self._stopped = True
        self._signal.wake()
