"""Delivers updates as Telegram does: to getUpdates, or to a webhook; to this machine only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout, hdrs, web
from aiohttp.typedefs import Handler

from aouo.emulator.description import JsonObject, as_object
from aouo.emulator.faults import ChangeSignal, Fault, Refusal, conflict, next_fault
from aouo.emulator.files import Parameters
from aouo.emulator.world import World

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_OURS = frozenset({"same-origin", "none"})
"""From the same origin, or typed into the browser; another port of this machine is neither."""
_SHOWN_NOWHERE_ELSE = {
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
    response.headers.update(_SHOWN_NOWHERE_ELSE)


def _on_this_machine(url: str) -> bool:
    return urlsplit(url).hostname in _LOOPBACK


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

    async def get_updates(self, params: Parameters, *, duplicate: bool) -> list[JsonObject]:
        """Return the updates from `offset` on; wait up to `timeout` seconds for the first one.

        With `duplicate` the updates that `offset` confirms are delivered once more.
        """
        self._check_webhook()
        mine = self._newest = object()
        self._signal.wake()
        self._confirm(params, duplicate=duplicate)
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

    def _confirm(self, params: Parameters, *, duplicate: bool) -> None:
        updates = self._world.updates
        if params.has("allowed_updates"):
            updates.allow([str(kind) for kind in params.values["allowed_updates"]])
        offset = params.integer("offset")
        if offset:
            gone = updates.confirm(offset)
            if duplicate:
                updates.restore(gone)

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


_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
_FIRST_WAIT_S = 2.0
_LONGEST_WAIT_S = 60.0
_ANSWER_S = 60.0
_METHOD = "webhook"


@dataclass(eq=False)
class WebhookCaller:
    """Calls the webhook that the bot has set, while `run` runs.

    `tls_ends_at` stands for the bot's TLS proxy: calls to its https host go to this address.
    The first retry comes at once, the second after `first_wait_s`, each further one after twice
    as long.
    """

    world: World
    signal: ChangeSignal
    faults: list[Fault]
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        self._busy: set[object] = set()
        self.tls_ends_at = ""
        self.first_wait_s = _FIRST_WAIT_S
        self.statuses: list[int] = []
        """The status of each call of the webhook, 0 = no answer."""

    async def run(self) -> None:
        """Send waiting updates, for ever."""
        limit = ClientTimeout(total=_ANSWER_S)
        async with ClientSession(timeout=limit) as session, asyncio.TaskGroup() as group:
            while True:
                for update in self._due():
                    self._busy.add(_chat_of(update))
                    group.create_task(self._bring(session, update))
                await self.signal.wait()

    def _due(self) -> list[JsonObject]:
        """Return the oldest update of each chat for which none is being sent."""
        if not self.world.webhook:
            return []
        oldest: dict[object, JsonObject] = {}
        for update in self.world.updates.head(100):
            oldest.setdefault(_chat_of(update), update)
        return [update for chat, update in oldest.items() if chat not in self._busy]

    async def _bring(self, session: ClientSession, update: JsonObject) -> None:
        """Send one update until it is taken, or the webhook changes."""
        hook = self.world.webhook
        wait_s = 0.0
        try:
            while self.world.webhook is hook:
                taken = await self._try(session, hook, update)
                repeated = taken and next_fault(self.faults, _METHOD, None, confirms=True)
                if taken and not repeated:
                    self.world.updates.remove(update["update_id"])
                    return
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2 or self.first_wait_s, _LONGEST_WAIT_S)
        finally:
            self._busy.discard(_chat_of(update))
            self.signal.bump()

    async def _try(self, session: ClientSession, hook: JsonObject, update: JsonObject) -> bool:
        url = self._address(str(hook["url"]))
        headers = {_SECRET_HEADER: str(hook["secret"])} if hook["secret"] else {}
        status, problem = 0, ""
        try:
            if not _on_this_machine(url):  # the emulator calls no other machine
                raise ClientError(url)
            async with session.post(
                url, json=update, headers=headers, allow_redirects=False
            ) as answer:
                status = answer.status
                taken = 200 <= status < 300
                problem = "" if taken else f"Wrong response from the webhook: {status} "
                problem += "" if taken else str(answer.reason)
        except TimeoutError:
            problem = "Read timeout expired"
        except (ClientError, OSError):
            problem = "Connection refused"
        self.statuses.append(status)
        if problem:
            hook["last_error_date"] = int(self.clock())
            hook["last_error_message"] = problem
        self.signal.bump()
        return not problem

    def _address(self, url: str) -> str:
        if not self.tls_ends_at:
            return url
        _, _, rest = url.removeprefix("https://").partition("/")
        return f"{self.tls_ends_at}/{rest}"


def _chat_of(update: JsonObject) -> object:
    """Return the chat of an update; updates without one are sent one at a time."""
    (content,) = (as_object(value) for kind, value in update.items() if kind != "update_id")
    of_message = as_object((content or {}).get("message")) or {}
    chat = as_object((content or {}).get("chat")) or as_object(of_message.get("chat")) or {}
    return chat.get("id")
