"""`telegram.proxy` leads to Telegram and nowhere else; those of the environment to all services."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import aiohttp
import pytest
from telegram.request import BaseRequest

from aouo.config.settings import Settings
from aouo.plumbing.redact import Redactor
from aouo.plumbing.web.session import secrets_of, session_through
from aouo.telegram.api import ApiUnreachable, TelegramApi
from aouo.telegram.http import AiohttpRequest, NotWritten
from tests.fakes.proxy_server import ProxyServer
from tests.path.looking import eventually, said
from tests.path.world import ADA, World

NOWHERE = "https://api.telegram.invalid"


@pytest.fixture
async def proxy() -> AsyncGenerator[ProxyServer]:
    async with ProxyServer().running() as server:
        yield server


@pytest.mark.parametrize("kind", ["http", "socks5", "socks5h"])
async def test_a_conversation_goes_through_the_proxy(
    world: World, proxy: ProxyServer, kind: str
) -> None:
    """A name that only the proxy can resolve: no call went another way."""
    port = world.emulator.base_url.rpartition(":")[2]
    base = f"http://localhost:{port}"
    world.config = {"telegram": {"proxy": f"{kind}://127.0.0.1:{proxy.port}", "api_base_url": base}}
    async with world.running() as bot:
        assert (await bot.ask("Hello")).text == "Hello"

    targets = {one.split("/bot")[0].removeprefix("http://") for one in proxy.seen}
    assert targets == {f"localhost:{port}"}


async def test_a_proxy_with_a_password_is_told_it(world: World, proxy: ProxyServer) -> None:
    proxy.login = ("ada", "s3cret")
    port = world.emulator.base_url.rpartition(":")[2]
    world.config = {
        "telegram": {
            "proxy": f"socks5://ada:s3cret@127.0.0.1:{proxy.port}",
            "api_base_url": f"http://localhost:{port}",
        }
    }
    async with world.running() as bot:
        assert (await bot.ask("Hello")).text == "Hello"


async def test_the_model_is_not_asked_through_telegrams_proxy(
    world: World, proxy: ProxyServer
) -> None:
    world.config = {"telegram": {"proxy": f"socks5://127.0.0.1:{proxy.port}"}}
    world.config["telegram"]["api_base_url"] = world.emulator.base_url.replace(
        "127.0.0.1", "localhost"
    )
    async with world.running() as bot:
        await bot.ask("Hello")

    model = world.model.base_url.split("/")[2].partition(":")[2]
    assert not [one for one in proxy.seen if model in one]


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_what_a_proxy_refuses_was_surely_not_sent(proxy: ProxyServer, kind: str) -> None:
    """So it is sent again, instead of being called unknown; and polling waits it out."""
    proxy.refuses = True
    async with session_through(f"{kind}://127.0.0.1:{proxy.port}") as session:
        await _refused(session)

    assert proxy.seen == ["api.telegram.invalid:443"] * 2


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_a_proxy_that_is_not_there_is_waited_out(kind: str) -> None:
    async with session_through(f"{kind}://127.0.0.1:9") as session:
        await _refused(session)


async def test_a_wrong_password_is_waited_out(proxy: ProxyServer) -> None:
    proxy.login = ("ada", "s3cret")
    async with session_through(f"socks5://ada:wrong@127.0.0.1:{proxy.port}") as session:
        await _refused(session)


async def _refused(session: aiohttp.ClientSession) -> None:
    with pytest.raises(NotWritten):
        await AiohttpRequest(session).do_request(
            f"{NOWHERE}/bot1:a/getMe", "POST", read_timeout=BaseRequest.DEFAULT_NONE
        )
    with pytest.raises(ApiUnreachable) as raised:
        await TelegramApi(session=session, base_url=NOWHERE, token="1:a").call("getMe", 5.0)
    assert "s3cret" not in str(raised.value)


async def test_a_proxy_that_comes_back_brings_what_waited(world: World, proxy: ProxyServer) -> None:
    port = world.emulator.base_url.rpartition(":")[2]
    proxy.refuses = True
    world.config = {
        "telegram": {
            "proxy": f"socks5://127.0.0.1:{proxy.port}",
            "api_base_url": f"http://localhost:{port}",
        }
    }
    async with world.running():
        await world.people.say(ADA, ADA, "Hello")
        proxy.refuses = False
        await said(world, "Hello")


# The proxies of the environment


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As if nothing of a network was set."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


def far(world: World) -> dict[str, dict[str, str]]:
    """The model's service under a name that only the proxy can resolve."""
    return {"fake": {"base_url": f"http://model.test:{world.model.port}/v1", "api_key": "key"}}


