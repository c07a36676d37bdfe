"""`telegram.proxy`: everything said to Telegram goes through it, and nothing else does."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import aiohttp
import pytest
from telegram.request import BaseRequest

from aouo.app.proxied import session_through
from aouo.inbound.telegram_api import ApiUnreachable, TelegramApi
from aouo.outbound.telegram_http import AiohttpRequest, NotWritten
from tests.fakes.proxy_server import ProxyServer
from tests.path.looking import said
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
