"""A person edits the words under a picture or a file. Source: issue 4 (inbound)."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import CallPart, Says
from tests.path.coming_in.test_edits import applied, offered, wait_until_asked
from tests.path.looking import prompts, said, settled
from tests.path.world import ADA, World


@pytest.fixture(autouse=True)
def pack(world: World) -> None:
    world.install("notes")


NOTE = b"milk, bread"


async def test_the_words_under_a_file_that_waits_are_replaced(world: World) -> None:
    world.model.reply(Says("First.", stall_after=0))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await wait_until_asked(world)
        file = await bot.people.send_file(ADA, ADA, "document", NOTE, name="a.txt", caption="tow")
        await bot.people.edit(ADA, ADA, file.id, "two")
        assert await applied(bot, 1) == ["replaced before its turn"]
        world.model.release.set()
        await said(world, "First.")
        await settled(bot)

    assert prompts(world)[-1].endswith("]\ntwo")


async def test_the_words_under_one_item_of_an_album_are_replaced(world: World) -> None:
    world.model.reply(Says("First.", stall_after=0))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await wait_until_asked(world)
        files = [
            await bot.people.send_file(
                ADA, ADA, "document", NOTE, name=f"{n}.txt", caption=f"list {n}", album="g"
            )
            for n in (1, 2)
        ]
        await bot.people.edit(ADA, ADA, files[1].id, "the second list")
        assert await applied(bot, 1) == ["replaced before its turn"]
        world.model.release.set()
        await settled(bot)

    assert "\nlist 1\n" in prompts(world)[-1]
    assert prompts(world)[-1].endswith("\nthe second list")


async def test_a_turn_that_runs_is_told_of_the_new_words(world: World) -> None:
    world.model.reply(
        Says(calls=(CallPart("memory", {"target": "user", "action": "read"}),), stall_after=0),
        Says("Both then."),
    )
    async with world.running() as bot:
        file = await bot.people.send_file(ADA, ADA, "document", NOTE, name="a.txt", caption="add")
        await wait_until_asked(world)
        await bot.people.edit(ADA, ADA, file.id, "add both")
        await applied(bot, 1)
        world.model.release.set()
        await said(world, "Both then.")
        await settled(bot)

    assert prompts(world)[-1] == "[the person edited their message: add both]"


async def test_what_was_answered_is_offered_with_the_new_words(world: World) -> None:
    async with world.running() as bot:
        file = await bot.people.send_file(ADA, ADA, "document", NOTE, name="a.txt", caption="ad")
        await bot.people.next_message(ADA, after=file.id)
        await settled(bot)
        await bot.people.edit(ADA, ADA, file.id, "add")
        offer = await offered(world)
        await bot.people.tap(ADA, ADA, offer.id, offer.buttons[0].data)
        await settled(bot)

    assert [words.rpartition("\n")[2] for words in prompts(world)] == ["ad", "add"]


async def test_a_command_under_a_file_never_runs_again(world: World) -> None:
    async with world.running() as bot:
        await bot.people.send_file(ADA, ADA, "document", NOTE, name="a.txt", caption="/help")
        help_text = await bot.people.next_message(ADA)
        await settled(bot)
        file = help_text.id - 1
        await bot.people.edit(ADA, ADA, file, "/help me")
        assert await applied(bot, 1) == ["a command runs once"]
        await settled(bot)

        assert (await bot.people.messages(ADA))[-1].id == help_text.id
