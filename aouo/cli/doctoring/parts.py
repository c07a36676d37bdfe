"""Checks Telegram, budgets, network, sandbox, disk, MCP servers for `aouo doctor`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from aouo.agent.spending.money import UNLESS_SERVED, Price, lacking
from aouo.agent.tools.mcp_servers import Server, supervised
from aouo.app.services import budget_of, own_ears, paid_for
from aouo.cli.doctoring.check import Check, quietly
from aouo.config.sections import SpeechToText
from aouo.config.settings import Settings
from aouo.facts.attachments import VOICE_INSTALL, Lack
from aouo.facts.errors import SetupError, ToolFailed
from aouo.guard.sandbox.levels import Refused, Unconfined, better, in_words, level_of
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home, file_system, is_network
from aouo.plumbing.redact import Redactor
from aouo.plumbing.web.certificates import cure_of, trusted
from aouo.plumbing.web.session import of_environment, secrets_of, session_through
from aouo.providers.speech.local import lack_of_ears, lack_of_voice

_TIMEOUT_S = 5.0


def webhook(settings: Settings) -> Check | None:
    """Check the bot's webhook at Telegram; None = it has none and needs none."""
    info = _result(bot_api(settings, "getWebhookInfo")[1])
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
    status, body = bot_api(settings, "getMe")
    if status in (401, 404):
        return Check(
            "telegram", "fail", "Telegram refuses the token", "Get another from @BotFather."
        )
    me = _result(body)
    if status != 200 or not me:
        base = settings.telegram.api_base_url.rstrip("/")
        why = f"answered {status}" if status else str(body.get("description"))
        return Check("telegram", "fail", f"{base}: {why}", "Check the network or proxy.")
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


def _ask(settings: Settings, method: str, **params: object) -> dict[str, Any]:
    """Call a Bot API method, and return its result, {} when it refuses."""
    return _result(bot_api(settings, method, within_s=_TIMEOUT_S, **params)[1])


