"""First bytes decide what a file is, whatever name and type it bears. Source: issue 30, 3."""

from __future__ import annotations

import io
import zipfile

import pytest

from aouo.plumbing import magic
from tests.fakes.models import ModelService
from tests.path.looking import prompts, settled
from tests.path.media.test_media_pictures import last_words, pictures
from tests.path.media.test_media_voice import ears
from tests.path.world import ADA, World

__all__ = ["ears"]
JPEG = b"\xff\xd8\xff\xe0" + bytes(40) + b"plums"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
HEIC = b"\0\0\0\x18ftypheic" + bytes(40)


def iso(brand: bytes, *handlers: bytes) -> bytes:
    boxes = b"".join(b"\0\0\0\x20hdlr" + bytes(8) + handler + bytes(12) for handler in handlers)
    return b"\0\0\0\x14ftyp" + brand + bytes(8) + bytes(5_000) + boxes


M4A, OPUS = iso(b"M4A "), b"OggS" + bytes(24) + b"OpusHead" + bytes(20)
RECORDING = iso(b"isom", b"soun")
FILM = iso(b"mp42", b"soun", b"vide")


def packed(*names: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return held.getvalue()


async def sent(world: World, content: bytes, name: str, mime_type: str) -> str:
    """What the bot says of a document."""
    async with world.running() as bot:
        file = await bot.people.send_file(
            ADA, ADA, "document", content, name=name, mime=mime_type, caption="plums?"
        )
        answer = await bot.people.next_message(ADA, after=file.id)
        await settled(bot)
    return answer.text


@pytest.mark.parametrize(
    ("content", "name", "mime_type", "shown"),
    [
        (JPEG, "IMG_12.jpg", "application/octet-stream", "image/jpeg"),
        (JPEG, "IMG_12.png", "image/png", "image/jpeg"),
        (PNG, "scan.png", "", "image/png"),
        (b"RIFF\x10\0\0\0WEBPVP8 " + bytes(20), "noname", "text/plain", "image/webp"),
        (JPEG + packed("a.txt"), "a.zip", "application/zip", "image/jpeg"),
    ],
)
async def test_a_picture_is_seen(
    world: World, content: bytes, name: str, mime_type: str, shown: str
) -> None:
    world.install("notes")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "on"}
    world.model.say("Plums.")

    assert await sent(world, content, name, mime_type) == "Plums."
    assert pictures(world.model.requests[-1]) == [content]
    assert shown in str(last_words(world.model.requests[-1]))


@pytest.mark.parametrize("content", [HEIC, iso(b"avif"), b"II*\0" + bytes(40)])
async def test_a_picture_in_another_form_is_not_passed_over(world: World, content: bytes) -> None:
    world.install("notes")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "on"}

    told = await sent(world, content, "IMG_4711.HEIC", "image/heic")

    assert "send it as a photo" in told
    assert not world.model.requests


async def test_what_only_claims_to_be_a_picture_is_a_file(world: World) -> None:
    world.install("notes")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "on"}
    world.model.say("ok")
    await sent(world, b"plain words", "a.png", "image/png")

    assert pictures(world.model.requests[-1]) == []
    assert prompts(world)[-1].startswith("[file a.png, 11 bytes;")


@pytest.mark.parametrize(
    ("content", "name", "mime_type"),
    [
        (M4A, "memo.m4a", "audio/mp4"),
        (RECORDING, "memo", "application/octet-stream"),
        (OPUS, "PTT-20261101-WA0003.opus", "audio/ogg"),
        (b"\xff\xfb\x90\0" + bytes(90), "a.bin", "application/octet-stream"),
        (b"RIFF\x10\0\0\0WAVEfmt " + bytes(90), "a.txt", "text/plain"),
    ],
)
async def test_a_recording_is_heard(
    world: World, ears: ModelService, content: bytes, name: str, mime_type: str
) -> None:
    ears.say("buy plums")
    world.model.say("Noted.")

    assert await sent(world, content, name, mime_type) == "Noted."
    told = prompts(world)[-1]
    assert told.startswith(f"[audio {name}")
    assert "buy plums" in told
    assert ears.files[0].data == content


async def test_a_recording_is_not_passed_over_where_nothing_hears(world: World) -> None:
    world.install("notes")

    assert "speech recognition is not set up" in await sent(world, OPUS, "a.opus", "audio/ogg")


async def test_a_film_is_no_recording(world: World, ears: ModelService) -> None:
    world.model.say("A film.")

    await sent(world, FILM, "a.m4a", "audio/mp4")

    assert not ears.files
    assert prompts(world)[-1].startswith("[file a.m4a, video/mp4")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("ppt/presentation.xml",), "a presentation; save it as PDF"),
        (("Index/Document.iwa",), "export it as PDF"),
        (("photos/1.jpg",), "an archive"),
    ],
)
async def test_what_is_packed_is_refused_with_what_helps(
    world: World, names: tuple[str, ...], told: str
) -> None:
    folder = world.home.packs / "reader"
    folder.mkdir()
    (folder / "pack.yml").write_text(
        "name: reader\nversion: 0.1.0\ndisplay_name: Reader\n"
        "permissions: {tools: [documents, files, msg]}\n"
    )
    world.model.say("ok")

    await sent(world, packed(*names), "talk.bin", "application/octet-stream")

    assert told in prompts(world)[-1]


def test_a_name_of_a_form_is_never_made_up() -> None:
    for nothing in (
        b"",
        b"BM is a text",
        b"\xff\xfeh\0i\0",
        b"plain",
        b"\0" * 50,
        b"RIFF",
    ):
        assert magic.type_of(nothing) == ""
