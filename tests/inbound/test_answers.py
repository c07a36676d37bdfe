"""Answers of a Bot API server, or of something that stands where one should be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from aouo.inbound.poller import Poller
from aouo.inbound.telegram_api import TelegramApi
from tests.fakes.clock import FastClock


class Enough(Exception):
    """Something was stored."""


@asynccontextmanager
async def server(*bodies: str) -> AsyncGenerator[str]:
    """Gives one body after the other, then no updates."""
    left = list(bodies)

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=left.pop(0) if left else '{"ok": true, "result": []}')

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    "odd",
    [
        {"ok": True},
        {"ok": True, "result": "maintenance"},
        {"ok": True, "result": {"a": 1}},
        {"ok": True, "result": [{"message": {}}]},
        {"ok": True, "result": [{"update_id": 10**30}]},
        {"ok": False, "error_code": None},
        {"ok": False, "error_code": 429, "parameters": {"retry_after": None}},
        {"ok": False, "error_code": 500, "parameters": "none"},
    ],
)
async def test_an_answer_in_no_known_form_is_waited_out(odd: object) -> None:
    """Behaviour 55: polling goes on, and what comes then is stored."""
    stored: list[object] = []

    async def store(raw: object, _next: int) -> None:
        stored.append(raw)
        raise Enough

    good = {"ok": True, "result": [{"update_id": 7}]}
    async with server(json.dumps(odd), json.dumps(good)) as url, aiohttp.ClientSession() as session:
        api = TelegramApi(session=session, base_url=url, token="1:a")
        poller = Poller(api=api, clock=FastClock(), store=store)
        with pytest.raises(Enough):
            async with asyncio.timeout(30):
                await poller.run(0)

    assert stored == [[{"update_id": 7}]]
