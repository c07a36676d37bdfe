"""A network that goes and comes back: nothing is lost, nothing is doubted, and the log is short.

Source: issue 12, 10.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from aouo.plumbing.web.session import session_through
from aouo.telegram.api import TelegramApi
from aouo.telegram.poller import Poller
from tests.fakes.clock import FastClock
from tests.fakes.road import Road
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, WAIT_S, Running, World


@pytest.fixture
async def road(world: World) -> AsyncGenerator[Road]:
    """The way to Telegram."""
    async with Road(int(world.emulator.base_url.rpartition(":")[2])).running() as road:
        world.config = {"telegram": {"api_base_url": road.base_url, "streaming": "off"}}
        world.clock = FastClock()
        yield road


async def until_lost(bot: Running) -> dict[str, object]:
    """What the status says of Telegram as soon as it is not reached any more."""
    telegram = bot.app.shared.telegram
    assert telegram

    async def failing() -> dict[str, object]:
        await bot.people.calls()
        return telegram.state if telegram.state["state"] == "failing" else {}

    return await eventually(failing)


async def test_a_network_that_was_gone_for_an_hour_is_told_of_in_two_lines(
    world: World, road: Road
) -> None:
    clock = world.clock
    assert isinstance(clock, FastClock)
    with capture_logs() as logs:
        async with world.running() as bot:
            await bot.ask("one")
            began = clock.now()
            road.down()
            lost = await until_lost(bot)
            await bot.people.say(ADA, ADA, "two")
            clock.jump(3600)
            await road.up()
            await said(world, "two")
            assert bot.app.shared.telegram
            now = bot.app.shared.telegram.state

    events = [line["event"] for line in logs]
    assert (events.count("poll_failed"), events.count("poll_recovered")) == (1, 1)
    assert str(lost["failing_since"]) >= began.isoformat(timespec="milliseconds")
    assert (now["state"], now["failing_since"], now["problem"]) == ("polling", "", "")


async def test_a_message_that_was_tried_for_a_day_is_still_tried(world: World, road: Road) -> None:
    """Pauses that double are not doubled for ever."""
    del road
    async with world.running() as bot:
        await bot.ask("one")
        await settled(bot)
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE deliveries SET state = 'queued', attempts = 3000")
        )
    await world.people.fault("status", method="sendMessage", status=500, times=1)
    async with world.running() as bot:
        await bot.people.next_message(ADA, after=2)

    assert await answers(world) == ["one", "one"]


class Counting(FastClock):
    """Notes each pause."""

    def __init__(self) -> None:
        super().__init__(speed=1000.0)
        self.pauses: list[float] = []
        self.enough = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) == 12:
            self.enough.set()
        await super().sleep(seconds)


async def test_telegram_is_looked_for_every_few_seconds_however_long_it_was_gone(
    road: Road,
) -> None:
    """Nobody is reached, so nobody is bothered; the pauses grow at first all the same."""
    road.down()
    clock = Counting()

    async def store(raw: Sequence[dict[str, Any]], offset: int) -> None:
        raise AssertionError

    async with session_through(clock=clock) as session, asyncio.TaskGroup() as group:
        api = TelegramApi(session=session, base_url=road.base_url, token="1:a")
        polling = group.create_task(
            Poller(api=api, clock=clock, store=store, recovered=_nothing).run(0)
        )
        async with asyncio.timeout(WAIT_S):
            await clock.enough.wait()
        polling.cancel()

    assert clock.pauses[:12] == [1.0, 2.0, 4.0, *[5.0] * 9]


def _nothing() -> None:
    return


class WithoutLongPauses(FastClock):
    """Whoever pauses for more than ten seconds has to be woken."""

    async def sleep(self, seconds: float) -> None:
        if seconds > 10:
            await asyncio.Event().wait()
        await super().sleep(seconds)


async def test_what_was_put_off_is_sent_as_soon_as_telegram_is_reached_again(
    world: World, road: Road
) -> None:
    """Its own pauses have grown to half a minute by then."""
    world.clock = WithoutLongPauses()
    world.model.stall(text="Here it is.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Look it up")
        async with asyncio.timeout(WAIT_S):
            await world.model.stalled.wait()
        road.down()
        world.model.release.set()
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE attempts > 5"))
        await road.up()
        await said(world, "Here it is.")

    assert await answers(world) == ["Here it is."]


async def test_a_start_without_a_network_stays_up_and_answers_when_there_is_one(
    world: World, road: Road
) -> None:
    road.down()
    async with world.running() as bot:
        lost = await until_lost(bot)
        await bot.people.say(ADA, ADA, "Hello")
        await road.up()
        await said(world, "Hello")

    assert lost["failing_since"]
    assert await answers(world) == ["Hello"]


async def test_an_answer_that_is_ready_while_the_network_is_gone_arrives_once_when_it_is_back(
    world: World, road: Road
) -> None:
    """No connection was ever made: it surely was not sent, so nobody is told that it may have."""
    world.model.stall(text="Here it is.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Look it up")
        async with asyncio.timeout(WAIT_S):
            await world.model.stalled.wait()
        road.down()
        world.model.release.set()

        async def tried() -> bool:
            found = await bot.rows("SELECT error FROM deliveries WHERE error LIKE '%Connector%'")
            return bool(found)

        await eventually(tried)
        await road.up()
        await said(world, "Here it is.")
        unknown = await bot.rows("SELECT id FROM deliveries WHERE state = 'unknown'")

    assert unknown == []
    assert await answers(world) == ["Here it is."]
