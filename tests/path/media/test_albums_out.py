"""Albums that `msg` shows. Source: design §3.6; core.telegram.org/bots/api#sendmediagroup."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import CallPart, words_of
from tests.path.looking import said, settled
from tests.path.media.test_files_are_sent import PNG, own_file, png
from tests.path.world import ADA, Running, World

WEB = "https://example.org"


async def shown(world: World, bot: Running, wish: dict[str, Any]) -> list[dict[str, Any]]:
    """Let the model show an album; the raw messages that people then see, the answer left out."""
    world.model.calls(CallPart("msg", {"type": "album", **wish}))
    world.model.say("final")
    await bot.people.say(ADA, ADA, "go")
    await said(world, "final")
    await settled(bot)
    return [m.raw for m in await bot.people.messages(ADA) if m.from_bot and m.text != "final"]


def result(world: World) -> str:
    return words_of(world.model.requests[-1]["messages"][-1])


def albums(messages: Sequence[dict[str, Any]]) -> list[list[str]]:
    """What was shown, an album or a message an entry: the kinds of its files, or its text."""
    found: dict[str, list[str]] = {}
    kinds = ("photo", "video", "audio", "document", "text")
    for number, message in enumerate(messages):
        place = message.get("media_group_id", str(number))
        found.setdefault(place, []).append(next(kind for kind in kinds if kind in message))
    return list(found.values())


@pytest.fixture(autouse=True)
def pack(world: World) -> None:
    world.install("notes")


@pytest.mark.parametrize("as_list", [True, False, "json"])
async def test_files_and_addresses_are_one_album_with_the_caption_on_the_first(
    world: World, as_list: bool | str
) -> None:
    own_file(world, "a b, c.png", PNG)
    items = ["a b, c.png", f"{WEB}/b.jpg", f"{WEB}/c.mp4"]
    url = items if as_list is True else json.dumps(items) if as_list else "\n".join(items)
    async with world.running() as bot:
        messages = await shown(world, bot, {"url": url, "text": "**Look**"})
        calls = await bot.people.calls("sendMediaGroup")

    assert albums(messages) == [["photo", "photo", "video"]]
    assert [message.get("caption") for message in messages] == ["Look", None, None]
    assert messages[0]["caption_entities"] == [{"type": "bold", "offset": 0, "length": 4}]
    assert len(calls) == 1
    assert json.loads(result(world)) == {
        "ok": True,
        "message_id": messages[0]["message_id"],
        "sent_content": True,
    }


async def test_a_closed_file_among_good_ones_stops_the_whole_album(world: World) -> None:
    """Every path of an album is judged: nothing of the home goes out beside a good picture."""
    own_file(world, "a.png", PNG)
    secret = world.home.config
    for number, items in enumerate(
        (
            ["a.png", str(secret), f"{WEB}/b.jpg"],
            [f"{WEB}/b.jpg", "a.png", f"../../../../{secret.name}"],
            [f"{WEB}/b.jpg", str(secret)],
        )
    ):
        for url in (items, json.dumps(items), "\n".join(items), "\\n".join(items)):
            async with world.running() as bot:
                assert await shown(world, bot, {"url": url}) == [], (number, url)
                assert "closed to tools" in result(world)
            await forget(world)
    assert await world.people.calls("sendMediaGroup") == []


async def forget(world: World) -> None:
    """Take away what was said, so that the next album is looked at alone."""
    for message in await world.people.messages(ADA):
        await world.people.delete(ADA, ADA, message.id)


async def test_a_file_outside_of_the_fence_stops_the_whole_album(
    world: World, tmp_path: Path
) -> None:
    own_file(world, "a.png", PNG)
    other = tmp_path / "b.png"
    other.write_bytes(PNG)
    async with world.running() as bot:
        assert await shown(world, bot, {"url": f"a.png\n{other}"}) == []

    assert "not among the files of this pack" in result(world)


async def test_a_link_in_the_packs_folder_is_no_way_into_an_album(world: World) -> None:
    file = own_file(world, "a.png", PNG)
    (file.parent / "b.png").symlink_to(world.home.config)
    async with world.running() as bot:
        assert await shown(world, bot, {"url": "a.png\nb.png"}) == []

    assert "closed to tools" in result(world)


async def test_more_than_ten_become_albums_of_nearly_the_same_size(world: World) -> None:
    """An album has 2 to 10 items."""
    items = [f"{WEB}/{number}.jpg" for number in range(21)]
    async with world.running() as bot:
        messages = await shown(world, bot, {"url": items, "text": "All"})

    assert albums(messages) == [["photo"] * 7] * 3
    assert [message["caption"] for message in messages if "caption" in message] == ["All"]


async def test_a_single_item_is_a_message_with_its_buttons(world: World) -> None:
    async with world.running() as bot:
        (message,) = await shown(
            world, bot, {"url": f"{WEB}/a.png", "text": "One", "buttons": [["Yes|yes"]]}
        )

    assert "photo" in message
    assert "media_group_id" not in message
    assert (message["caption"], "reply_markup" in message) == ("One", True)


async def test_what_cannot_be_in_one_album_is_shown_in_several(world: World) -> None:
    """Documents and audio go only among themselves."""
    names = ("a.jpg", "b.pdf", "c.mp3", "d.mp4", "e.pdf", "f.mp3", "g", "h.txt")
    async with world.running() as bot:
        messages = await shown(world, bot, {"url": [f"{WEB}/{name}" for name in names]})

    assert albums(messages) == [["photo", "video", "photo"], ["document"] * 3, ["audio"] * 2]


async def test_buttons_follow_an_album_with_its_words(world: World) -> None:
    """An album has no keyboard."""
    url = f"{WEB}/a.jpg\n{WEB}/b.jpg"
    async with world.running() as bot:
        *pictures, below = await shown(
            world, bot, {"url": url, "text": "Which?", "buttons": [["A|a", "B|b"]]}
        )
        await forget(world)
        *_, alone = await shown(world, bot, {"url": url, "buttons": [["A|a"]]})

    assert [message.get("caption") for message in pictures] == [None, None]
    assert (below["text"], len(below["reply_markup"]["inline_keyboard"][0])) == ("Which?", 2)
    assert "reply_markup" in alone


async def test_a_caption_that_is_too_long_follows_the_album(world: World) -> None:
    words = "word " * 400
    async with world.running() as bot:
        first, second, text = await shown(
            world, bot, {"url": f"{WEB}/a.jpg\n{WEB}/b.jpg", "text": words}
        )

    assert "caption" not in first
    assert "caption" not in second
    assert text["text"] == words.strip()


async def test_an_album_may_answer_a_message(world: World) -> None:
    async with world.running() as bot:
        messages = await shown(world, bot, {"url": f"{WEB}/a.jpg\n{WEB}/b.jpg", "reply_to": "user"})

    assert {message["reply_to_message"]["text"] for message in messages} == {"go"}


async def test_a_file_that_is_not_there_shows_nothing_and_is_told_to_the_model(
    world: World,
) -> None:
    own_file(world, "a.png", PNG)
    async with world.running() as bot:
        assert await shown(world, bot, {"url": "a.png\ngone.png"}) == []

    assert json.loads(result(world))["ok"] is False
    assert "gone.png cannot be read" in json.loads(result(world))["note"]


async def test_an_album_is_no_larger_than_one_upload(world: World) -> None:
    """2,000 MB with a server of one's own: core.telegram.org/bots/api#using-a-local-bot-api-server.

    The files have holes: they take no room on the disk, and are not read.
    """
    for name in ("a.pdf", "b.pdf"):
        with own_file(world, name, b"%PDF").open("r+b") as file:
            file.truncate(1_000_000_001)
    async with world.running() as bot:
        assert await shown(world, bot, {"url": "a.pdf\nb.pdf"}) == []
        assert await bot.people.calls("sendMediaGroup") == []

    assert "may have 2,000,000,000 bytes together" in json.loads(result(world))["note"]


async def test_an_album_with_a_photo_that_telegram_takes_as_none_is_shown_as_files(
    world: World,
) -> None:
    """Telegram does not say which photo it is, and files go together with files only."""
    own_file(world, "a.png", PNG)
    own_file(world, "b.png", png(9_000, 1_001))
    async with world.running() as bot:
        wish = {"url": f"a.png\nb.png\n{WEB}/c.mp4", "text": "Look", "buttons": []}
        messages = await shown(world, bot, wish)
        calls = await bot.people.calls("sendMediaGroup")

    assert albums(messages) == [["document", "document", "document"]]
    assert [m["document"].get("file_name") for m in messages] == ["a.png", "b.png", None]
    assert messages[0]["caption"] == "Look"
    assert [call["description"] for call in calls] == [
        "Bad Request: PHOTO_INVALID_DIMENSIONS",
        "",
    ]
    assert json.loads(result(world))["ok"] is True


async def test_an_album_with_a_photo_that_is_too_large_is_shown_as_files_at_once(
    world: World,
) -> None:
    own_file(world, "a.png", PNG)
    own_file(world, "b.png", PNG + bytes(10 * 1024 * 1024))
    async with world.running() as bot:
        messages = await shown(world, bot, {"url": "a.png\nb.png"})
        calls = await bot.people.calls("sendMediaGroup")

    assert (albums(messages), len(calls)) == ([["document", "document"]], 1)


async def test_an_album_without_files_is_explained_to_the_model(world: World) -> None:
    async with world.running() as bot:
        assert await shown(world, bot, {"url": [" "]}) == []

    assert "needs addresses or paths in url, one a line" in result(world)
