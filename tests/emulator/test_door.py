"""Another page in somebody's browser reaches nothing here. Source: issue 11, 11."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import ClientSession, web

from aouo.emulator import ADA
from tests.emulator.conftest import Ask
from tests.emulator.test_process import start
from tests.fakes.telegram import LocalTelegram

FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    {"Host": "evil.example"},
]
_PATHS = ["/", "/page/main.js", "/emulator/state", "/emulator/changes", "/emulator/media/a"]


@pytest.mark.parametrize("headers", FOREIGN)
async def test_another_page_reaches_nothing(
    emu: LocalTelegram, http: ClientSession, headers: dict[str, str]
) -> None:
    """Neither the page's side nor the bot's: it would set the webhook, or speak as the bot."""
    bot = f"/bot{emu.token}"
    hook = f"{bot}/setWebhook?url=https://127.0.0.1/hook"
    for path in (*_PATHS, hook, f"{bot}/getMe", f"/file{bot}/a"):
        for method in ("GET", "POST", "OPTIONS"):
            url = f"{emu.base_url}{path}"
            async with http.request(method, url, headers=headers) as response:
                assert (path, method, response.status) == (path, method, 403)
                assert "Access-Control-Allow-Origin" not in response.headers

    assert not emu.world.webhook


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_its_own_page_reaches_it(emu: LocalTelegram, http: ClientSession, site: str) -> None:
    headers = {"Origin": emu.base_url, "Sec-Fetch-Site": site}
    said = {"user": ADA, "chat": ADA, "text": "hello"}
    async with http.post(f"{emu.base_url}/emulator/say", json=said, headers=headers) as response:
        assert response.status == 200


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/emulator/changes?since=-1", "/nothing"])
async def test_no_answer_is_shown_inside_of_another_page(
    emu: LocalTelegram, http: ClientSession, path: str
) -> None:
    async with http.get(f"{emu.base_url}{path}") as response:
        assert response.headers["X-Frame-Options"] == "DENY"
        assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    async with http.get(f"{emu.base_url}/") as response:
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]


async def test_each_process_has_a_token_of_its_own() -> None:
    tokens: set[str] = set()
    for _ in range(2):
        process, ready = await start("--with-parent")
        tokens.add(ready["token"])
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(30):
            await process.wait()

    assert len({token.partition(":")[2] for token in tokens if len(token) > 32}) == 2


async def test_a_webhook_elsewhere_is_never_called(emu: LocalTelegram, ask: Ask) -> None:
    """Whoever sets one gets the conversations of this machine."""
    await ask("setWebhook", url="https://192.0.2.1/hook")
    await emu.client.say(ADA, ADA, "private")
    async with asyncio.timeout(30):
        while not emu.webhook.statuses:
            await emu.signal.wait_beyond(emu.signal.number, 0.05)
    info = await ask("getWebhookInfo")

    assert emu.webhook.statuses[0] == 0
    assert info["result"]["pending_update_count"] == 1


async def test_a_webhook_that_sends_us_on_is_not_followed(emu: LocalTelegram, ask: Ask) -> None:
    heard: list[str] = []

    async def receive(request: web.Request) -> web.Response:
        heard.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    app = web.Application()
    app.router.add_post("/{path:.*}", receive)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    emu.webhook.tls_ends_at = f"http://{host}:{port}"
    await ask("setWebhook", url="https://bot.example/hook")
    await emu.client.say(ADA, ADA, "private")
    async with asyncio.timeout(30):
        while not emu.webhook.statuses:
            await emu.signal.wait_beyond(emu.signal.number, 0.05)
    await runner.cleanup()

    assert set(heard) == {"/hook"}
    assert emu.webhook.statuses[0] == 307


@pytest.mark.parametrize("path", ["/emulator/state", "/bot{token}/getMe"])
async def test_json_nested_too_deep_is_a_plain_mistake(
    emu: LocalTelegram, http: ClientSession, path: str
) -> None:
    url = f"{emu.base_url}{path.format(token=emu.token)}"
    headers = {"Content-Type": "application/json"}
    async with http.post(url, data="[" * 100_000, headers=headers) as response:
        assert response.status == 400
