"""Programs that wait for a turn get its answer, or its events, through the one door.

Source: seed 000 "Contract", issue 14 "Plan".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from aouo.app import wiring
from aouo.facts.errors import TurnFailed
from aouo.facts.events import LlmToken, ResponseComplete, TurnStarted
from aouo.facts.ids import SessionId
from aouo.flow.answering.commit import Commit
from aouo.flow.answering.turns import Turns
from aouo.plumbing.client import NoAnswer, answers
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, Fails, Says, last_words, words_of
from tests.path.going_out.test_watching_a_session import session_of
from tests.path.looking import answers as answers_in
from tests.path.looking import eventually, said, settled
from tests.path.world import ADA, WAIT_S, Running, World, texts


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

    async with world.running() as bot, asyncio.timeout(WAIT_S):
        await bot.ask("hello")
        here = await session_of(bot, ADA)
        monkeypatch.setattr(Turns, "begin", breaks)
        for session in (beside(), here):
            with pytest.raises(TurnFailed, match=r"in me broke|broke inside me"):
                await bot.app.asking.run_turn("2 + 2?", session)
        for session in (beside(), here):
            with pytest.raises(TurnFailed, match="message was empty"):
                await bot.app.asking.run_turn(" ", session)


async def test_an_answer_that_is_committed_reaches_its_waiter_even_if_nobody_tells_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Commit._write

    async def breaks_after(self: Commit, *given: object) -> None:
        await write(self, *given)  # pyright: ignore[reportArgumentType]
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(Commit, "_write", breaks_after)
    world.model.say("Four.")
    async with world.running() as bot, asyncio.timeout(WAIT_S):
        assert await bot.app.asking.run_turn("2 + 2?", beside()) == "Four."


@asynccontextmanager
async def at_work(world: World, bot: Running) -> AsyncGenerator[str]:
    """Ada's turn is at work within the block, and goes on after it; the id of its session."""
    await bot.ask("hello")
    await settled(bot)
    world.model.script = _slowly
    await bot.people.say(ADA, ADA, "go")
    await world.model.stalled.wait()
    yield await session_of(bot, ADA)
    world.model.release.set()


def _slowly(body: Body) -> Says | str:
    return Says("a long story", chunks=2, stall_after=1) if last_words(body) == "go" else "Four."


async def asked(bot: Running) -> None:
    """A program's words wait in Ada's conversation."""
    await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE origin = 'cli'"))


async def test_a_program_gets_the_answer_to_its_own_words_and_not_to_those_before(
    world: World,
) -> None:
    async with world.running() as bot, asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        async with at_work(world, bot) as session:
            answer = group.create_task(bot.app.asking.run_turn("2 + 2?", session))
            await asked(bot)
        events = [event async for event in bot.app.asking.run_stream("2 + 2?", session)]

    assert answer.result() == "Four."
    assert isinstance(events[0], TurnStarted)
    assert isinstance(events[-1], ResponseComplete)
    assert {getattr(event, "turn_id", "") for event in events} == {events[0].turn_id}


async def test_a_program_follows_its_words_into_the_session_that_they_are_answered_in(
    world: World,
) -> None:
    async with world.running() as bot, asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        async with at_work(world, bot) as session:
            await bot.people.say(ADA, ADA, "/new")
            await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE body LIKE '%\"new\"%'"))
            answer = group.create_task(bot.app.asking.run_turn("2 + 2?", session))
            await asked(bot)
        assert await answer == "Four."
        assert await session_of(bot, ADA) != session


async def test_a_program_whose_words_are_stopped_before_they_begin_is_told(world: World) -> None:
    async with world.running() as bot, asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        async with at_work(world, bot) as session:
            waiting = group.create_task(_refusal(bot, session))
            await asked(bot)
            await bot.people.say(ADA, ADA, "/stop")
            await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'dropped'"))
        why = await waiting

    assert why == "stopped"


async def test_a_program_is_told_when_the_runtime_ends_before_its_turn(world: World) -> None:
    async with world.running() as bot, asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        async with at_work(world, bot) as session:
            waiting = group.create_task(_refusal(bot, session))
            await asked(bot)
            bot.runtime.stop()
        why = await waiting

    assert why.startswith("the runtime ended before the turn did")


