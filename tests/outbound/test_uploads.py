"""Files on their way to the Bot API server. Source: issue 12, 10; core.telegram.org/bots/api."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from aiohttp import ClientSession, web

from aouo.address import ConversationAddress
from aouo.bot_api import OWN, PUBLIC, limits_of
from aouo.outbound.telegram import TelegramMessenger
from aouo.ports import Media, Rendered

SIZE = 200_000_000
MESSAGE = {"message_id": 7, "date": 1, "chat": {"id": 1, "type": "private"}}


@pytest.mark.parametrize(
    ("base_url", "limits"),
    [
        ("https://api.telegram.org", PUBLIC),
        ("https://api.telegram.org/", PUBLIC),
        ("http://127.0.0.1:8081", OWN),
    ],
)
def test_how_large_a_file_may_be_is_said_by_whose_server_it_is(
    base_url: str, limits: object
) -> None:
    assert limits_of(base_url) == limits


async def test_a_large_file_is_read_while_it_is_sent_and_never_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "film.bin"
    with file.open("wb") as hole:
        hole.truncate(SIZE)
    received = 0

    async def take(request: web.Request) -> web.Response:
        nonlocal received
        async for chunk in request.content.iter_any():
            received += len(chunk)
        return web.json_response({"ok": True, "result": MESSAGE})

    app = web.Application()
    app.router.add_post("/bot1:a/sendDocument", take)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        async with ClientSession() as session:
            messenger = TelegramMessenger(
                session=session, base_url=f"http://{host}:{port}", token="1:a"
            )
            tracemalloc.start()
            sent = await messenger.send(
                ConversationAddress("tg", "1"), Rendered("", media=Media("document", str(file)))
            )
            peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        await runner.cleanup()

    assert (sent, received > SIZE) == (7, True)
    assert peak < SIZE / 10
