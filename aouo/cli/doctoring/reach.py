"""Asks Telegram for `aouo doctor`: whether the token is valid, and what the bot sees."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlencode

import aiohttp

from aouo.cli.doctoring.check import Check
from aouo.config.settings import Settings
from aouo.facts.errors import SetupError
from aouo.plumbing.redact import Redactor
from aouo.web.certificates import cure_of
from aouo.web.session import secrets_of, session_through

_TIMEOUT_S = 5.0


def webhook(settings: Settings) -> Check | None:
    """Check the bot's webhook at Telegram; None = it has none and needs none."""
    token = settings.telegram.bot_token.get_secret_value()
    base = settings.telegram.api_base_url.rstrip("/")
    _, body = _get(f"{base}/bot{token}/getWebhookInfo", {}, settings, proxy=settings.telegram.proxy)
    info = _result(body)
    url, wanted = str(info.get("url", "")), settings.telegram.webhook.url
    if settings.telegram.transport == "polling":
        if not url:
            return None
        return Check(
            "webhook",
            "warn",
            f"Telegram calls {url}, although telegram.transport is polling",
            "Starting the bot removes that webhook; is another instance using it?",
        )
    if url != wanted:
        there = url or "none"
        return Check(
            "webhook",
            "warn",
            f"Telegram calls {there}; {wanted} is set while the bot runs",
            "Start the bot; if it runs, another instance took the webhook.",
        )
    waiting = f"{info.get('pending_update_count', 0)} updates wait"
    if problem := info.get("last_error_message"):
        when = datetime.fromtimestamp(info.get("last_error_date", 0), UTC)
        return Check(
            "webhook",
            "warn",
            f"{waiting}; the last call failed at {when:%Y-%m-%d %H:%M:%S} UTC: {problem}",
            f"Check the way from {url} to {settings.telegram.webhook.listen}.",
        )
    return Check("webhook", "ok", f"{url}; {waiting}")


def telegram(settings: Settings) -> Check:
    """Ask `getMe`, and say when privacy mode hides group messages."""
    token = settings.telegram.bot_token.get_secret_value()
    base = settings.telegram.api_base_url.rstrip("/")
    status, body = _get(f"{base}/bot{token}/getMe", {}, settings, proxy=settings.telegram.proxy)
    if status in (401, 404):
        return Check(
            "telegram", "fail", "Telegram refuses the token", "Get another from @BotFather."
        )
    me = _result(body)
    if status != 200 or not me:
        return Check(
            "telegram", "fail", f"{base}: {_reason(status, body)}", "Check the network or proxy."
        )
    name = f"@{me.get('username', '?')}"
    if not me.get("can_read_all_group_messages"):
        return Check(
            "telegram",
            "ok",
            f"{name}; privacy mode is on: in groups it sees only commands, mentions and replies",
            "To change that: @BotFather, /setprivacy, then add the bot to the group again.",
        )
    return Check("telegram", "ok", name)


def groups(settings: Settings, chat_ids: Sequence[str]) -> Iterator[Check]:
    """Warn of groups in which every message is for the bot, but privacy mode hides most of them.

    An administrator sees all messages, and so does a bot whose privacy mode is off.
    """
    if _ask(settings, "getMe").get("can_read_all_group_messages"):
        return
    bot_id = settings.telegram.bot_token.get_secret_value().partition(":")[0]
    for chat_id in chat_ids:
        mine = _ask(settings, "getChatMember", chat_id=chat_id, user_id=bot_id)
        if mine.get("status") == "member":
            yield Check(
                f"group {_ask(settings, 'getChat', chat_id=chat_id).get('title', chat_id)}",
                "warn",
                "privacy mode hides its messages, but for commands, mentions and replies",
                "Make the bot an administrator there; or @BotFather, /setprivacy, then add it to "
                "the group again.",
            )


def _ask(settings: Settings, method: str, **params: str) -> dict[str, Any]:
    """Call a Bot API method, and return its result, {} when it refuses."""
    token = settings.telegram.bot_token.get_secret_value()
    base = settings.telegram.api_base_url.rstrip("/")
    url = f"{base}/bot{token}/{method}?{urlencode(params)}"
    return _result(_get(url, {}, settings, proxy=settings.telegram.proxy)[1])


def _result(body: object) -> dict[str, Any]:
    """Return the result in a Bot API answer, {} for anything else."""
    answer = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    return answer.get("result") or {}


def _reason(status: int, body: object) -> str:
    return f"answered {status}" if status else str(body)


def _get(
    url: str, headers: dict[str, str], settings: Settings, *, proxy: str = ""
) -> tuple[int, object]:
    """Return the status and JSON body (None: no JSON), or 0 and the reason without an answer."""

    async def fetch() -> tuple[int, object]:
        limit = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        async with (
            session_through(proxy) as session,
            session.get(url, headers=headers, timeout=limit) as answer,
        ):
            try:
                return answer.status, await answer.json(content_type=None)
            except (ValueError, RecursionError):
                return answer.status, None

    try:
        return asyncio.run(fetch())
    except SetupError as error:
        return 0, str(error)
    except TimeoutError:
        return 0, f"no answer within {_TIMEOUT_S:g} s"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        clean = Redactor(secrets_of(settings.secrets())).text(str(error))
        return 0, cure_of(error) or f"{type(error).__name__}: {clean}".rstrip(": ")
