"""`aouo trace`: how a turn went, seen from outside while the bot runs. Source: design §3.4."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from click.testing import CliRunner

from aouo.cli.main import aouo
from tests.fakes.model_server import Says
from tests.path.looking import said, settled
from tests.path.world import ADA, World


async def trace(world: World, *arguments: str) -> Any:
    runner = CliRunner()
    command = ["--home", str(world.home.path), "trace", *arguments]
    return await asyncio.to_thread(runner.invoke, aouo, command)


def of(told: Any, kind: str) -> list[Any]:
    return [entry for entry in told["timeline"] if entry["kind"] == kind]


async def test_the_newest_turn_is_shown_with_its_steps_calls_tools_and_messages(
    world: World,
) -> None:
    world.install("notes")
    world.model.call("memory", {"target": "memory", "action": "append", "content": "- tea"})
    world.model.say("Noted.")
    async with world.running() as bot:
        await bot.ask("remember tea")
        await settled(bot)
        told = json.loads((await trace(world, "--json")).output)
        shown = (await trace(world, told["id"][-6:])).output

    kinds = {entry["kind"] for entry in told["timeline"]}
    steps = {step["name"]: step["calls"] for step in of(told, "step")}
    assert kinds == {"step", "call", "tool", "message"}
    assert next(iter(steps)) == "turn_input.platform gate"
    assert (steps["turn_input.history"], steps["dispatch_input.loop policy"]) == (1, 2)
    assert [call["scope"] for call in of(told, "call")] == ["llm", "llm"]
    (use,) = of(told, "tool")
    assert (use["name"], use["state"], use["effect"]) == ("memory", "done", True)
    assert (use["verdict"], use["judge"]) == ("allowed", "guard")
    assert [sent["state"] for sent in of(told, "message") if sent["message"] == "reply"] == ["sent"]
    assert told["status"] == "ack"
    sections = {section["name"]: section for section in told["sections"]}
    assert {"Identity", "Pack", "Tools", "Words", "Here and now"} <= sections.keys()
    assert sections["Words"]["bytes"] == len("remember tea")
    assert "turn_output.safety" in shown
    assert "tool memory: done, took effect; allowed by guard" in shown


async def test_the_message_in_which_an_answer_grew_has_ended_when_the_answer_is_there(
    world: World,
) -> None:
    """Nothing of it was lost, so it is not told as if it were."""
    words = "word " * 100
    world.model.reply(Says(words, chunks=4, stall_after=2))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="word")
        world.model.release.set()
        await said(world, words.strip())
        await settled(bot)
        told = json.loads((await trace(world, "--json")).output)

    messages = [(sent["message"], sent["state"]) for sent in of(told, "message")]
    assert messages == [("live", "ended"), ("reply", "sent")]


async def test_a_turn_that_is_not_there_is_said(world: World) -> None:
    result = await trace(world, "nonsense")

    assert result.exit_code == 1
    assert "There is no turn 'nonsense'." in result.stderr
