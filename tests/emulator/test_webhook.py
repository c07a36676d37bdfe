"""Updates that are brought to a webhook. Source: reference telegram.md §1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from aouo.emulator import ADA, BEN
from tests.emulator.conftest import Ask
from tests.fakes.telegram import LocalTelegram
from tests.fakes.telegram.webhook import _SECRET_HEADER

WAIT_S = 30.0


@dataclass
class Bot:
    """A bot behind its webhook; it answers with the next of `statuses`, then with 200."""

    statuses: list[int] = field(default_factory=list[int])
    heard: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    held: dict[int, asyncio.Event] = field(default_factory=dict[int, asyncio.Event])

    async def receive(self, request: web.Request) -> web.Response:
        message = (await request.json())["message"]
        self.heard.append((message["text"], request.headers.get(_SECRET_HEADER, "")))
        if hold := self.held.get(message["chat"]["id"]):
            await hold.wait()
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)

    @property
    def texts(self) -> list[str]:
        return [text for text, _ in self.heard]


@pytest.fixture
async def bot(emu: LocalTelegram) -> AsyncGenerator[Bot]:
    found = Bot()
    app = web.Application()
    app.router.add_post("/hook", found.receive)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    emu.webhook.tls_ends_at = f"http://{host}:{port}"
    emu.webhook.first_wait_s = 0.001
    yield found
    for hold in found.held.values():
        hold.set()
    await runner.cleanup()


async def empty(emu: LocalTelegram) -> None:
    """Wait until every update was taken."""
    async with asyncio.timeout(WAIT_S):
        while len(emu.world.updates):
            await emu.signal.wait_beyond(emu.signal.number, 0.05)


async def test_each_update_is_brought_once_with_the_secret(
    emu: LocalTelegram, ask: Ask, bot: Bot
) -> None:
    await ask("setWebhook", url="https://bot.example/hook", secret_token="abc")
    await emu.client.say(ADA, ADA, "one")
    await emu.client.say(ADA, ADA, "two")
    await empty(emu)

    assert bot.heard == [("one", "abc"), ("two", "abc")]


async def test_what_is_not_taken_is_brought_again_and_in_order(
    emu: LocalTelegram, ask: Ask, bot: Bot
) -> None:
    bot.statuses = [500, 403, 200]
    await ask("setWebhook", url="https://bot.example/hook")
    await emu.client.say(ADA, ADA, "one")
    await emu.client.say(ADA, ADA, "two")
    await empty(emu)
    info = await ask("getWebhookInfo")

    assert bot.texts == ["one", "one", "one", "two"]
    assert info["result"]["last_error_message"] == "Wrong response from the webhook: 403 Forbidden"


async def test_a_chat_that_is_slow_to_take_holds_up_no_other(
    emu: LocalTelegram, ask: Ask, bot: Bot
) -> None:
    bot.held[ADA] = asyncio.Event()
    await ask("setWebhook", url="https://bot.example/hook")
    for chat, text in ((ADA, "one"), (ADA, "two"), (BEN, "three"), (BEN, "four")):
        await emu.client.say(chat, chat, text)
    async with asyncio.timeout(WAIT_S):
        while "four" not in bot.texts:
            await emu.signal.wait_beyond(emu.signal.number, 0.05)
    before = [text for text in bot.texts if text in ("one", "two")]
    bot.held[ADA].set()
    await empty(emu)

    assert before == ["one"]
    assert sorted(bot.texts) == ["four", "one", "three", "two"]


async def test_after_delete_webhook_updates_wait_for_a_poll(
    emu: LocalTelegram, ask: Ask, bot: Bot
) -> None:
    await ask("setWebhook", url="https://bot.example/hook")
    await ask("deleteWebhook")
    await emu.client.say(ADA, ADA, "one")
    polled = await ask("getUpdates")

    assert [one["message"]["text"] for one in polled["result"]] == ["one"]
    assert bot.heard == []


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"url": "http://bot.example/"}, "bad webhook: An HTTPS URL must be provided for webhook"),
        (
            {"url": "https://bot.example:81/"},
            "bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443",
        ),
        (
            {"url": "https://bot.invalid/"},
            "bad webhook: Failed to resolve host: Name or service not known",
        ),
        (
            {"url": "https://bot.example/", "secret_token": "a b"},
            "secret token contains unallowed characters",
        ),
    ],
)
async def test_an_address_that_cannot_be_is_refused(
    emu: LocalTelegram, ask: Ask, parameters: dict[str, str], text: str
) -> None:
    answer = await ask("setWebhook", **parameters)

    assert answer["description"] == f"Bad Request: {text}"
    assert not emu.world.webhook
