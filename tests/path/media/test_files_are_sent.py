"""What `msg` can show besides words. Source: design §3.6; Bot API, "Sending files"."""

from __future__ import annotations

import json
import struct
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from aouo.app.status import _terminal_inbound
from aouo.plumbing.home import Home
from tests.fakes.model_server import CallPart, ModelServer, words_of
from tests.fakes.telegram import LocalTelegram
from tests.path.looking import said, settled
from tests.path.world import ADA, Running, World

_HEAD = b"\x89PNG\r\n\x1a\n"


def png(width: int, height: int) -> bytes:
    """As much of a picture as says its size."""
    return _HEAD + b"\0\0\0\rIHDR" + struct.pack(">II", width, height) + bytes(40)


PNG = png(640, 480)
MB = 1024 * 1024


def own_file(world: World, name: str, content: bytes) -> Path:
    """A file in the data folder of the pack `notes` for Ada."""
    folder = world.home.pack_folder("notes", f"tg_{ADA}")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(content)
    return file


async def shown(world: World, bot: Running, *wishes: dict[str, str]) -> list[dict[str, Any]]:
    """Let the model show these; the raw messages that people then see, the answer left out."""
    world.model.calls(*(CallPart("msg", {"text": "", **wish}) for wish in wishes))
    world.model.say("final")
    await bot.people.say(ADA, ADA, "go")
    await said(world, "final")
    await settled(bot)
    return [m.raw for m in await bot.people.messages(ADA) if m.from_bot and m.text != "final"]


@pytest.mark.parametrize(
    ("kind", "name", "content"),
    [
        ("photo", "a.png", PNG),
        ("audio", "a.mp3", b"ID3"),
        ("voice", "a.ogg", b"OggS"),
        ("document", "a.pdf", b"%PDF-1.7"),
    ],
)
async def test_a_file_of_the_pack_is_uploaded_with_its_caption(
    world: World, kind: str, name: str, content: bytes
) -> None:
    world.install("notes")
    file = own_file(world, name, content)
    async with world.running() as bot:
        (message,) = await shown(world, bot, {"type": kind, "url": str(file), "text": "**Look**"})

    assert message["caption"] == "Look"
    assert message["caption_entities"] == [{"type": "bold", "offset": 0, "length": 4}]
    assert kind in message


async def test_an_address_is_given_to_telegram_as_it_is(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        (message,) = await shown(
            world, bot, {"type": "document", "url": "https://example.org/report.pdf"}
        )

    assert "document" in message
    assert "caption" not in message


async def test_a_caption_that_is_too_long_follows_its_file_as_text(world: World) -> None:
    world.install("notes")
    words = "word " * 400
    async with world.running() as bot:
        file, text = await shown(
            world, bot, {"type": "photo", "url": "https://example.org/a.png", "text": words}
        )

    assert "caption" not in file
    assert text["text"] == words.strip()


async def test_a_file_that_is_not_there_is_told_to_the_model(world: World) -> None:
    world.install("notes")
    missing = own_file(world, "x.pdf", b"").with_name("gone.pdf")
    async with world.running() as bot:
        assert await shown(world, bot, {"type": "document", "url": str(missing)}) == []
        result = words_of(world.model.requests[-1]["messages"][-1])

    assert json.loads(result)["ok"] is False
    assert "gone.pdf cannot be read" in json.loads(result)["note"]


@pytest.fixture
async def large(tmp_path: Path) -> AsyncGenerator[World]:
    """A bot with a Bot API server of its own, in local mode."""
    home = Home(tmp_path / "large")
    home.create()
    async with LocalTelegram(local=True) as emulator, ModelServer() as model:
        yield World(home, emulator, model)
        assert await emulator.client.violations() == []


async def test_a_server_of_ones_own_gets_files_as_large_as_it_takes(large: World) -> None:
    """2,000 MB and not 50: core.telegram.org/bots/api#using-a-local-bot-api-server."""
    large.install("notes")
    file = own_file(large, "film.bin", bytes(60 * MB))
    async with large.running() as bot:
        (message,) = await shown(large, bot, {"type": "document", "url": str(file)})

    assert message["document"]["file_size"] == 60 * MB


async def test_what_no_server_takes_is_not_sent_at_all(large: World) -> None:
    large.install("notes")
    file = own_file(large, "film.bin", b"")
    with file.open("r+b") as hole:
        hole.truncate(2_000_000_001)
    async with large.running() as bot:
        assert await shown(large, bot, {"type": "document", "url": str(file)}) == []
        assert await bot.people.calls("sendDocument") == []

    note = json.loads(large.model.requests[-1]["messages"][-1]["content"])["note"]
    assert note == "film.bin has 2,000,000,001 bytes; at most 2,000,000,000 can be sent"


async def test_a_server_of_ones_own_that_is_not_in_local_mode_says_what_it_does_not_take(
    world: World,
) -> None:
    world.install("notes")
    file = own_file(world, "film.bin", bytes(51 * MB))
    async with world.running() as bot:
        assert await shown(world, bot, {"type": "document", "url": str(file)}) == []
        result = world.model.requests[-1]["messages"][-1]["content"]

    assert json.loads(result)["note"] == "the server takes no upload of this size (413)"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (png(9_000, 1_001), "PHOTO_INVALID_DIMENSIONS"),
        (png(100, 2_001), "PHOTO_INVALID_DIMENSIONS"),
        (PNG + bytes(10 * MB), ""),
    ],
    ids=["too large a sum", "too narrow", "too many bytes"],
)
async def test_a_photo_that_telegram_takes_as_none_is_shown_as_a_file(
    world: World, content: bytes, why: str
) -> None:
    """Width and height above 10,000, one 20 times the other, 10 MB: bots/api#sendphoto."""
    world.install("notes")
    file = own_file(world, "screen.png", content)
    async with world.running() as bot:
        wish = {"type": "photo", "url": str(file), "text": "**Look**"}
        (message,) = await shown(world, bot, wish)
        refused = [call["description"] for call in await bot.people.calls("sendPhoto")]

    assert message["document"]["file_name"] == "screen.png"
    assert (message["caption"], "photo" in message) == ("Look", False)
    assert refused == ([f"Bad Request: {why}"] if why else [])


async def test_a_photo_at_the_limits_stays_one(world: World) -> None:
    world.install("notes")
    file = own_file(world, "screen.png", png(9_520, 480))
    async with world.running() as bot:
        (message,) = await shown(world, bot, {"type": "photo", "url": str(file)})

    assert "photo" in message


async def test_a_terminal_gets_the_address_instead(world: World) -> None:
    """What a platform cannot show degrades with a note for the model."""
    world.install("notes")
    world.model.call("msg", {"type": "photo", "url": "https://example.org/a.png", "text": "A"})
    world.model.say("final")
    async with world.running() as bot:
        said_there, leave = bot.app.terminal.watch("local")
        await bot.app.inbox.submit(_terminal_inbound("local", "go"))
        first = await said_there.get()
        leave()
        await settled(bot)

    assert first["text"] == "A\nhttps://example.org/a.png"
    result = words_of(world.model.requests[-1]["messages"][-1])
    assert json.loads(result)["note"] == "photo not supported"
