"""What somebody keeps follows them from the private chat to a topic; elsewhere it is offered.

Source: issue 28.
"""

from __future__ import annotations

import pytest

from aouo.emulator import FAMILY, HOUSEHOLD, NOTES, ChatMessage
from aouo.words.catalogue import speaking, text
from tests.path.looking import settled
from tests.path.world import ADA, BEN, Running, World


@pytest.fixture(autouse=True)
def packs(world: World) -> None:
    world.install("notes", "remind")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}


async def asked(
    bot: Running, words: str, *, user: int = ADA, chat: int = 0, thread: int | None = None
) -> list[ChatMessage]:
    """All that the bot says to these words."""
    said = await bot.people.say(user, chat or user, words, thread=thread)
    await bot.people.next_message(said.chat_id, after=said.id, thread=thread)
    await settled(bot)
    found = await bot.people.messages(said.chat_id, thread)
    return [one for one in found if one.from_bot and one.id > said.id]


async def tapped(bot: Running, on: ChatMessage, name: str, user: int = ADA) -> ChatMessage:
    """What a message became once somebody tapped a button of it."""
    data = next(one.data for one in on.buttons if one.text == text(f"places.do-{name}"))
    await bot.people.tap(user, on.chat_id, on.id, data)
    await settled(bot)
    thread = NOTES if on.chat_id == HOUSEHOLD else None
    return next(one for one in await bot.people.messages(on.chat_id, thread) if one.id == on.id)


async def test_a_topic_shows_its_person_what_they_keep_and_nobody_else(world: World) -> None:
    there = {"chat": HOUSEHOLD, "thread": NOTES}
    async with world.running() as bot:
        await asked(bot, "note: the key is under the mat")
        answer, told = await asked(bot, "my notes", **there)
        assert "the key is under the mat" in answer.text
        assert told.text == text("places.group-mine", pack="Notes")
        (again,) = await asked(bot, "my notes", **there)
        assert again.text == answer.text
        (bens,) = await asked(bot, "my notes", user=BEN, **there)
        assert "the key" not in bens.text

        assert (await tapped(bot, told, "group-own", BEN)).text == told.text
        own = await tapped(bot, told, "group-own")
        assert own.text == text("places.group-own", pack="Notes")
        assert "the key" not in (await asked(bot, "my notes", **there))[0].text
        await tapped(bot, own, "group-all")
    async with world.running() as bot:
        assert "the key" in (await asked(bot, "my notes", user=BEN, **there))[0].text


async def test_a_group_keeps_its_own_and_may_be_given_what_somebody_has(world: World) -> None:
    async with world.running() as bot:
        name = (await world.people.act("state"))["bot"]["username"]
        await asked(bot, "note: buy bread")
        answer, told = await asked(bot, f"@{name} my notes", chat=FAMILY)
        assert "buy bread" not in answer.text
        assert told.text == text("places.group-own", pack="Notes")
        shared = await tapped(bot, told, "group-all")
        assert shared.text == text("places.group-all", pack="Notes")
        await asked(bot, f"@{name} note: and butter", user=BEN, chat=FAMILY)
        assert "butter" in (await asked(bot, "my notes"))[0].text


async def test_the_private_chat_may_use_what_was_kept_in_a_topic(world: World) -> None:
    there = {"chat": HOUSEHOLD, "thread": NOTES}
    async with world.running() as bot:
        await asked(bot, "note: the boiler is serviced in May", **there)
        answer, told = await asked(bot, "my notes")
        assert "boiler" not in answer.text
        where = text("places.group")
        assert told.text == text("places.private-own", pack="Notes", where=where)
        await tapped(bot, told, "private-mine")
        assert "boiler" in (await asked(bot, "my notes"))[0].text


async def test_reminders_follow_too_and_it_is_said_in_german(world: World) -> None:
    there = {"chat": HOUSEHOLD, "thread": NOTES}
    async with world.running() as bot:
        await bot.ask("/language de")
        await asked(bot, "erinnere mich morgen um 8 ans Brot")
        await asked(bot, "/use remind", **there)
        answer, told = await asked(bot, "meine Erinnerungen", **there)
        assert "Brot" in answer.text
        with speaking("de"):
            assert told.text == text("places.group-mine", pack="Erinnerungen")


async def test_the_menu_of_a_topic_is_its_persons_too(world: World) -> None:
    there = {"chat": HOUSEHOLD, "thread": NOTES}
    async with world.running() as bot:
        await asked(bot, "note: the key is under the mat")
        page = await asked(bot, "/menu", **there)
        assert text("places.group-mine", pack="Notes") in [one.text for one in page]
        assert (await asked(bot, "my notes", **there))[0].text


async def test_before_a_pack_is_chosen_the_menu_is_that_of_the_one_that_answers(
    world: World,
) -> None:
    async with world.running() as bot:
        assert (await bot.ask("/menu")).text.startswith("Notes")
        assert "Which pack" not in (await bot.ask("/memory")).text