def _result(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result in a Bot API answer, {} for anything else."""
    return body.get("result") or {}


def bot_api(
    settings: Settings, method: str, *, within_s: float = _TIMEOUT_S, **params: object
) -> tuple[int, dict[str, Any]]:
    """Call a Bot API method; return the status and what Telegram says, or 0 and the reason as
    `description` without an answer."""
    token = settings.telegram.bot_token.get_secret_value()
    base = settings.telegram.api_base_url.rstrip("/")
    url = f"{base}/bot{token}/{method}?{urlencode(params)}"
    status, body = fetched(url, {}, settings, proxy=settings.telegram.proxy, within_s=within_s)
    if not status:
        return 0, {"description": body}
    return status, cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def fetched(
    url: str,
    headers: dict[str, str],
    settings: Settings,
    *,
    proxy: str = "",
    within_s: float = _TIMEOUT_S,
) -> tuple[int, object]:
    """Return the status and JSON body (None: no JSON), or 0 and the reason without an answer."""

    async def fetch() -> tuple[int, object]:
        limit = aiohttp.ClientTimeout(total=within_s)
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
        return 0, f"no answer within {within_s:g} s"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        clean = Redactor(secrets_of(settings.secrets())).text(str(error))
        return 0, cure_of(error) or f"{type(error).__name__}: {clean}".rstrip(": ")


def budgets(settings: Settings, served: Mapping[tuple[str, str], Price | None]) -> Iterator[Check]:
    """Check that every model that may answer has a price, if a budget is set.

    `served` are the prices that the asked servers name.
    """
    budget = budget_of(settings, SystemClock(), lambda backend, model: served.get((backend, model)))
    if not budget.any:
        return
    unknown = lacking(paid_for(settings), budget.prices)
    for one in unknown:
        what, fix = one.concern
        asked = one.measure != "tokens" or (one.provider, one.name) in served
        yield Check("budgets", "warn", what + ("" if asked else UNLESS_SERVED), fix)
    if not unknown:
        yield Check("budgets", "ok", "every configured model has a price")


def network() -> Iterator[Check]:
    """Check the proxies and certificates that the environment names."""
    try:
        proxies = of_environment(os.environ)
        trusted(os.environ)
    except SetupError as error:
        yield Check("network", "fail", error.problem, error.fix)
        return
    named = [URL(one) for one in dict.fromkeys((proxies.https, proxies.http)) if one]
    if named:
        led = " and ".join(f"{one.host}:{one.port}" for one in named)
        yield Check("network", "ok", f"the environment's proxy {led} is used")


def sandbox(home: Home, settings: Settings) -> Check:
    """Check by trial how tools of packs are confined here; weaker walls are no failure."""
    level = level_of(settings.security.sandbox, home.path)
    weak = isinstance(level, Unconfined | Refused)
    return Check("sandbox", "warn" if weak else "ok", in_words(level), better(level))


def disk(home: Home) -> Iterator[Check]:
    """Check the file system of the home, if this system names it."""
    kind = file_system(home.path)
    if is_network(kind):
        yield Check(
            "disk",
            "warn",
            f"{home.path} lies on {kind}, a network file system: there the database may break, and "
            "two bots may work on one home",
            "Move the home to a disk of this machine; backups may go to the network.",
        )
    elif kind:
        yield Check("disk", "ok", kind)


def speech(settings: Settings, *, fast: bool) -> Iterator[Check]:
    """Check the speech that the owner chose; the default without a key is no choice."""
    yield from _chosen_speech(settings, fast=fast)
    if not fast:
        from aouo.cli.doctoring import models as speech_check  # brings the services' SDKs

        yield from speech_check.asked(settings)


def _chosen_speech(settings: Settings, *, fast: bool) -> Iterator[Check]:
    wish = settings.tts.backend
    if wish == "local":
        yield _here("tts", lack_of_voice(settings.tts.model), settings.tts.model, "a file")
    elif wish != "off":
        if not settings.provider_endpoint(wish).api_key:
            yield _no_key("tts", wish, f"{wish}.api_key")
        elif fast:
            yield Check("tts", "ok", wish)
    if settings.stt.backend == "local":
        model = own_ears(settings)
        yield _here("stt", lack_of_ears(model), model, "a folder with Whisper for CTranslate2")
    elif settings.stt.backend not in ("off", SpeechToText().backend) and not settings.stt_api_key:
        yield _no_key("stt", settings.stt.backend, f"{settings.stt.backend}.api_key")


def mcp_servers(settings: Settings) -> list[Check]:
    """Connect to all MCP servers in parallel, within the time that a turn gives them."""

    async def look() -> list[Check]:
        async with (
            session_through() as session,
            supervised(settings.mcp.servers, SystemClock(), session) as servers,
        ):
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(_mcp(server)) for server in servers]
            return [task.result() for task in asked]

    return quietly(settings, look())


async def _mcp(server: Server) -> Check:
    try:
        tools = await server.tools()
    except ToolFailed as error:
        name = server.group.removeprefix("mcp:")
        return Check(server.group, "warn", str(error), f"Look at mcp.servers.{name}.")
    return Check(server.group, "ok", f"{len(tools)} tools")


def _here(part: str, lack: Lack | None, model: str, kind: str) -> Check:
    """Return the finding about speech on this machine; the packaged models know one language."""
    match lack:
        case None:
            return Check(part, "ok", f"local, {model or 'English only'}")
        case "no_model":
            fix = f"Set {part}.model to {kind}, or leave it out."
            return Check(part, "warn", f"{part}.model: there is no model at {model}", fix)
        case _:
            return Check(part, "warn", "local is chosen and not installed", VOICE_INSTALL)


def _no_key(part: str, backend: str, key: str) -> Check:
    return Check(
        part, "warn", f"{backend} is chosen and there is no key", f"Set {key}, or {part}.backend."
    )
