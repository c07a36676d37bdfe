"""Programs that wait for a turn get its answer, or its events, through the one door.

Source: seed 000 "Contract", issue 14 "Plan".
"""

from __future__ import annotations

import asyncio

import pytest

from aouo.facts.errors import TurnFailed
from aouo.facts.events import LlmToken, ResponseComplete, TurnStarted
from aouo.facts.ids import SessionId
from aouo.flow.answering.turns import Turns
from aouo.plumbing.client import answers
from tests.fakes.model_server import Fails, words_of
from tests.path.looking import settled
from tests.path.world import ADA, WAIT_S, World, texts


def beside(conversation: str = "cli:local") -> str:
    return str(SessionId.new("isolated", conversation))


async def test_a_program_gets_the_answer_and_the_conversation_nothing(world: World) -> None:
    world.model.say("Four.")
    async with world.running() as bot:
        answer = await bot.app.asking.run_turn("2 + 2?", beside(f"tg:{ADA}"))
        await settled(bot)
        shown = texts(await bot.people.messages(ADA))
        routes = await bot.rows("SELECT 1 FROM conversation_routes")

    assert (answer, shown, routes) == ("Four.", [], [])


async def test_a_program_that_streams_sees_a_turn_from_its_start_to_its_end(world: World) -> None:
    world.model.say("Four.")
    async with world.running() as bot:
        session = beside()
        events = [event async for event in bot.app.asking.run_stream("2 + 2?", session)]

    assert isinstance(events[0], TurnStarted)
    assert "".join(e.text for e in events if isinstance(e, LlmToken)) == "Four."
    assert isinstance(events[-1], ResponseComplete)
    assert {event.session_id for event in events} == {session}


async def test_a_turn_in_a_session_that_goes_on_knows_what_was_said(world: World) -> None:
    world.model.say("Noted.")
    world.model.say("Blue.")
    async with world.running() as bot:
        await bot.app.asking.run_turn("My colour is blue", beside())
        await bot.people.say(ADA, ADA, "hello")
        await settled(bot)
        with pytest.raises(ValueError, match="not a session that goes on"):
            await bot.app.asking.run_turn("Which colour?", str(SessionId.new("chat", "cli:local")))


async def test_a_turn_without_an_answer_says_why(world: World) -> None:
    world.config["provider"] = {"backend": "fake", "model": "scripted", "max_retries": 0}
    world.model.script = _broken
    async with world.running() as bot:
        with pytest.raises(TurnFailed, match="This turn failed"):
            await bot.app.asking.run_turn("2 + 2?", beside())


def _broken(body: dict[str, object]) -> Fails:
    return Fails(500, "broken")


async def test_whoever_waits_for_a_turn_that_breaks_before_it_begins_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(Turns, "begin", breaks)
    async with world.running() as bot, asyncio.timeout(WAIT_S):
        with pytest.raises(TurnFailed, match="aborted"):
            await bot.app.asking.run_turn("2 + 2?", beside())
        with pytest.raises(TurnFailed, match="aborted"):
            await bot.app.asking.run_turn(" ", beside())


async def test_the_socket_streams_a_turn(world: World) -> None:
    world.model.say("Four.")
    async with world.running():
        found = [one async for one in answers(world.home, "run", prompt="2 + 2?")]

    assert [one["kind"] for one in found][-1] == "response_complete"
    assert found[-1]["text"] == "Four."
    assert words_of(world.model.requests[0]["messages"][-1]).endswith("2 + 2?")
