"""Files on their way to the Bot API server. Source: issue 12, 10; core.telegram.org/bots/api."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, web

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import DeliveryUnknown
from aouo.facts.ports import Media, Rendered
from aouo.telegram.api import _OWN, _PUBLIC, limits_of
from aouo.telegram.messenger import TelegramMessenger

SIZE = 200_000_000
MESSAGE = {"message_id": 7, "date": 1, "chat": {"id": 1, "type": "private"}}
ADA = ConversationAddress("tg", "1")


def document(file: Path) -> Rendered:
    return Rendered("", media=Media("document", str(file)))


@asynccontextmanager
async def messenger_to(
    take: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncGenerator[TelegramMessenger]:
    """A messenger whose every call is answered by `take`."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", take)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        async with ClientSession() as session:
            yield TelegramMessenger(session=session, base_url=f"http://{host}:{port}", token="1:a")
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("base_url", "limits"),
    [
        ("https://api.telegram.org", _PUBLIC),
        ("https://api.telegram.org/", _PUBLIC),
        ("http://127.0.0.1:8081", _OWN),
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

    async with messenger_to(take) as messenger:
        tracemalloc.start()
        try:
            sent = await messenger.send(ADA, document(file))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert (sent, received > SIZE) == (7, True)
    assert peak < SIZE / 10


async def test_what_is_added_to_a_file_while_it_is_sent_is_no_request_of_its_own(
    tmp_path: Path,
) -> None:
    """Whoever writes to it would ask Telegram over our connection, and shift every answer on it."""
    file = tmp_path / "growing.log"
    with file.open("wb") as hole:
        hole.truncate(SIZE)
    asked: list[str] = []

    async def take(request: web.Request) -> web.Response:
        asked.append(request.path)
        with file.open("ab") as more:
            more.write(b"\r\nGET /bot1:a/logOut HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        async for _ in request.content.iter_any():
            pass
        return web.json_response({"ok": True, "result": MESSAGE})

    async with messenger_to(take) as messenger, asyncio.timeout(30):
        await messenger.send(ADA, document(file))
        await messenger.send(ADA, Rendered("Hello"))

    assert asked == ["/bot1:a/sendDocument", "/bot1:a/sendMessage"]


async def test_a_file_that_is_cut_while_it_is_sent_does_not_keep_the_server_waiting(
    tmp_path: Path,
) -> None:
    file = tmp_path / "cut.bin"
    with file.open("wb") as hole:
        hole.truncate(SIZE)

    async def take(request: web.Request) -> web.Response:
        os.truncate(file, 0)
        async for _ in request.content.iter_any():
            pass
        return web.json_response({"ok": True, "result": MESSAGE})

    async with messenger_to(take) as messenger, asyncio.timeout(30):
        with pytest.raises(DeliveryUnknown):
            await messenger.send(ADA, document(file))


async def test_an_upload_that_stalls_is_given_up_however_large_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 MB may take an hour; a server that reads no more will not take them at all."""
    monkeypatch.setattr("aouo.telegram.http._STALLED_S", 0.2)
    file = tmp_path / "film.mkv"
    with file.open("wb") as made:
        made.truncate(SIZE)

    async def stall(request: web.Request) -> web.StreamResponse:
        await request.content.read(1)
        await asyncio.Event().wait()
        raise AssertionError

    async with messenger_to(stall) as messenger, asyncio.timeout(30):
        with pytest.raises(DeliveryUnknown):
            await messenger.send(ADA, document(file))


async def test_an_upload_that_goes_on_is_not_given_up_for_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty times it takes almost as long as nothing at all may take."""
    monkeypatch.setattr("aouo.telegram.http._STALLED_S", 20.0)
    monkeypatch.setattr("aouo.telegram.http._UPLOAD_S", 20.0)
    monkeypatch.setattr("aouo.telegram.http._UPLOAD_BYTES_PER_S", SIZE)
    now_s = asyncio.get_running_loop().time
    ahead_s = 0.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now_s() + ahead_s)
    file = tmp_path / "film.mkv"
    with file.open("wb") as made:
        made.truncate(SIZE)
    read = 0

    async def take(request: web.Request) -> web.StreamResponse:
        nonlocal ahead_s, read
        async for piece in request.content.iter_any():
            read += len(piece)
            if read > (ahead_s / 15 + 1) * SIZE / 20:
                ahead_s += 15
        return web.json_response({"ok": True, "result": MESSAGE})

    async with messenger_to(take) as messenger:
        assert await messenger.send(ADA, document(file)) == 7

    assert ahead_s > 200
