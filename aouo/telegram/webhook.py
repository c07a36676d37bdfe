"""Receives updates by a webhook, and answers 200 to each only after it is stored.

The owner's proxy terminates TLS and forwards to us. Telegram sends an update again until it reads
a 2xx answer, so a crash before the commit loses nothing.

Source: core.telegram.org/bots/api#setwebhook.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from aiohttp import web

from aouo.facts.errors import SetupError, place_of
from aouo.facts.ports import Clock, stamp
from aouo.plumbing.connections import Connections
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import finish, pause_s
from aouo.telegram.api import ApiError, ApiUnreachable, TelegramApi
from aouo.telegram.poller import ALLOWED_UPDATES, is_update

_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
_MAX_BODY_BYTES = 4 * 1024 * 1024
"""The size of the largest answer that Telegram gives to `getUpdates`."""
_REQUEST_S = 20.0
"""The time for a whole request, so that nobody can hold a connection by sending slowly."""
_CONNECTIONS = 200
_IDLE_S = 75.0
_STORE_S = 25.0
_CALL_S = 15.0
_LEAVE_S = 5.0
_LOOK_EVERY_S = 60.0
_LATE_S = 30.0
"""By which the next sign of life may be late on a busy machine."""
_BACKOFF = partial(pause_s, first_s=1, factor=2, most_s=30)
_TAKEN_AWAY_AT_MOST = 3
_SILENT = logging.getLogger("aouo.telegram.webhook")
_SILENT.disabled = True
"""Silences aiohttp's log, which has a traceback for each request that is no HTTP."""
_REVOKED = (401, 404)
"""Telegram does not know the token."""


