"""In a group only the one who asked, and the owner, stop a turn. Source: design §3.3.

Ada owns the bot; Ben may write to it too.
"""

from __future__ import annotations

import asyncio

import pytest

from aouo.emulator import FAMILY
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Says
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, BEN, WAIT_S, Running, World

NOT_YOURS = "I am answering somebody else: only they and the owner can stop that."
AT_WORK = "SELECT 1 FROM jobs WHERE state = 'running' AND lane NOT LIKE '!%'"


@pytest.fixture(autouse=True)
async def clock(world: World) -> None:
    world.clock = FastClock()
    world.config = {"telegram": {"groups": "all"}}
    world.install("notes")


async def begins(world: World, bot: Running, person: int) -> None:
    """A turn of this person that is at work until the model is let go."""
    world.model.stall(after_chunks=0, text="the answer")
    await bot.people.say(person, FAMILY, "go")
    async with asyncio.timeout(WAIT_S):
        await world.model.stalled.wait()


async def test_another_persons_stop_does_nothing_to_it_and_says_who_may(world: World) -> None:
    async with world.running() as bot:
        await begins(world, bot, ADA)
        await bot.people.say(BEN, FAMILY, "/stop")
        await said(world, NOT_YOURS, FAMILY)
        world.model.release.set()
        await said(world, "the answer", FAMILY)
        await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")

    assert turns == [{"status": "ack"}]


async def test_but_it_drops_what_they_had_said_themselves(world: World) -> None:
    async with world.running() as bot:
        await begins(world, bot, ADA)
        for person, text in ((BEN, "one"), (ADA, "two"), (BEN, "three")):
            await bot.people.say(person, FAMILY, text)
        await bot.people.say(BEN, FAMILY, "/stop")
        await said(
            world, f"{NOT_YOURS} 2 messages of yours that waited will not be answered.", FAMILY
        )
        world.model.release.set()
        await said(world, "two", FAMILY)
        await settled(bot)

    assert not {"one", "three"} & set(await answers(world, FAMILY))


@pytest.mark.parametrize("person", [BEN, ADA], ids=["who asked", "the owner"])
async def test_who_asked_and_the_owner_stop_it(world: World, person: int) -> None:
    async with world.running() as bot:
        await begins(world, bot, BEN)
        await bot.people.say(person, FAMILY, "/stop")
        await said(world, "Stopped.", FAMILY)
        await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")

    assert turns == [{"status": "aborted"}]


async def test_a_question_to_somebody_else_stays_open(world: World) -> None:
    world.model.reply(
        Says("", (CallPart("clarify", {"message": "Which?", "options": ["a", "b"]}),)),
        Says("b it is"),
    )
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, "go")
        card = await bot.people.next_message(FAMILY, contains="Which?")
        await eventually(lambda: bot.rows("SELECT 1 FROM gates WHERE state = 'open'"))
        await bot.people.say(BEN, FAMILY, "/stop")
        await said(world, NOT_YOURS, FAMILY)
        await bot.people.tap(ADA, FAMILY, card.id, card.buttons[1].data)
        await said(world, "b it is", FAMILY)


async def test_where_nothing_is_at_work_that_is_said(world: World) -> None:
    async with world.running() as bot:
        await bot.people.say(BEN, FAMILY, "/stop")
        await said(world, "Nothing is running here.", FAMILY)
