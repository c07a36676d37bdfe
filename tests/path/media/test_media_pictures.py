"""A person sends a picture. Source: issue 4 (inbound), design 3.1.4."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from aouo.emulator.description import Upload
from tests.fakes.clock import FastClock
from tests.fakes.gemini_server import GeminiServer, over_quota, retry_in
from tests.fakes.model_server import Body, Says, words_of
from tests.path.looking import PHOTO_LINE, cut_off, said, settled
from tests.path.models.test_budgets import REFUSED, budgets, button
from tests.path.world import ADA, Running, World

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(40) + b"a red bicycle"


@pytest.fixture(autouse=True)
def pack(world: World) -> None:
    world.install("notes")


@pytest.fixture
def sees(world: World) -> None:
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "on"}


@pytest.fixture
def blind(world: World) -> None:
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "off"}


async def show(bot: Running, **more: Any) -> None:
    await bot.people.send_file(ADA, ADA, "photo", PICTURE, **more)


def last_words(body: Body) -> Any:
    """What the person said last in a request: words, or parts with pictures."""
    newest = next(m for m in reversed(body["messages"]) if m["role"] == "user")
    words = words_of(newest)
    if isinstance(newest["content"], str):
        return words
    text = [{"type": "text", "text": words}] if words else []
    return text + [part for part in newest["content"] if part["type"] != "text"]


def pictures(body: Body) -> list[bytes]:
    """All pictures of a request."""
    parts = [
        part
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    urls = [part["image_url"]["url"] for part in parts]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


async def test_a_picture_and_its_caption_reach_a_model_that_sees(world: World, sees: None) -> None:
    world.model.say("A red bicycle.")
    async with world.running() as bot:
        await show(bot, caption="what is this?")
        await said(world, "A red bicycle.")
        await settled(bot)

    (request,) = world.model.requests
    assert pictures(request) == [PICTURE]
    (words,) = (part["text"] for part in last_words(request) if part["type"] == "text")
    assert words == f"{PHOTO_LINE}\nwhat is this?"


async def test_of_the_sizes_of_a_picture_the_largest_one_is_seen(world: World, sees: None) -> None:
    """Telegram sends several, the smallest first: at 90 pixels no text can be read."""
    large = PICTURE[:16] + (1280).to_bytes(4, "big") + (960).to_bytes(4, "big") + PICTURE[24:]
    world.model.say("A red bicycle.")
    async with world.running() as bot:
        shown = await bot.people.send_file(ADA, ADA, "photo", large, caption="what is this?")
        await said(world, "A red bicycle.")
        await settled(bot)

    assert len(shown.raw["photo"]) == 4
    assert pictures(world.model.requests[0]) == [large]


async def test_the_next_turn_has_a_line_for_the_picture_and_not_the_picture(
    world: World, sees: None
) -> None:
    async with world.running() as bot:
        await show(bot, caption="what is this?")
        await bot.people.next_message(ADA)
        await bot.ask("and what colour was it?")
        await settled(bot)

    request = world.model.requests[-1]
    assert pictures(request) == []
    assert f"{PHOTO_LINE}\nwhat is this?" in [words_of(m) for m in request["messages"]]


async def test_a_picture_that_came_as_a_file_is_seen_too_and_keeps_its_path(
    world: World, sees: None
) -> None:
    world.model.say("A bicycle again.")
    async with world.running() as bot:
        await bot.people.send_file(ADA, ADA, "document", PICTURE, name="bike.png", mime="image/png")
        await said(world, "A bicycle again.")

    (request,) = world.model.requests
    assert pictures(request) == [PICTURE]
    assert "bike.png, image/png" in str(last_words(request))
    assert "seen in this turn only" in str(last_words(request))
    assert "no tool" not in str(last_words(request))


async def test_a_model_that_cannot_see_gets_no_picture_and_the_person_reads_what_helps(
    world: World, blind: None
) -> None:
    async with world.running() as bot:
        await show(bot, caption="what is this?")
        answer = await bot.people.next_message(ADA)
        await settled(bot)

        assert await bot.people.calls("getFile") == []
    assert answer.text.startswith("I cannot see pictures")
    assert "gemini.vision_model" in answer.text
    assert world.model.requests == []


async def test_a_model_that_cannot_see_reads_what_another_one_saw(world: World) -> None:
    async with GeminiServer(api_key="g-key") as eyes:
        world.config["gemini"] = {
            "base_url": eyes.base_url,
            "api_key": "g-key",
            "vision_model": "gemini-2.5-flash",
        }
        eyes.say("A red bicycle against a wall.")
        world.model.say("It is a bicycle.")
        async with world.running() as bot:
            await show(bot, caption="what is this?")
            await said(world, "It is a bicycle.")
            await settled(bot)
            spent = await bot.rows("SELECT scope, model FROM usage_events ORDER BY id")

    (looked,) = eyes.requests
    assert "Its sender wrote: what is this?" in str(looked)
    (request,) = world.model.requests
    assert re.fullmatch(
        r"\[photo; another model looked at it and says:\]\n"
        r'<untrusted source="photo" id="(\w+)">\nA red bicycle against a wall\.\n</untrusted \1>\n'
        r"what is this\?",
        last_words(request),
    )
    assert [row["scope"] for row in spent][:1] == ["vision"]


async def test_another_model_that_fails_is_said_and_nothing_is_made_up(world: World) -> None:
    async with GeminiServer(api_key="another") as eyes:
        world.config["gemini"] = {
            "base_url": eyes.base_url,
            "api_key": "g-key",
            "vision_model": "gemini-2.5-flash",
        }
        async with world.running() as bot:
            await show(bot)
            answer = await bot.people.next_message(ADA)
            await settled(bot)

    assert answer.text.startswith("I could not look at your picture: ")
    assert world.model.requests == []


@pytest.fixture
async def eyes(world: World) -> AsyncGenerator[GeminiServer]:
    """A model that looks at pictures for one that cannot."""
    async with GeminiServer(api_key="g-key") as server:
        world.config["gemini"] = {
            "base_url": server.base_url,
            "api_key": "g-key",
            "vision_model": "gemini-2.5-flash",
        }
        yield server


CANNOT_LOOK = "I could not look at your picture: the model for it "


async def test_eyes_that_are_busy_are_asked_three_times(world: World, eyes: GeminiServer) -> None:
    eyes.decline(503)
    eyes.decline(503)
    eyes.say("A red bicycle.")
    world.model.say("It is a bicycle.")
    async with world.running() as bot:
        await show(bot)
        await said(world, "It is a bicycle.")
        await settled(bot)

    assert len(eyes.requests) == 3


BUSY = "is busy or cannot be reached. Send it again in a minute."


@pytest.mark.parametrize(
    ("status", "details", "told", "tries"),
    [
        (503, (), BUSY, 3),
        (429, (retry_in(40),), BUSY, 1),
        (429, (over_quota("PerDay"),), "has used up its quota of the day.", 1),
        (401, (), "refuses our key. The owner finds out more with: aouo doctor", 1),
        (400, (), "does not take it. Send it in another form, or write it.", 1),
    ],
    ids=["busy", "busy for long", "used up", "key", "refused"],
)
async def test_eyes_that_fail_are_said_with_what_helps(
    world: World,
    eyes: GeminiServer,
    status: int,
    details: tuple[Body, ...],
    told: str,
    tries: int,
) -> None:
    """Those that ask for more patience than a person has with a picture are asked once."""
    for _ in range(tries):
        eyes.decline(status, "", *details)
    async with world.running() as bot:
        await show(bot)
        answer = await bot.people.next_message(ADA)
        await settled(bot)

    assert answer.text.startswith(CANNOT_LOOK + told)
    assert (len(eyes.requests), world.model.requests) == (tries, [])


async def test_eyes_that_say_nothing_are_said_and_were_paid(
    world: World, eyes: GeminiServer
) -> None:
    eyes.reply(Says("", usage=(10, 0, 5)))
    async with world.running() as bot:
        await show(bot)
        answer = await bot.people.next_message(ADA)
        await settled(bot)
        spent = await bot.rows("SELECT scope FROM usage_events")

    assert answer.text == f"{CANNOT_LOOK}said nothing. Send it again, or describe it."
    assert (world.model.requests, spent) == ([], [{"scope": "vision"}])


async def test_no_eyes_look_when_the_day_has_spent_its_tokens(
    world: World, eyes: GeminiServer
) -> None:
    world.config["advanced"] = {"daily_tokens_max": 10}
    async with world.running() as bot:
        await bot.ask("hello")
        await show(bot)
        told = await bot.people.next_message(ADA, contains="tokens")
        await settled(bot)

    assert told.text.startswith("The daily limit is reached: 15 of 10 tokens.")
    assert eyes.requests == []


@pytest.mark.parametrize(
    ("status", "tries", "told"),
    [
        (500, 4, "I could not download your picture. Please send it again in a minute."),
        (400, 1, "Your picture is not to be had any more. Please send it again."),
    ],
)
async def test_a_picture_that_cannot_be_downloaded_is_to_be_sent_again(
    world: World, sees: None, status: int, tries: int, told: str
) -> None:
    async with world.running() as bot:
        await bot.people.fault("status", method="getFile", status=status, times=9)
        await show(bot)
        await said(world, told)
        await settled(bot)
        calls = await bot.people.calls("getFile")

    assert (len(calls), world.model.requests) == (tries, [])


async def test_a_retry_looks_at_the_same_picture(world: World, sees: None) -> None:
    world.model.say("A cat.")
    world.model.say("A bicycle.")
    async with world.running() as bot:
        await show(bot, caption="what is this?")
        await said(world, "A cat.")
        await bot.people.say(ADA, ADA, "/retry")
        await said(world, "A bicycle.")
        await settled(bot)

    assert [pictures(request) for request in world.model.requests] == [[PICTURE], [PICTURE]]


async def test_a_retry_that_a_budget_refused_looks_at_the_same_picture(
    world: World, sees: None
) -> None:
    provider = world.config["provider"]
    budgets(world, daily_usd=0.01)
    world.config["provider"], world.clock = provider, FastClock()
    world.model.say("A bicycle.")
    async with world.running() as bot:
        await show(bot, caption="what is this?")
        first = await bot.people.next_message(ADA, contains=REFUSED)
        await bot.people.say(ADA, ADA, "/retry")
        shown = await bot.people.next_message(ADA, contains=REFUSED, after=first.id)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "Raise"))
        await said(world, "A bicycle.")
        await settled(bot)

    assert [pictures(request) for request in world.model.requests] == [[PICTURE]]


async def test_a_turn_that_is_taken_up_has_its_picture(world: World, sees: None) -> None:
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await show(bot, caption="what is this?")
        await world.model.stalled.wait()
        await cut_off(bot)
    world.model.say("A bicycle.")
    async with world.running() as bot:
        await said(world, "A bicycle.")
        await settled(bot)
        assert len(await bot.people.calls("getFile")) == 1

    assert pictures(world.model.requests[-1]) == [PICTURE]


async def test_a_command_under_a_picture_is_obeyed(world: World, sees: None) -> None:
    async with world.running() as bot:
        await show(bot, caption="/whereami")
        answer = await bot.people.next_message(ADA)
        await settled(bot)

    assert answer.text.startswith("Platform: tg")
    assert world.model.requests == []


async def test_a_picture_off_the_record_leaves_nothing(world: World, sees: None) -> None:
    world.model.say("I see.")
    async with world.running() as bot:
        await show(bot, caption="/otr what is this?")
        await said(world, "I see.")
        await settled(bot)
        bodies = await bot.rows(
            "SELECT body FROM updates UNION ALL SELECT body FROM jobs "
            "UNION ALL SELECT text FROM messages UNION ALL SELECT path FROM media"
        )

        async def gone() -> bool:
            return not list(world.home.media.rglob("*.jpg"))

        await settled(bot)
        assert await gone()
    assert pictures(world.model.requests[0]) == [PICTURE]
    assert not any("what is this" in row["body"] for row in bodies)


LIVE = {
    "file_id": "live",
    "file_unique_id": "u",
    "width": 9,
    "height": 9,
    "duration": 3,
    "mime_type": "video/mp4",
}
STILL = {"file_id": "still", "file_unique_id": "v", "width": 9, "height": 9}


@pytest.mark.parametrize("fields", [{"photo": [STILL]}, {}], ids=["with a photo", "alone"])
async def test_a_live_photo_is_seen_or_is_a_video_if_it_comes_alone(
    world: World, sees: None, fields: dict[str, Any]
) -> None:
    """Source: core.telegram.org/bots/api#livephoto; its own photo may be missing."""
    still = Upload("still.png", "image/png", PICTURE)
    world.emulator.world.files |= {"still": still, "live": Upload("live.mp4", "video/mp4", b"mp4")}
    world.model.say("I see.")
    async with world.running() as bot:
        await bot.people.send_other(ADA, ADA, {"live_photo": LIVE | fields, "caption": "this?"})
        await bot.people.next_message(ADA)
        await settled(bot)

    assert len(pictures(world.model.requests[0])) == len(fields)
    assert ("video" in str(last_words(world.model.requests[0]))) == (not fields)