@pytest.mark.parametrize("kind", ["http", "socks5", "socks5h"])
async def test_a_model_is_asked_through_the_environments_proxy(
    world: World, proxy: ProxyServer, environment: pytest.MonkeyPatch, kind: str
) -> None:
    environment.setenv("ALL_PROXY", f"{kind}://127.0.0.1:{proxy.port}")
    world.config = {"providers": far(world)}
    async with world.running() as bot:
        assert (await bot.ask("Hello")).text == "Hello"

    assert {one.removeprefix("http://").split("/")[0] for one in proxy.seen} == {
        f"model.test:{world.model.port}"
    }


async def test_what_runs_on_this_machine_is_asked_without_it(
    world: World, proxy: ProxyServer, environment: pytest.MonkeyPatch
) -> None:
    """Ollama at 127.0.0.1, without a word in NO_PROXY."""
    environment.setenv("ALL_PROXY", f"http://127.0.0.1:{proxy.port}")
    async with world.running() as bot:
        assert (await bot.ask("Hello")).text == "Hello"

    assert proxy.seen == []


async def test_telegram_goes_through_the_environments_proxy_too(
    world: World, proxy: ProxyServer, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    world.config = {"telegram": {"api_base_url": "http://telegram.test"}}
    proxy.refuses = True
    async with world.running() as bot:

        async def led() -> bool:
            await bot.people.calls()
            return bool(proxy.seen)

        await eventually(led)

    assert f"http://telegram.test/bot{world.emulator.token}/getUpdates" in proxy.seen


async def test_telegrams_own_proxy_counts_before_the_environments(
    world: World, proxy: ProxyServer, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("ALL_PROXY", "http://127.0.0.1:9")
    port = world.emulator.base_url.rpartition(":")[2]
    world.config = {
        "telegram": {
            "proxy": f"socks5://127.0.0.1:{proxy.port}",
            "api_base_url": f"http://localhost:{port}",
        }
    }
    async with world.running() as bot:
        assert (await bot.ask("Hello")).text == "Hello"

    assert proxy.seen


async def test_a_password_of_a_proxy_is_sent_and_is_in_no_error(
    proxy: ProxyServer, environment: pytest.MonkeyPatch
) -> None:
    """A 407 is told with the proxy's name and what to do; nothing was sent to Telegram."""
    proxy.refuses = True
    where = f"127.0.0.1:{proxy.port}"
    environment.setenv("HTTPS_PROXY", f"http://ada:s3cretword@{where}")
    async with session_through() as session:
        with pytest.raises(NotWritten) as sending:
            await AiohttpRequest(session).do_request(f"{NOWHERE}/bot1:a/getMe", "POST")
        with pytest.raises(ApiUnreachable) as polling:
            await TelegramApi(session=session, base_url=NOWHERE, token="1:a").call("getMe", 5.0)
        with pytest.raises(aiohttp.ClientHttpProxyError) as raised:
            await session.get(NOWHERE)

    assert proxy.logins == ["ada:s3cretword"] * 3
    for error in (sending.value, polling.value):
        assert f"the proxy {where} asks for a password" in str(error)
    assert "s3cret" not in str(sending.value) + str(polling.value) + repr(raised.value)


async def test_a_plain_request_that_a_proxy_turns_away_was_not_sent(
    proxy: ProxyServer, environment: pytest.MonkeyPatch
) -> None:
    """Without TLS the proxy answers in the server's place."""
    proxy.refuses = True
    environment.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
    async with session_through() as session:
        with pytest.raises(NotWritten, match="407"):
            await AiohttpRequest(session).do_request("http://telegram.test/bot1:a/x", "POST")


def test_a_password_of_a_proxy_is_known_to_the_redactor(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTPS_PROXY", "http://ada:s3cretword@proxy.test:3128")

    assert (
        Redactor(secrets_of(Settings().secrets())).text("it is s3cretword!") == "it is [redacted]!"
    )
