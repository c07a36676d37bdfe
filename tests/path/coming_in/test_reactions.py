"""Reactions: kept with their message, told to the model with the next turn, answered by nobody.

Source: issue 4 (inbound).
"""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from aouo.emulator import FAMILY, HOUSEHOLD, VOCAB
from tests.path.looking import answers, eventually, prompts, said, settled
from tests.path.world import ADA, BEN, Running, World


@pytest.fixture(autouse=True)
def installed(world: World) -> None:
    world.install("notes")


async def kept(bot: Running, count: int) -> list[dict[str, object]]:
    """The reactions, once so many updates of the kind are dealt with."""

    async def look() -> bool:
        rows = await bot.rows("SELECT body FROM jobs WHERE state = 'done'")
        return sum('"Reacted"' in row["body"] for row in rows) >= count

    await eventually(look)
    return await bot.rows("SELECT message_id, person, name, emoji, told FROM reactions")


async def test_a_reaction_is_kept_and_told_once_with_the_next_message(world: World) -> None:
    async with world.running() as bot:
        answer = await bot.ask("Shall I bring cake?")
        with capture_logs() as logs:
            await bot.people.react(ADA, ADA, answer.id, "👍")
            rows = await kept(bot, 1)
            assert await answers(world) == ["Shall I bring cake?"]
            await bot.people.say(ADA, ADA, "And tea?")
            await said(world, "[the person reacted 👍 to: Shall I bring cake?]\nAnd tea?")
        await bot.people.say(ADA, ADA, "And milk?")
        await said(world, "And milk?")
        await settled(bot)

    assert rows == [
        {"message_id": answer.id, "person": str(ADA), "name": "Ada", "emoji": "👍", "told": 0}
    ]
    assert prompts(world) == [
        "Shall I bring cake?",
        "[the person reacted 👍 to: Shall I bring cake?]\nAnd tea?",
        "And milk?",
    ]
    assert [line["emoji"] for line in logs if line["event"] == "reacted"] == ["👍"]


async def test_the_newest_reaction_counts_and_one_taken_back_does_not(world: World) -> None:
    async with world.running() as bot:
        one, two = await bot.ask("one"), await bot.ask("two")
        await bot.people.react(ADA, ADA, one.id, "👍")
        await bot.people.react(ADA, ADA, one.id, "🔥")
        await bot.people.react(ADA, ADA, two.id, "👎")
        await bot.people.react(ADA, ADA, two.id, "")
        assert [row["emoji"] for row in await kept(bot, 4)] == ["🔥"]
        await bot.people.say(ADA, ADA, "three")
        await said(world, "[the person reacted 🔥 to: one]\nthree")


async def test_a_reaction_to_ones_own_message_quotes_it(world: World) -> None:
    async with world.running() as bot:
        world.model.say("Noted.")
        mine = await bot.people.say(ADA, ADA, "Buy milk")
        await said(world, "Noted.")
        await bot.people.react(ADA, ADA, mine.id, "👌")
        await kept(bot, 1)
        await bot.people.say(ADA, ADA, "next")
        await said(world, "[the person reacted 👌 to: Buy milk]\nnext")


async def test_in_a_group_it_is_said_who_reacted(world: World) -> None:
    async with world.running() as bot:
        answer = await bot.ask("@aouo_try_bot dinner at eight", chat=FAMILY)
        await bot.people.react(BEN, FAMILY, answer.id, "🎉")
        await kept(bot, 1)
        await bot.people.say(ADA, FAMILY, "@aouo_try_bot all right?")

        async def told() -> bool:
            return any(one.endswith(">\nall right?") for one in await answers(world, FAMILY))

        await eventually(told)
    assert '"a reaction of Ben"' in prompts(world)[-1]
    assert "\n[Ben reacted 🎉 to: dinner at eight]\n<" in prompts(world)[-1]


async def test_a_reaction_in_a_topic_is_told_in_that_topic_only(world: World) -> None:
    """Telegram does not say the topic of a reaction; the message it is on does."""
    world.install("vocab")
    async with world.running() as bot:
        hund = await bot.ask("der Hund", chat=HOUSEHOLD, thread=VOCAB)
        await bot.people.react(ADA, HOUSEHOLD, hund.id, "❤")
        await kept(bot, 1)
        other = await bot.ask("milk", chat=HOUSEHOLD, thread=2)
        await bot.people.say(ADA, HOUSEHOLD, "die Katze", thread=VOCAB)
        await said(
            world,
            "[the person reacted ❤ to: der Hund]\ndie Katze".replace("the person", "Ada"),
            HOUSEHOLD,
            VOCAB,
        )

    assert other.text == "milk"


async def test_a_reaction_to_what_another_pack_said_waits_for_that_pack(world: World) -> None:
    """The prompt contains the active pack only. Source: design §3.2."""
    world.install("vocab")
    async with world.running() as bot:
        await bot.ask("/use notes")
        answer = await bot.ask("milk")
        await bot.people.react(ADA, ADA, answer.id, "👍")
        await kept(bot, 1)
        await bot.ask("/use vocab")
        await bot.people.say(ADA, ADA, "der Hund")
        await said(world, "der Hund\n\n— vocab")
        await bot.ask("/use notes")
        await bot.people.say(ADA, ADA, "bread")
        await said(world, "[the person reacted 👍 to: milk — notes]\nbread\n\n— notes")


async def test_a_stranger_and_unknown_messages_leave_nothing(world: World) -> None:
    async with world.running() as bot:
        eve = await bot.people.create_user("Eve")
        talk = await bot.people.say(BEN, FAMILY, "Not for the bot")
        await bot.people.react(ADA, FAMILY, talk.id, "👍")
        greeting = await bot.people.say(eve, eve, "Hi")
        refusal = await bot.people.next_message(eve, after=greeting.id)
        await bot.people.react(eve, eve, refusal.id, "👎")
        await bot.ask("Hello")

        assert await kept(bot, 1) == []


async def test_a_reaction_does_not_end_a_burst(world: World) -> None:
    world.config = {"telegram": {"message_batch_ms": 60_000}}
    async with world.running() as bot:
        first = await bot.people.say(ADA, ADA, "one")
        await bot.people.react(ADA, ADA, first.id, "👍")
        await kept(bot, 1)

        assert await bot.rows("SELECT state FROM jobs WHERE lane = '1001'") == [
            {"state": "gathering"}
        ]


async def test_no_reaction_is_told_off_the_record(world: World) -> None:
    async with world.running() as bot:
        answer = await bot.ask("milk")
        await bot.people.react(ADA, ADA, answer.id, "👍")
        await kept(bot, 1)
        await bot.people.say(ADA, ADA, "/otr hush")
        await said(world, "hush")
        await bot.people.say(ADA, ADA, "bread")
        await said(world, "[the person reacted 👍 to: milk]\nbread")
