"""Files from a Bot API server to our disk. Source: reference facts 16, 18; issue 4 (downloads)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from aouo.emulator import ADA
from aouo.facts.attachments import Attachment
from aouo.facts.errors import FileNotFetched
from aouo.telegram.api import _PUBLIC, _PUBLIC_URL, _TRIES, Downloads, TelegramApi
from tests.fakes.clock import FastClock
from tests.fakes.telegram import LocalTelegram


@asynccontextmanager
async def downloads(base_url: str, token: str, limit_bytes: int = 0) -> AsyncGenerator[Downloads]:
    async with aiohttp.ClientSession() as session:
        yield Downloads(
            api=TelegramApi(session=session, base_url=base_url, token=token),
            session=session,
            clock=FastClock(),
            base_url=base_url,
            token=token,
            limit_bytes=limit_bytes,
        )


async def sent(telegram: LocalTelegram, content: bytes) -> Attachment:
    message = await telegram.client.send_file(ADA, ADA, "document", content)
    detail = message.raw["document"]
    return Attachment("document", detail["file_id"], size_bytes=detail["file_size"])


def left_in(folder: Path) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.is_file()]


async def test_a_file_arrives_whole_and_only_for_us(tmp_path: Path) -> None:
    to = tmp_path / "media" / "tg_1" / "1_0_file"
    async with (
        LocalTelegram() as telegram,
        downloads(telegram.base_url, telegram.token) as fetches,
    ):
        content = bytes(range(256)) * 4_000
        size = await fetches.fetch(await sent(telegram, content), to)

    assert size == len(content)
    assert to.read_bytes() == content
    assert to.stat().st_mode & 0o777 == 0o600
    assert to.parent.stat().st_mode & 0o777 == 0o700


async def test_what_telegram_will_not_give_is_not_even_asked_for(tmp_path: Path) -> None:
    """No request leaves: the address is nobody's."""
    item = Attachment("document", "x", size_bytes=25_000_000)
    async with downloads(_PUBLIC_URL, "1:a") as fetches:
        with pytest.raises(FileNotFetched) as refused:
            await fetches.fetch(item, tmp_path / "x")

    assert refused.value.limit_bytes == _PUBLIC.download


async def test_a_file_larger_than_it_was_said_to_be_is_stopped_and_not_kept(
    tmp_path: Path,
) -> None:
    async with (
        LocalTelegram() as telegram,
        downloads(telegram.base_url, telegram.token, limit_bytes=1_000) as fetches,
    ):
        item = await sent(telegram, bytes(5_000))
        with pytest.raises(FileNotFetched) as refused:
            await fetches.fetch(Attachment("document", item.file_id), tmp_path / "x")

    assert (refused.value.limit_bytes, left_in(tmp_path)) == (1_000, [])


@pytest.mark.parametrize("kind", ["drop_after", "status"])
async def test_what_passes_is_tried_again_and_half_a_file_is_never_kept(
    tmp_path: Path, kind: str
) -> None:
    async with (
        LocalTelegram() as telegram,
        downloads(telegram.base_url, telegram.token) as fetches,
    ):
        item = await sent(telegram, bytes(500_000))
        await telegram.client.fault(kind, method="download", times=_TRIES - 1, status=404)
        assert await fetches.fetch(item, tmp_path / "x") == 500_000
        await telegram.client.fault(kind, method="download", times=_TRIES, status=500)
        with pytest.raises(FileNotFetched) as failed:
            await fetches.fetch(item, tmp_path / "y")
        calls = await telegram.client.calls("getFile")

    assert telegram.token not in str(failed.value)
    assert len(calls) == 2 * _TRIES  # each time anew: a path is good for an hour only
    assert left_in(tmp_path) == ["x"]


async def test_flood_control_is_waited_out(tmp_path: Path) -> None:
    async with (
        LocalTelegram() as telegram,
        downloads(telegram.base_url, telegram.token) as fetches,
    ):
        item = await sent(telegram, b"hello")
        await telegram.client.fault("status", method="getFile", status=429, retry_after=7)
        before_s = fetches.clock.monotonic_s()
        await fetches.fetch(item, tmp_path / "x")

        assert fetches.clock.monotonic_s() - before_s >= 7


async def test_a_file_that_nobody_has_any_more_is_gone(tmp_path: Path) -> None:
    async with (
        LocalTelegram() as telegram,
        downloads(telegram.base_url, telegram.token) as fetches,
    ):
        await telegram.client.fault(
            "status", method="getFile", status=400, description="Bad Request: FILE_REFERENCE_EMPTY"
        )
        with pytest.raises(FileNotFetched) as missing:
            await fetches.fetch(Attachment("voice", "x"), tmp_path / "x")

    assert missing.value.gone


async def test_a_disk_that_takes_nothing_is_a_file_that_could_not_be_had(tmp_path: Path) -> None:
    (tmp_path / "media").write_text("not a folder")
    async with (
        LocalTelegram() as telegram,
        downloads(telegram.base_url, telegram.token) as fetches,
    ):
        item = await sent(telegram, b"hello")
        with pytest.raises(FileNotFetched):
            await fetches.fetch(item, tmp_path / "media" / "x")


async def test_a_server_of_ones_own_names_a_file_on_this_machine(tmp_path: Path) -> None:
    """`telegram-bot-api --local`: "file_path" is an absolute path, of any size."""
    (tmp_path / "large.bin").write_bytes(b"large")

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.path.endswith("/getFile")
        found = {"file_id": "x", "file_unique_id": "u", "file_path": str(tmp_path / "large.bin")}
        return web.json_response({"ok": True, "result": found})

    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base_url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with downloads(base_url, "1:a") as fetches:
            item = Attachment("document", "x", size_bytes=_PUBLIC.download + 1)
            assert await fetches.fetch(item, tmp_path / "copy") == 5
    finally:
        await runner.cleanup()

    assert (tmp_path / "copy").read_bytes() == b"large"
