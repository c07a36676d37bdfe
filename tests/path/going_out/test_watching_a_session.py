"""What those who watch a session are told. Source: seed 001, "Event Flow Summary"; design §3.8."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from aouo.facts.events import (
    ActionCompleted,
    ActionStarted,
    Event,
    LlmToken,
    ResponseComplete,
    ShieldVerdict,
    Thought,
    TurnStarted,
)
from aouo.plumbing.home import Home, reachable
from aouo.plumbing.parts import Subscription
from tests.fakes.model_server import CallPart, Says
from tests.path.looking import said, settled
from tests.path.world import ADA, BEN, Running, World

SEVEN = (LlmToken, ActionStarted, ShieldVerdict, ActionCompleted, ResponseComplete)


def drained(events: Subscription) -> list[Event]:
    return [events.get_nowait() for _ in range(events.qsize())]


def ask_for_a_tool(world: World) -> None:
    world.install("notes")
    read = CallPart("memory", {"target": "user", "action": "read"})
    world.model.reply(Says("Let me look.", (read,), chunks=2, stall_after=1))
    world.model.say("Nothing is there.")


async def session_of(bot: Running, chat: int) -> str:
    rows = await bot.rows("SELECT session_id FROM conversation_routes WHERE chat_id = ?", str(chat))
    return rows[0]["session_id"]


async def test_a_turn_with_one_tool_call_is_told_in_seven_steps_in_order(world: World) -> None:
    ask_for_a_tool(world)
    async with world.running() as bot:
        events, leave = bot.app.shared.bus.subscribe()
        await bot.people.say(ADA, ADA, "what do you know of me?")
        await world.model.stalled.wait()
        world.model.release.set()
        await said(world, "Nothing is there.")
        await settled(bot)
        told = [event for event in drained(events) if isinstance(event, SEVEN)]
        leave()

    match told:
        case [
            LlmToken(text="Let me"),
            LlmToken(text=" look."),
            ActionStarted(tool="memory"),
            ShieldVerdict(allowed=True),
            ActionCompleted(tool="memory", success=True),
            LlmToken(text="Nothing is there."),
            ResponseComplete(text="Nothing is there.", thoughts=thoughts),
        ]:
            pass
        case _:
            raise AssertionError(told)
    assert thoughts == (
        Thought("reasoning", "Let me look."),
        Thought("tool_call", "memory -> (empty)", {"tool_name": "memory", "success": True}),
    )


async def test_the_thoughts_are_kept_with_the_answer(world: World) -> None:
    ask_for_a_tool(world)
    async with world.running() as bot:
        world.model.release.set()
        await bot.ask("what do you know of me?")
        await settled(bot)
        rows = await bot.rows("SELECT thoughts FROM messages WHERE text = 'Nothing is there.'")

    stages = [(thought["stage"], thought["summary"]) for thought in json.loads(rows[0]["thoughts"])]
    assert stages == [("reasoning", "Let me look."), ("tool_call", "memory -> (empty)")]


async def test_all_who_watch_a_session_are_told_and_those_of_another_are_not(
    world: World,
) -> None:
    world.install("notes")
    async with world.running() as bot:
        await bot.ask("hello")
        await bot.ask("hello", user=BEN)
        mine = await session_of(bot, 1001)
        theirs = await session_of(bot, BEN)
        watching = [bot.app.shared.bus.subscribe(session_id=mine) for _ in range(3)]
        elsewhere, leave = bot.app.shared.bus.subscribe(session_id=theirs)
        await bot.ask("and again")
        await settled(bot)

        for events, _ in watching:
            seen = drained(events)
            assert [e.text for e in seen if isinstance(e, ResponseComplete)] == ["and again"]
            assert isinstance(seen[0], TurnStarted)
        assert drained(elsewhere) == []
        leave()


async def test_a_client_of_the_control_socket_watches_too(world: World) -> None:
    world.install("notes")
    async with world.running() as bot, asyncio.timeout(30):
        reader, writer = await connect(world.home)
        writer.write(b'{"verb": "watch"}\n')
        assert await line(reader) == {"kind": "ready"}
        await bot.ask("hello")
        kinds: list[str] = []
        while "response_complete" not in kinds:
            kinds.append((await line(reader))["kind"])
        writer.close()

    assert kinds == [
        "turn_started",
        "stream_begin",
        "llm_token",
        "stream_end",
        "turn_settled",
        "response_complete",
    ]


async def connect(home: Home) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    with reachable(home.control_socket) as address:
        return await asyncio.open_unix_connection(address)


async def line(reader: asyncio.StreamReader) -> dict[str, Any]:
    with suppress(asyncio.IncompleteReadError):
        return json.loads(await reader.readuntil())
    raise AssertionError("the other side has gone")
