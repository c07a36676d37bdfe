"""A person replies to a picture or a file. Source: issue 4 (what a Telegram user expects).

What is only referred to is done without when it cannot be had: the words stand by themselves.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.path.looking import PHOTO_LINE, prompts, said, settled
from tests.path.media.test_media_pictures import PICTURE, last_words, pictures
from tests.path.world import ADA, Running, World

MORE_THAN_A_BOT_GETS = 20 * 1024 * 1024 + 1


@pytest.fixture(autouse=True)
def pack(world: World) -> None:
    world.install("notes")


async def send(bot: Running, kind: Any, content: bytes, **more: Any) -> int:
    """Send a file, have it answered, and return the message's id."""
    sent = await bot.people.send_file(ADA, ADA, kind, content, **more)
    await bot.people.next_message(ADA, after=sent.id)
    await settled(bot)
    return sent.id


async def test_a_reply_to_a_picture_shows_it_again(world: World) -> None:
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "on"}
    async with world.running() as bot:
        photo = await send(bot, "photo", PICTURE)
        world.model.say("Red.")
        await bot.people.say(ADA, ADA, "which colour?", reply_to=photo)
        await said(world, "Red.")

    request = world.model.requests[-1]
    assert pictures(request) == [PICTURE]
    (words,) = (part["text"] for part in last_words(request) if part["type"] == "text")
    assert words == f'[in reply to Ada: "a picture"]\n{PHOTO_LINE}\nwhich colour?'


async def test_a_reply_to_a_picture_needs_no_model_that_sees(world: World) -> None:
    """The picture alone cannot be answered here; words below it can."""
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "off"}
    async with world.running() as bot:
        sent = await bot.people.send_file(ADA, ADA, "photo", PICTURE)
        refused = await bot.people.next_message(ADA, after=sent.id)
        world.model.say("You are welcome.")
        await bot.people.say(ADA, ADA, "thanks", reply_to=sent.id)
        await said(world, "You are welcome.")

    assert "picture" in refused.text
    assert prompts(world) == ['[in reply to Ada: "a picture"]\nthanks']


async def test_a_reply_to_a_file_that_is_too_large_is_a_reply_without_it(world: World) -> None:
    async with world.running() as bot:
        file = await send(bot, "document", b"x" * MORE_THAN_A_BOT_GETS, name="film.bin")
        world.model.say("Yes.")
        await bot.people.say(ADA, ADA, "did you get it?", reply_to=file)
        await said(world, "Yes.")

    assert prompts(world) == ['[in reply to Ada: "a file"]\ndid you get it?']


async def test_a_skill_called_below_a_picture_has_it(world: World) -> None:
    world.install("vocab")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "on"}
    async with world.running() as bot:
        await bot.ask("/use vocab")
        photo = await send(bot, "photo", PICTURE)
        world.model.say("Fine.")
        await bot.people.say(ADA, ADA, "/study these words", reply_to=photo)
        await said(world, "Fine.\n\n— vocab")

    assert pictures(world.model.requests[-1]) == [PICTURE]
