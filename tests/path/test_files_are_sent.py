"""What `msg` can show besides words. Source: design §3.6; Bot API, "Sending files"."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.model_server import CallPart, words_of
from tests.path.looking import said, settled
from tests.path.world import ADA, Running, World

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 64


def own_file(world: World, name: str, content: bytes) -> Path:
    """A file in the data folder of the pack `notes` for Ada."""
    folder = world.home.pack_folder("notes", f"tg_{ADA}")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(content)
    return file


async def shown(world: World, bot: Running, *wishes: dict[str, str]) -> list[dict[str, object]]:
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


async def test_a_terminal_gets_the_address_instead(world: World) -> None:
    """What a platform cannot show degrades with a note for the model."""
    world.install("notes")
    world.model.call("msg", {"type": "photo", "url": "https://example.org/a.png", "text": "A"})
    world.model.say("final")
    async with world.running() as bot:
        said_there, leave = bot.app.terminal.watch("local")
        await bot.runtime._say({"chat": "local", "text": "go"})
        first = await said_there.get()
        leave()
        await settled(bot)

    assert first["text"] == "A\nhttps://example.org/a.png"
    result = words_of(world.model.requests[-1]["messages"][-1])
    assert json.loads(result)["note"] == "photo not supported"
