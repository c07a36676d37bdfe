"""`/jobs`: what is at work, what comes next, and stopping it.

Source: issue 14 "`/jobs` (what runs, what is next, stop it)".
"""

from __future__ import annotations

import asyncio

import pytest

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.emulator import HOUSEHOLD, ChatMessage
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Reply, Says
from tests.path.looking import eventually, said, settled
from tests.path.world import ADA, BEN, Running, World


class Nothing(Arguments):
    pass


class Long:
    """A tool that takes until a test lets it end; it tells when so many calls wait."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.begun = asyncio.Semaphore(0)

    async def begins(self) -> None:
        """Wait for one more call."""
        async with asyncio.timeout(30):
            await self.begun.acquire()

    @property
    def tool(self) -> Tool:
        async def wait(arguments: Nothing, context: ToolContext, call_id: str) -> str:
            self.begun.release()
            await self.over.wait()
            return "done"

        return tool("skill_wait", "Waits.", Nothing, wait, group="memory", timeout_s=None)


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """Monday 2 March 2026, 13:16 in Berlin; it jumps when a test says so."""
    world.clock = clock = FastClock(speed=1)
    world.config = {
        "cron": {"timezone": "Europe/Berlin", "max_concurrent_runs": 4},
        "telegram": {"groups": "all"},
        "tools": {"enabled": ["core", "skill_wait"]},
    }
    return clock


@pytest.fixture
def long(world: World) -> Long:
    long = Long()
    world.tools = [long.tool]

    def script(body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return "Finished."
        return Says(calls=(CallPart("skill_wait", {}),))

    world.model.script = script
    return long


async def tap(bot: Running, message: ChatMessage, label: str, text: str, who: int = ADA) -> str:
    """Tap a button; return what stands there once it holds the text."""
    data = next(button.data for button in message.buttons if button.text == label)
    await bot.people.tap(who, message.chat_id, message.id, data)

    async def look() -> str:
        found = await bot.people.messages(message.chat_id)
        return next((m.text for m in found if m.id == message.id and text in m.text), "")

    return await eventually(look)


async def states(bot: Running) -> list[str]:
    return [row["state"] for row in await bot.rows("SELECT state FROM schedule_runs")]


def labels(message: ChatMessage) -> list[str]:
    return [button.text for button in message.buttons]


async def test_it_tells_what_runs_and_what_is_next_and_stops_a_run(
    world: World, clock: FastClock, long: Long
) -> None:
    async with world.running() as bot:
        await bot.ask("/cron add --name Digest 1m Sum up")
        await bot.ask("/cron add --name Evening every day at 21:00 Sum up")
        clock.jump(61)
        await long.begins()
        await bot.people.say(ADA, ADA, "Do something long, too")
        await long.begins()
        shown = await bot.ask("/jobs")
        after = await tap(bot, shown, "Stop: Digest", "I am stopping it.")

        async def stopped() -> bool:
            return await states(bot) == ["stopped"]

        await eventually(stopped)
        long.over.set()
        await said(world, "Finished.")  # the person's own turn went on
        await settled(bot)
        idle = await bot.ask("/jobs")

    assert shown.text.splitlines() == [
        "• “Digest”, since 13:17",
        "• an answer to Ada, since 13:17",
        "",
        "Next:",
        "• Evening, Monday 2 March 2026 at 21:00",
    ]
    assert labels(shown) == ["Stop: Digest", "Stop: Ada"]
    assert "Digest" not in after
    assert idle.text.splitlines()[0] == "Nothing is at work here."


async def test_it_stops_a_turn_as_stop_does(world: World, long: Long) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Do something long")
        await long.begins()
        first, second = await bot.ask("/jobs"), await bot.ask("/jobs")
        stopping = await tap(bot, first, "Stop: Ada", "I am stopping it.")
        await settled(bot)
        over = await tap(bot, second, "Stop: Ada", "That is over already.")
        turns = await bot.rows("SELECT status FROM turns")

    assert turns == [{"status": "aborted"}]
    assert stopping == "I am stopping it."  # it may still be at work
    assert over == "That is over already.\nNothing is at work here."


async def test_only_its_person_and_the_owner_stop_one(world: World, long: Long) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, "Do something long")
        await long.begins()
        bens = await bot.ask("/jobs", user=BEN, chat=HOUSEHOLD)
        adas = await bot.ask("/jobs", chat=HOUSEHOLD)
        refused = await tap(bot, adas, "Stop: Ada", "Only the person", who=BEN)
        long.over.set()
        await settled(bot)

    assert labels(bens) == []
    assert "Only the person it is for and the owner can stop that." in refused


async def test_the_owner_in_private_sees_and_stops_everything(
    world: World, clock: FastClock, long: Long
) -> None:
    async with world.running() as bot:
        await bot.ask("/cron add --name Bens 1m Sum up", user=BEN)
        clock.jump(61)
        await long.begins()
        owners = await bot.ask("/jobs")
        bens = await bot.ask("/jobs", user=BEN)
        elsewhere = await bot.ask("/jobs", user=BEN, chat=HOUSEHOLD)
        await tap(bot, owners, "Stop: Bens", "I am stopping it.")

        async def stopped() -> bool:
            return await states(bot) == ["stopped"]

        await eventually(stopped)

    assert owners.text.splitlines()[0] == "• “Bens”, since 13:17, in 1002"
    assert bens.text.splitlines()[0] == "• “Bens”, since 13:17"
    assert elsewhere.text == "Nothing is at work here."
