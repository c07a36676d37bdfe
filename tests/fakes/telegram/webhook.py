"""Calls the webhook that a bot has set, as Telegram does; on this machine only."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout

from aouo.emulator.description import JsonObject, as_object
from aouo.emulator.files import Parameters
from aouo.emulator.refusals import ChangeSignal, bad_request
from aouo.emulator.world import World
from tests.fakes.telegram.faults import Fault, next_fault

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_SECRET = re.compile(r"^[A-Za-z0-9_-]{1,256}$")
_PORTS = frozenset({80, 88, 443, 8443})


def set_webhook(world: World, params: Parameters, now: float) -> bool:
    """Set the webhook that `WebhookCaller` calls; `.invalid` names are refused."""
    url, secret = params.text("url"), params.text("secret_token")
    if url:
        _check_url(url)
    if secret and not _SECRET.match(secret):
        raise bad_request("secret token contains unallowed characters")
    world.webhook = {"url": url, "secret": secret} if url else {}
    if params.has("allowed_updates"):
        world.updates.allow([str(item) for item in params.values["allowed_updates"]])
    if params.flag("drop_pending_updates"):
        world.updates.clear()
    return True


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    if (parts.port or 443) not in _PORTS:
        raise bad_request("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
    if (parts.hostname or "").endswith(".invalid"):
        raise bad_request("bad webhook: Failed to resolve host: Name or service not known")


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

    def _remove(self, update_id: int) -> None:
        """Forget one update, which the webhook has taken."""
        updates = self.world.updates
        updates._waiting = deque(one for one in updates._waiting if one["update_id"] != update_id)

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
                    self._remove(update["update_id"])
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
            if urlsplit(url).hostname not in _LOOPBACK:  # the emulator calls no other machine
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
