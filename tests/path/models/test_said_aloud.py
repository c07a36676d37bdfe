"""What a server passes on as text, though it is none, is not said. Source: issue 30, number 9."""

from __future__ import annotations

from tests.path.looking import answers, said, settled
from tests.path.world import ADA, World


async def test_thoughts_reach_neither_the_chat_nor_the_history(world: World) -> None:
    world.install("notes")
    world.model.say("<think> The user greets me. Secret plan. </think> Hello Ann!")
    world.model.say("Fine.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello plums")
        await said(world, "Hello Ann!")
        await bot.ask("and plums?")
        await settled(bot)
        stored = await bot.rows("SELECT * FROM messages")
        recorded = await bot.rows("SELECT * FROM deliveries")

    assert "Secret plan" not in str(await answers(world))
    assert "Secret plan" not in str(stored) + str(recorded)
    assert "Secret plan" not in str(world.model.requests[-1])


async def test_a_call_that_no_tool_knows_is_asked_for_again(world: World) -> None:
    world.install("notes")
    world.model.say('I will. <tool_call>{"name": "steal", "arguments": {}}</tool_call>')
    world.model.say("Noted, in words.")
    async with world.running() as bot:
        assert (await bot.ask("what of plums?")).text == "Noted, in words."
        await settled(bot)
        told = await answers(world)

    assert told == ["Noted, in words."]
    assert len(world.model.requests) == 2