@dataclass(eq=False, repr=False, kw_only=True)
class Webhook:
    """One bot's webhook, registered while `run` runs.

    `store` returns when the updates are safe. Updates of different chats come in parallel, so
    there is no cursor: its second argument is always 0.
    """

    api: TelegramApi
    clock: Clock
    store: Callable[[Sequence[dict[str, Any]], int], Awaitable[None]]
    recovered: Callable[[], None]
    url: str
    listen: tuple[str, int]
    secret: str

    def __post_init__(self) -> None:
        self._failures = 0
        self._taken_away = 0
        self._problem = ""
        self._failing_since = ""
        self._info: dict[str, Any] = {}
        self._last_update_s = 0.0
        self._answered_at_s: float | None = None
        self._due_s = math.inf
        self._refused: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self.address = ("", 0)
        self.begun = asyncio.Event()

    @property
    def facts(self) -> dict[str, object]:
        """Facts for `aouo status`: where we listen, and what Telegram last said about it."""
        ago_s = self.clock.monotonic_s() - self._last_update_s
        working = "listening" if self.begun.is_set() else "starting"
        return {
            "state": "failing" if self._problem else working,
            "url": self.url,
            "listen": "{}:{}".format(*self.address) if self.address[1] else "",
            "last_update_s": round(ago_s, 1) if self._last_update_s else None,
            "pending": self._info.get("pending_update_count", 0),
            "last_error": self._info.get("last_error_message", ""),
            "failing_since": self._failing_since,
            "problem": self._problem,
        }

    @property
    def answered_s(self) -> float | None:
        """Return how long ago Telegram last answered us, None = it has not yet."""
        at_s = self._answered_at_s
        return None if at_s is None else self.clock.monotonic_s() - at_s

    @property
    def is_alive(self) -> bool:
        """Whether it still looks after the webhook, or waits out a pause, as it should."""
        return self.clock.monotonic_s() <= self._due_s

    async def run(self) -> None:
        """Listen, and stay registered, until cancelled.

        Raises:
            SetupError: the port is taken, or Telegram refuses the token or the address.
            SetupError: another process keeps changing the webhook.
        """
        runner = web.AppRunner(
            self._application(),
            access_log=None,
            logger=_SILENT,
            keepalive_timeout=_IDLE_S,
            shutdown_timeout=_LEAVE_S,
        )
        await runner.setup()
        try:
            await self._open(runner)
            await self._register()
            try:
                await self._watch()
            finally:
                await finish(self._leave())
        finally:
            if self._server:
                self._server.close()
            await finish(runner.cleanup())

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        # The owner's proxy may change the path; the secret keeps strangers out.
        app.router.add_post("/{path:.*}", self._receive)
        return app

    async def _open(self, runner: web.AppRunner) -> None:
        host, port = self.listen
        assert runner.server
        self._connections = Connections(
            runner.server, clock=self.clock, patience_s=_REQUEST_S, most=_CONNECTIONS
        )
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._connections, host, port)
        except OSError as error:
            raise SetupError(
                f"Nothing can listen at {host}:{port} ({error.strerror}).",
                fix="Choose another telegram.webhook.listen.",
            ) from error
        self.address = self._server.sockets[0].getsockname()[:2]

    async def _receive(self, request: web.Request) -> web.Response:
        """Store one update and answer 200; at any other status Telegram sends it again."""
        given = request.headers.get(_SECRET_HEADER, "")
        if not hmac.compare_digest(given.encode(errors="replace"), self.secret.encode()):
            return self._refuse("wrong_secret", 403)
        try:
            body = await request.read()
            update = json.loads(body)
        except web.HTTPRequestEntityTooLarge:
            return self._refuse("too_large", 413)
        except (ValueError, RecursionError):
            return self._refuse("not_json", 400)
        finally:
            self._connections.taken(request.transport)
        if not is_update(update):
            return self._refuse("no_update", 400)
        try:
            async with asyncio.timeout(_STORE_S):
                await self.store([cast("dict[str, Any]", update)], 0)
        except TimeoutError:
            return web.Response(status=503)
        except Exception as error:
            log.exception("webhook_not_stored", error=place_of(error))
            return web.Response(status=503)
        self._last_update_s = self.clock.monotonic_s()
        return web.Response()

    def _refuse(self, why: str, status: int) -> web.Response:
        """Refuse a request; refusals are counted and logged once a minute, not to fill the log.

        The connection is closed, so that the rest of the body is not read.
        """
        self._refused[why] += 1
        answer = web.Response(status=status)
        answer.force_close()
        return answer

    def _tell_refused(self) -> None:
        if cut := self._connections.cut():
            self._refused["cut_off"] += cut
        if self._refused:
            log.warning("webhook_refused", count=self._refused.total(), **self._refused)
            self._refused.clear()

    async def _register(self) -> None:
        """Set the webhook at Telegram; retries until it is set."""
        while True:
            try:
                await self.api.call(
                    "setWebhook",
                    _CALL_S,
                    url=self.url,
                    secret_token=self.secret,
                    allowed_updates=ALLOWED_UPDATES,
                    drop_pending_updates=False,
                )
            except ApiUnreachable as error:
                await self._wait_out(str(error))
            except ApiError as error:
                await self._explain(error)
            else:
                self._failures = 0
                self._succeeded()
                log.info("webhook_set", url=self.url)
                self.begun.set()
                return

    async def _explain(self, error: ApiError) -> None:
        match error.code:
            case 401 | 404:
                raise SetupError(
                    f"Telegram refuses the bot token ({error.description}).",
                    fix="Put the token that @BotFather gave you into telegram.bot_token.",
                )
            case 429:
                await self._pause(error.retry_after_s)
            case code if 400 <= code < 500:
                raise SetupError(
                    f"Telegram refuses the webhook address {self.url} ({error.description}).",
                    fix="Set telegram.webhook.url to an https address that leads here.",
                )
            case _:
                await self._wait_out(str(error))

    async def _watch(self) -> None:
        """Look at the webhook's state each minute; register again if another process changed it."""
        while True:
            try:
                await self._look()
            except (ApiError, ApiUnreachable) as error:
                if isinstance(error, ApiError) and error.code in _REVOKED:
                    await self._explain(error)
                if not self._problem:
                    log.warning("webhook_info_failed", problem=str(error))
                self._failed(str(error))
            self._tell_refused()
            await self._pause(_LOOK_EVERY_S)

    async def _look(self) -> None:
        before = self._info.get("last_error_date", 0)
        self._info = await self.api.call("getWebhookInfo", _CALL_S)
        self._succeeded()
        if self._info.get("last_error_date", 0) != before:
            log.warning(
                "webhook_failing",
                problem=self._info.get("last_error_message", ""),
                pending=self._info.get("pending_update_count", 0),
            )
        if self._info.get("url", "") == self.url:
            self._taken_away = 0
            return
        self._taken_away += 1
        log.warning("webhook_taken_away", url=self._info.get("url", ""), times=self._taken_away)
        if self._taken_away >= _TAKEN_AWAY_AT_MOST:
            raise SetupError(
                "Another process keeps changing this bot's webhook.",
                fix="Stop the other instance, or give this one a bot of its own.",
                exit_code=4,
            )
        await self._register()

    async def _leave(self) -> None:
        """Unregister; updates wait at Telegram, also if this fails."""
        with suppress(ApiError, ApiUnreachable):
            await self.api.call("deleteWebhook", _LEAVE_S, drop_pending_updates=False)
            log.info("webhook_removed")

    async def _wait_out(self, problem: str) -> None:
        """Back off up to 30 s; only the first failure of a row is logged, and its end."""
        self._failures += 1
        self._failed(problem)
        if self._failures == 1:
            log.warning("webhook_not_set", problem=problem)
        await self._pause(_BACKOFF(self._failures))

    async def _pause(self, seconds: float) -> None:
        self._due_s = self.clock.monotonic_s() + seconds + 2 * _CALL_S + _LATE_S
        await self.clock.sleep(seconds)

    def _failed(self, problem: str) -> None:
        self._failing_since = self._failing_since or stamp(self.clock)
        self._problem = problem

    def _succeeded(self) -> None:
        self._answered_at_s = self.clock.monotonic_s()
        if self._problem:
            log.info("webhook_recovered", failing_since=self._failing_since)
            self.recovered()
        self._failing_since = self._problem = ""
