"""A tool call on its whole way, from a model's answer to its effect, is read once."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import pytest
from pydantic import model_validator

from aouo.agent.tools.registry import Arguments, ToolContext, tool
from tests.fakes.model_server import Says
from tests.path.looking import cut_off, said, settled
from tests.path.tools.test_tools_of_a_turn import results, tooled
from tests.path.world import ADA, World

SPELLED = '{ "text":"keep this" }'


async def test_a_call_is_parsed_once_and_validated_once_from_the_answer_to_the_effect(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batching, counting, judges, execution and the audit cannot disagree about what it says.

    Providers and the redactor, who handle it as text of a model, are no part of this way.
    """
    seen: Counter[str] = Counter()
    read = json.loads

    def counted(text: Any, **how: Any) -> Any:
        room = sys._getframe(1).f_globals["__name__"].split(".")[1]
        if text == SPELLED and room not in ("providers", "plumbing"):
            seen["parsed"] += 1
        return read(text, **how)

    class Keep(Arguments):
        text: str

        @model_validator(mode="before")
        @classmethod
        def _count(cls, given: Any) -> Any:
            seen["validated"] += 1
            return given

    def mutates(wish: Keep) -> bool:
        seen["asked what it does"] += 1
        return True

    async def keep(wish: Keep, context: ToolContext, call_id: str) -> str:
        seen["carried out"] += 1
        return wish.text

    tooled(world, tool("keep", "Keeps.", Keep, keep, mutates=mutates))
    world.model.call("keep", SPELLED)
    world.model.say("Kept.")
    async with world.running() as bot:
        monkeypatch.setattr(json, "loads", counted)
        assert (await bot.ask("keep this")).text == "Kept."
        await settled(bot)

    assert seen == {"parsed": 1, "validated": 1, "asked what it does": 1, "carried out": 1}
    assert results(world) == ["keep this"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"text": ', "The arguments are not complete JSON"),
        ('{"txt": "x"}', "Wrong arguments for keep: text: Field required"),
    ],
)
async def test_a_call_that_is_wrong_is_told_how_and_the_third_time_to_try_something_else(
    world: World, arguments: str, why: str
) -> None:
    class Keep(Arguments):
        text: str

    async def keep(wish: Keep, context: ToolContext, call_id: str) -> str:
        raise AssertionError

    tooled(world, tool("keep", "Keeps.", Keep, keep))
    for _ in range(3):
        world.model.call("keep", arguments)
    world.model.say("I give up.")
    async with world.running() as bot:
        assert (await bot.ask("keep this")).text == "I give up."

    first, second, third = results(world)
    assert first.startswith(why)
    assert second.startswith(f"{first}\n[You made exactly this call before")
    assert third.startswith("This is the same call for the third time")


async def test_a_turn_that_is_taken_up_remembers_what_it_has_asked_for(world: World) -> None:
    """A crash is no way around the third time."""
    made: list[str] = []

    class Do(Arguments):
        at: str

    async def do(wish: Do, context: ToolContext, call_id: str) -> str:
        made.append(wish.at)
        return "same as ever"

    tooled(world, tool("do", "Does.", Do, do))
    world.model.call("do", '{"at": "x"}')
    world.model.call("do", '{"at":"x"}')
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go round in circles")
        await world.model.stalled.wait()
        await cut_off(bot)
    world.model.call("do", '{ "at": "x" }')
    world.model.say("I give up.")
    async with world.running() as bot:
        await said(world, "I give up.")
        await settled(bot)

    assert made == ["x", "x"]
    assert results(world)[-1].startswith("This is the same call for the third time")
