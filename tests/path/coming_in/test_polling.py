"""Asking for updates while the network, Telegram or another process is in the way.

Source: design §3.1.2, contract ("Command line"), behaviours 1 and 55-58 of the reference.
"""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from aouo.facts.errors import SetupError
from aouo.telegram import poller
from tests.fakes.clock import FastClock
from tests.path.looking import answers, eventually, said
from tests.path.world import ADA, World


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock()
    return clock


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "drop_before"},
        {"kind": "drop_after"},
        {"kind": "garbage"},
        {"kind": "status", "status": 502},
        {"kind": "status", "status": 500},
        {"kind": "status", "status": 429, "retry_after": 30},
    ],
    ids=lambda fault: f"{fault['kind']} {fault.get('status', '')}",
)
async def test_a_poll_that_fails_is_made_again_and_nothing_is_lost(
    world: World, fault: dict[str, Any]
) -> None:
    async with world.running() as bot:
        await bot.ask("one")
        await bot.people.fault(**fault, method="getUpdates", times=4)
        for text in ("two", "three"):
            await bot.people.say(ADA, ADA, text)
        await said(world, "three")

    assert await answers(world) == ["one", "two", "three"]


async def test_two_minutes_without_telegram_are_waited_out_and_seen_in_the_status(
    world: World, clock: FastClock
) -> None:
    """The pauses grow to 30 s: few calls, said at the first failure and when it is over."""
    async with world.running() as bot:
        await bot.ask("one")
        assert bot.app.shared.telegram
        telegram = bot.app.shared.telegram
        with capture_logs() as logs:
            await bot.people.fault("status", method="getUpdates", status=502, times=7)
            await bot.people.say(ADA, ADA, "two")

            async def failing() -> bool:
                await bot.people.calls()
                return telegram.state["state"] == "failing"

            await eventually(failing)
            problem = telegram.state["problem"]
            await bot.people.say(ADA, ADA, "three")
            clock.jump(120)
            await said(world, "three")

    events = [line["event"] for line in logs]
    assert problem
    assert (events.count("poll_failed"), events.count("poll_recovered")) == (1, 1)


async def test_a_poll_that_is_never_answered_is_given_up_and_made_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watchdog: what hangs is told from what waits by its time, and its connection closed."""
    monkeypatch.setattr(poller, "_GRACE_S", 0.2)
    monkeypatch.setattr(poller, "_POLL_S", 0)
    async with world.running() as bot:
        await bot.ask("one")
        await bot.people.fault("slow", method="getUpdates", seconds=60.0)
        await bot.people.say(ADA, ADA, "two")
        await said(world, "two")

    assert await answers(world) == ["one", "two"]


async def test_a_token_that_is_refused_ends_the_process_with_one_line(world: World) -> None:
    """Exit 3, and the token is in no log."""
    with capture_logs() as logs, pytest.raises(SetupError) as raised:  # noqa: PT012
        try:
            async with world.running() as bot:
                await bot.ask("one")
                await bot.people.fault(
                    "status", method="getUpdates", status=401, description="Unauthorized", times=9
                )
                await bot.people.say(ADA, ADA, "two")  # ends the poll that is open
                await bot.runtime.ended.wait()
        except* SetupError as group:
            raise group.exceptions[0] from None

    assert (raised.value.exit_code, "token" in str(raised.value)) == (3, True)
    assert world.emulator.token not in str(logs) + str(raised.value)


async def test_another_process_on_the_token_is_said_and_after_20_s_ends_us(
    world: World, clock: FastClock
) -> None:
    """Exit 4; a conflict that passes is waited out."""
    with pytest.raises(SetupError) as raised:  # noqa: PT012
        try:
            async with world.running() as bot:
                await bot.people.fault(
                    "status", method="getUpdates", status=409, description="Conflict", times=3
                )
                await bot.ask("one")
                await bot.people.fault(
                    "status", method="getUpdates", status=409, description="Conflict", times=99
                )
                await bot.runtime.ended.wait()
        except* SetupError as group:
            raise group.exceptions[0] from None

    assert raised.value.exit_code == 4


async def test_an_update_that_is_brought_twice_is_answered_once(world: World) -> None:
    async with world.running() as bot:
        await bot.people.fault("duplicate_update", times=3)
        for text in ("one", "two"):
            await bot.ask(text)

    assert await answers(world) == ["one", "two"]
