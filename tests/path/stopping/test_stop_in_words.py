"""The word alone stops an answer that runs; else it is a message. Source: issue 30, number 2."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import Says
from tests.path.looking import eventually, prompts, said, settled
from tests.path.world import ADA, World

STOPPED = "Stopped."


async def running(world: World) -> bool:
    return bool(world.model.requests)


@pytest.mark.parametrize(
    "word", ["stop", "STOP!", "Stopp", "halt!!", "please stop", "Cancel.", "hör auf", "stop it 🛑"]
)
async def test_the_word_ends_an_answer_as_the_command_does(world: World, word: str) -> None:
    world.install("notes")
    world.model.reply(Says("one two three", chunks=3, stall_after=(1, 600)))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "tell me of plums")
        await eventually(lambda: running(world))
        await bot.people.say(ADA, ADA, word)
        await said(world, STOPPED)
        await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")

    assert turns == [{"status": "aborted"}]
    assert len(prompts(world)) == 1


@pytest.mark.parametrize("words", ["stop the timer at nine", "don't stop", "stop and tell me why"])
async def test_other_words_wait_for_their_turn(world: World, words: str) -> None:
    world.install("notes")
    world.model.reply(Says("one two", chunks=2, stall_after=1))
    world.model.say("ok")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "tell me of plums")
        await eventually(lambda: running(world))
        await bot.people.say(ADA, ADA, words)
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'ready'"))
        world.model.release.set()
        await said(world, "ok")
        await settled(bot)

    assert prompts(world) == ["tell me of plums", words]


async def test_where_nothing_runs_it_is_a_message(world: World) -> None:
    world.install("notes")
    world.model.say("What shall stop?")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Stopp!")
        await said(world, "What shall stop?")
        await settled(bot)

    assert prompts(world) == ["Stopp!"]
