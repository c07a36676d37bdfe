"""Polls Telegram for updates, and acknowledges them only after they are stored.

The offset of a `getUpdates` call tells Telegram to forget earlier updates. So the next call is made
after the commit, and after a crash in between Telegram sends the same updates again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from aouo.facts.errors import SetupError
from aouo.facts.ports import Clock, stamp
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import pause_s
from aouo.telegram.api import ApiError, ApiUnreachable, TelegramApi

_POLL_S = 50
_GRACE_S = 15.0
"""How long after its own timeout a poll may be answered; then its connection is closed."""
ALLOWED_UPDATES = (
    "message",
    "edited_message",
    "callback_query",
    "my_chat_member",
    "message_reaction",
    "stopped_message_generation",
)
"""A server that does not know a kind ignores it."""
_CONTESTED_AFTER_S = 20.0
_STORE_S = 60.0
_LATE_S = 30.0
"""By which the next sign of life may be late on a busy machine."""
_REFUSED = partial(pause_s, first_s=1, factor=2, most_s=30)
_UNREACHED = partial(pause_s, first_s=1, factor=2, most_s=5)
"""Shorter pauses: a call that reaches no server costs little."""


@dataclass(eq=False, kw_only=True)
class Poller:
    """Polls one bot until cancelled. `store` returns when the updates are safe; `recovered` is
    called when Telegram answers again after a failure."""

    api: TelegramApi
    clock: Clock
    store: Callable[[Sequence[dict[str, Any]], int], Awaitable[None]]
    recovered: Callable[[], None]

    def __post_init__(self) -> None:
        self._contested_since_s = 0.0
        self._failures = 0
        self._asking: asyncio.Timeout | None = None
        self._due_s = math.inf
        self._last_poll_s = 0.0
        self._failing_since = ""
        self._problem = ""
        self.begun = asyncio.Event()

    @property
    def facts(self) -> dict[str, object]:
        """Facts for `aouo status`."""
        ago_s = self.answered_s
        working = "starting" if ago_s is None else "polling"
        return {
            "state": "failing" if self._problem else working,
            "last_poll_s": None if ago_s is None else round(ago_s, 1),
            "failing_since": self._failing_since,
            "problem": self._problem,
        }

    @property
    def answered_s(self) -> float | None:
        """Seconds since the last answered poll; None before the first."""
        last_s = self._last_poll_s
        return self.clock.monotonic_s() - last_s if last_s else None

    @property
    def is_alive(self) -> bool:
        """Whether it still asks, stores or waits out a pause as it should, answered or not."""
        return self.clock.monotonic_s() <= self._due_s

    def ask_anew(self) -> None:
        """Give up the poll that waits for its answer, and poll again at once."""
        if self._asking and not self._asking.expired():
            self._asking.reschedule(0.0)

    async def run(self, offset: int) -> None:
        """Poll from `offset`, for ever.

        The first call, and the one after a failure, use timeout 0, so that an answer shows at once
        that Telegram is reachable.

        Raises:
            SetupError: Telegram refuses the token.
            SetupError: another process has polled this token for 20 s.
        """
        timeout_s = 0
        while True:
            try:
                raw = await self._ask(offset, 0 if self._failures else timeout_s)
            except TimeoutError:  # it was given up, to ask again at once
                timeout_s = 0
                continue
            except ApiUnreachable as error:
                await self._wait_out(str(error), _UNREACHED)
                continue
            except ApiError as error:
                await self._explain(error)
                continue
            self._succeeded()
            if raw:
                offset = max(update["update_id"] for update in raw) + 1
                self._expect(_STORE_S)
                await self.store(raw, offset)
            timeout_s = _POLL_S

    def _expect(self, within_s: float) -> None:
        """The next sign of life comes within so many seconds."""
        self._due_s = self.clock.monotonic_s() + within_s + _LATE_S

    async def _pause(self, seconds: float) -> None:
        self._expect(seconds)
        await self.clock.sleep(seconds)

    async def _ask(self, offset: int, timeout_s: int) -> list[dict[str, Any]]:
        self._expect(timeout_s + _GRACE_S)
        try:  # `ask_anew` ends it by a TimeoutError; a timeout of the call is `ApiUnreachable`
            async with asyncio.timeout(None) as self._asking:
                raw = await self.api.call(
                    "getUpdates",
                    timeout_s + _GRACE_S,
                    offset=offset,
                    timeout=timeout_s,
                    allowed_updates=ALLOWED_UPDATES,
                )
        finally:
            self._asking = None
        items = cast("list[object]", raw) if isinstance(raw, list) else []
        found = [cast("dict[str, Any]", item) for item in items if is_update(item)]
        if len(found) < len(items):  # they are acknowledged with the next update that has an id
            log.warning("updates_without_id", count=len(items) - len(found))
        if not isinstance(raw, list) or (items and not found):
            raise ApiUnreachable("getUpdates: an answer in no known form")
        return found

    async def _explain(self, error: ApiError) -> None:
        match error.code:
            case 401 | 404:
                raise SetupError(
                    f"Telegram refuses the bot token ({error.description}).",
                    fix="Put the token that @BotFather gave you into telegram.bot_token.",
                )
            case 409 if "webhook" in error.description.lower():
                await self._remove_webhook()
            case 409:
                await self._contested()
            case 429:
                await self._pause(error.retry_after_s)
            case _:
                await self._wait_out(str(error))

    async def _remove_webhook(self) -> None:
        try:
            await self.api.call("deleteWebhook", 15.0)
        except (ApiError, ApiUnreachable) as error:
            await self._wait_out(str(error))
        else:
            log.warning("webhook_removed")

    async def _contested(self) -> None:
        now_s = self.clock.monotonic_s()
        self._contested_since_s = self._contested_since_s or now_s
        if now_s - self._contested_since_s >= _CONTESTED_AFTER_S:
            raise SetupError(
                "Another process polls this bot token (Telegram keeps answering 409).",
                fix="Stop the other instance, or give this one a bot of its own.",
                exit_code=4,
            )
        log.warning("poll_contested", for_s=round(now_s - self._contested_since_s, 1))
        await self._pause(2.0)

    async def _wait_out(self, problem: str, pausing: Callable[[int], float] = _REFUSED) -> None:
        """Back off; only the first failure of a row is logged, and its end."""
        self._failures += 1
        self._failing_since = self._failing_since or stamp(self.clock)
        self._problem = problem
        if self._failures == 1:
            log.warning("poll_failed", problem=problem)
        await self._pause(pausing(self._failures))

    def _succeeded(self) -> None:
        if self._failures:
            since = self._failing_since
            log.info("poll_recovered", failures=self._failures, failing_since=since)
            self.recovered()
        self._failures = 0
        self._contested_since_s = 0.0
        self._failing_since = self._problem = ""
        self._last_poll_s = self.clock.monotonic_s()
        self.begun.set()


def is_update(body: object) -> bool:
    """Whether it is an object with a valid `update_id`."""
    if not isinstance(body, dict):
        return False
    number = cast("dict[str, object]", body).get("update_id")
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**63 - 1
