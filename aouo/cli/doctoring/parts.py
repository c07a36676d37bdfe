"""Checks budgets, network, sandbox, disk, speech and MCP servers for `aouo doctor`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping

from yarl import URL

from aouo.app.services import budget_of, own_ears, paid_for
from aouo.cli.doctoring.check import Check, quietly
from aouo.config.sections import SpeechToText
from aouo.config.settings import Settings
from aouo.facts.attachments import VOICE_INSTALL, Lack
from aouo.facts.errors import SetupError, ToolFailed
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home
from aouo.plumbing.mounts import file_system, is_network
from aouo.sandbox.levels import Refused, Unconfined, better, in_words, level_of
from aouo.speech.local import lack_of_ears, lack_of_voice
from aouo.spending.money import Price
from aouo.spending.paid import UNLESS_SERVED, lacking
from aouo.tools.mcp_servers import Server, supervised
from aouo.web.certificates import trusted
from aouo.web.proxies import of_environment
from aouo.web.session import session_through


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
        from aouo.cli.doctoring import speech as speech_check  # brings the services' SDKs

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