@pytest.mark.parametrize("kind", ["chat", "isolated"])
async def test_a_program_gets_the_answer_of_a_turn_that_was_given_back_and_taken_up_again(
    world: World, kind: str
) -> None:
    """As a change of its pack gives it back, or a reload if it waits for a person."""
    async with world.running() as bot, asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        await bot.ask("hello")
        await settled(bot)
        session = await session_of(bot, ADA) if kind == "chat" else beside()
        world.model.reply(Says("a long story", chunks=2, stall_after=1))
        world.model.say("Four.")
        answer = group.create_task(bot.app.asking.run_turn("2 + 2?", session))
        await world.model.stalled.wait()
        bot.app.running.give_back([2], waiting=False)
        assert await answer == "Four."


async def test_a_program_is_told_that_its_words_wait_for_a_pack(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot, asyncio.timeout(WAIT_S):
        await bot.ask("/use notes")
        await bot.ask("hello")
        await settled(bot)
        session = await session_of(bot, ADA)
        (world.home.packs / "notes").unlink()
        await bot.app.packs.refresh()
        why = await _refusal(bot, session)

    assert why.startswith("it waits in its conversation, and is answered there later: ")


async def test_a_turn_beside_a_conversation_needs_no_chat(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait in vain: nobody there is told its answer, and whoever asked is gone by then."""
    monkeypatch.setattr(wiring, "CONCURRENCY", 1)
    world.model.script = _slowly
    async with world.running() as bot, asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        await bot.ask("hello")
        before = group.create_task(bot.app.asking.run_turn("go", beside()))
        await world.model.stalled.wait()
        answer = group.create_task(bot.app.asking.run_turn("2 + 2?", beside(f"tg:{ADA}")))
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE origin = 'api' AND id > 2"))
        await bot.people.block(ADA)
        await eventually(lambda: bot.rows("SELECT 1 FROM gone_chats"))
        world.model.release.set()
        assert await answer == "Four."
        await before


async def test_the_words_of_a_program_answer_no_question_that_is_put_to_a_person(
    world: World,
) -> None:
    world.install("notes")
    async with world.running() as bot, asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        await bot.ask("hello")
        session = await session_of(bot, ADA)
        world.model.call("clarify", {"message": "Which colour?", "options": []})
        world.model.say("Blue it is.")
        world.model.say("Four.")
        await bot.people.say(ADA, ADA, "paint it")
        await bot.people.next_message(ADA, contains="Which colour?")
        answer = group.create_task(bot.app.asking.run_turn("2 + 2?", session))
        await asked(bot)
        await bot.people.say(ADA, ADA, "blue")
        await said(world, "Blue it is.")

    assert answer.result() == "Four."


async def test_a_program_gets_an_answer_of_which_nothing_is_kept(world: World) -> None:
    async with world.running() as bot, asyncio.timeout(WAIT_S):
        await bot.ask("hello")
        await bot.ask("/otr")
        await settled(bot)
        world.model.say("Four.")
        answer = await bot.app.asking.run_turn("2 + 2?", await session_of(bot, ADA))
        kept = await bot.rows("SELECT 1 FROM messages WHERE text LIKE '%Four%'")

    assert (answer, kept) == ("Four.", [])


async def test_the_words_of_a_program_join_nobodys_burst(world: World) -> None:
    world.config, world.clock = {"telegram": {"message_batch_ms": 10_000}}, FastClock()
    async with world.running() as bot, asyncio.timeout(WAIT_S):
        await bot.ask("words that are long enough to end the burst " * 2)
        await settled(bot)
        session = await session_of(bot, ADA)
        await bot.people.say(ADA, ADA, "and")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'gathering'"))
        answer = await bot.app.asking.run_turn("2 + 2?", session)
        await settled(bot)
        shown = await answers_in(world)

    assert (answer, shown[1:]) == ("2 + 2?", ["and", "2 + 2?"])


async def _refusal(bot: Running, session: str) -> str:
    with pytest.raises(TurnFailed) as refused:
        await bot.app.asking.run_turn("2 + 2?", session)
    return str(refused.value)


async def test_what_the_socket_tells_of_a_turn_without_an_answer_is_in_no_log(
    world: World,
) -> None:
    """It quotes what was sent into the conversation."""
    with capture_logs() as logs:
        async with world.running():
            with pytest.raises(NoAnswer, match="message was empty"):
                _ = [one async for one in answers(world.home, "run", prompt=" ")]

    assert [line for line in logs if "message was empty" in str(line)] == []
    assert "control_failed" not in [line["event"] for line in logs]


async def test_the_socket_streams_a_turn(world: World) -> None:
    world.model.say("Four.")
    async with world.running():
        found = [one async for one in answers(world.home, "run", prompt="2 + 2?")]

    assert [one["kind"] for one in found][-1] == "response_complete"
    assert found[-1]["text"] == "Four."
    assert words_of(world.model.requests[0]["messages"][-1]).endswith("2 + 2?")
