"""`aouo cron`: by the running bot, and at rest under its lock. Source: contract, issue 14."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest
from click.testing import CliRunner, Result

from aouo.cli.main import aouo
from tests.fakes.clock import FastClock
from tests.path.looking import eventually, said, settled
from tests.path.world import ADA, BEN, World

Cli: TypeAlias = Callable[..., Awaitable[Result]]


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """Monday 2 March 2026, 13:16 in Berlin; it jumps when a test says so."""
    world.clock = clock = FastClock(speed=1)
    world.config = {"cron": {"timezone": "Europe/Berlin"}}
    return clock


@pytest.fixture
def cli(world: World) -> Cli:
    world.configure()
    runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})

    async def run(*words: str) -> Result:
        return await asyncio.to_thread(runner.invoke, aouo, ["cron", *words])

    return run


def facts(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


async def test_one_is_made_run_and_removed_through_the_running_bot(world: World, cli: Cli) -> None:
    world.model.say("It rains.")
    await cli("list")  # imports what it needs before another thread does
    async with world.running() as bot:
        with world.home.lock():  # as `aouo start` holds it
            made = await cli("add", "--name", "Weather", "every day at 7", "What is the weather?")
            (row,) = await bot.rows("SELECT id, chat_id, person, next_due FROM schedules")
            ran = await cli("run", row["id"])
            await said(world, "It rains.\n\n— ⏰ Weather")
            await settled(bot)
            again = await bot.rows("SELECT next_due FROM schedules")
            past = await cli("history", row["id"])
            listed = await cli("list")
            removed = await cli("remove", row["id"])
            rows = await bot.rows("SELECT id FROM schedules")

    assert made.output.splitlines()[-5:] == [  # the log of this process stands above
        f"{row['id']}  “Weather”, every day at 07:00: on, next Tuesday 3 March 2026 at 07:00.",
        "The next times (Europe/Berlin):",
        *(f"• {day} March 2026 at 07:00" for day in ("Tuesday 3", "Wednesday 4", "Thursday 5")),
    ]
    assert (row["chat_id"], row["person"]) == (str(ADA), str(ADA))  # the owner's private chat
    assert ran.output.splitlines()[-1] == "Weather: begins now."
    assert again == [{"next_due": row["next_due"]}]
    assert past.output.splitlines()[-1].endswith(": done")
    assert "last done" in listed.output
    assert removed.output.splitlines()[-1] == "Weather: removed."
    assert rows == []


async def test_at_rest_it_does_the_same(world: World, cli: Cli) -> None:
    options = ("--zone", "tokyo", "--misfire", "coalesce", "--timeout", "60", "--retries", "2")
    made = facts(
        await cli("add", "--chat", str(BEN), *options, "--json", "every Friday at 17:00", "Sum up")
    )
    row = made["schedule"]
    ran = await cli("run", row["id"])
    twice = await cli("run", row["id"])
    off = facts(await cli("pause", row["id"], "--json"))
    hidden = await cli("list")
    every = await cli("list", "--all")
    past = facts(await cli("history", row["id"], "--json"))

    kept = {key: row[key] for key in ("person", "zone", "misfire", "timeout_s", "retries")}
    assert kept == {
        "person": str(BEN),
        "zone": "Asia/Tokyo",
        "misfire": "coalesce",
        "timeout_s": 60,
        "retries": 2,
    }
    assert len(made["next"]) == 3
    assert made["zone"] == "Asia/Tokyo"
    assert ran.output == "Sum up: begins as soon as the bot runs schedules.\n"
    assert (twice.exit_code, "runs already" in twice.output) == (1, True)
    assert off["paused"] == "person"
    assert "Sum up" in hidden.output
    assert "Sum up" in every.output
    assert [run["state"] for run in past["runs"]] == ["waiting"]


async def test_a_schedule_is_meant_by_its_name_where_one_has_it(cli: Cli) -> None:
    await cli("add", "--name", "Weather", "every 1d", "Weather?")
    paused = facts(await cli("pause", "weather", "--json"))
    await cli("add", "--name", "Weather", "every 2d", "Weather?")
    several = await cli("resume", "Weather")
    by_id = await cli("remove", paused["id"])
    left = await cli("remove", "Weather")

    assert paused["paused"] == "person"
    assert several.exit_code == 1
    assert "2 schedules are called 'Weather'. Give the id: `aouo cron list`." in several.output
    assert by_id.output == left.output == "Weather: removed.\n"


async def test_what_was_asked_for_at_rest_runs_when_the_bot_does(world: World, cli: Cli) -> None:
    world.model.say("It rains.")
    row = facts(await cli("add", "--name", "Weather", "--json", "every 30d", "Weather?"))[
        "schedule"
    ]
    await cli("run", row["id"])
    world.clock = FastClock(speed=1, start=datetime(2100, 1, 1, tzinfo=UTC))  # later than both
    async with world.running() as bot:
        await eventually(lambda: bot.rows("SELECT 1 AS n FROM schedule_runs WHERE state = 'done'"))
        await said(world, "It rains.\n\n— ⏰ Weather")


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("add", "water the plants", "Now"), 1, "is not a schedule: write"),
        (("add", "2020-01-01", "Now"), 1, "is over: it is"),
        (("add", "--zone", "Berln", "3m", "Now"), 1, "Did you mean Europe/Berlin?"),
        (("add", "--pack", "none", "3m", "Now"), 1, "The pack “none” is not installed."),
        (("add", "--chat", "-5", "3m", "Now"), 1, "say whose, with --person"),
        (("add", "--chat", "77", "3m", "Now"), 1, "The person 77 is not on the list."),
        (("add", "--timeout", "-1", "3m", "Now"), 1, "A time limit in seconds is between 0 and"),
        (("add", "--misfire", "never", "3m", "Now"), 2, "is not one of 'run_once'"),
        (("add", "3m"), 2, "Missing argument 'PROMPT'"),
        (("run", "nothing"), 1, "There is no schedule 'nothing'."),
        (("history", "nothing"), 1, "See `aouo cron list`."),
    ],
)
async def test_what_cannot_be_done_is_refused_with_why(
    cli: Cli, words: tuple[str, ...], code: int, why: str
) -> None:
    result = await cli(*words)

    assert (result.exit_code, why in result.output) == (code, True), result.output


async def test_a_chat_of_the_configuration_is_the_default(world: World, cli: Cli) -> None:
    world.config["cron"]["default_chat_id"] = str(BEN)
    world.configure()
    made = facts(await cli("add", "--json", "every 1d", "Sum up"))

    assert made["schedule"]["address"]["chat_id"] == str(BEN)
