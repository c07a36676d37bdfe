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
from aouo.emulator import HOUSEHOLD
from aouo.words.markdown.tables import columns
from tests.fakes.clock import FastClock
from tests.path.dashboard.chatting import WebChat
from tests.path.dashboard.looking import dashboard
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


async def test_one_that_says_its_words_is_made_and_comes(world: World, cli: Cli) -> None:
    await cli("list")
    async with world.running() as bot:
        with world.home.lock():
            await cli("add", "--say", "every day at 7", "Tea!")
            (row,) = await bot.rows("SELECT id, say, prompt FROM schedules")
            await cli("run", row["id"])
            await said(world, "Tea!")
            await settled(bot)

    assert (row["say"], row["prompt"]) == ("Tea!", "")
    assert world.model.requests == []


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


@pytest.mark.parametrize("owner", [[], [ADA]])
@pytest.mark.parametrize(
    ("words", "chat", "pack"),
    [
        ((), "~", "notes"),
        (("--chat", "web:~"), "~", "notes"),
        (("--chat", "web:vocab"), "vocab", "vocab"),
    ],
)
async def test_without_telegram_its_results_come_on_the_page(
    world: World, owner: list[int], words: tuple[str, ...], chat: str, pack: str
) -> None:
    world.install("notes", "vocab")
    off = {"enabled": False, "bot_token": "", "allowed_user_ids": owner}
    world.config = {**world.config, "telegram": off}
    world.configure()
    world.model.say("It rains.")
    add = ["cron", "add", *words, "--name", "Weather", "--json", "every 30d", "Weather?"]
    if chat == "~":
        add += ["--pack", "notes"]
    runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})
    row = facts(await asyncio.to_thread(runner.invoke, aouo, add))["schedule"]
    await asyncio.to_thread(runner.invoke, aouo, ["cron", "run", row["id"]])
    world.clock = FastClock(speed=1, start=datetime(2100, 1, 1, tzinfo=UTC))
    async with dashboard(world) as page:
        page_chat = WebChat(page, chat)
        async with page_chat.window() as window:
            await window.until("It rains.")
        await settled(page.bot)

    assert (row["person"], row["pack"]) == (str(ADA) if owner else "owner", pack)


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
        (("add", "--chat", "web:none", "3m", "Now"), 1, "There is no chat 'none' on the page"),
        (("add", "--chat", "web:", "3m", "Now"), 1, "There is no chat '' on the page"),
        (("add", "--chat", "web:~", "--thread", "5", "3m", "Now"), 1, "The page has no topics"),
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


async def test_at_rest_nothing_is_begun_for_whoever_is_off_the_list(world: World, cli: Cli) -> None:
    made = facts(await cli("add", "--chat", str(BEN), "--json", "every Friday at 17:00", "Sum up"))
    which = made["schedule"]["id"]
    world.config["telegram"] = {"allowed_user_ids": [ADA]}
    world.configure()
    results = [await cli("run", which), await cli("pause", which), await cli("resume", which)]

    assert [result.exit_code for result in results] == [1, 0, 1]
    assert f"“Sum up” cannot run: it is for {BEN}, who is not on my list" in results[0].output
    assert results[2].output == results[0].output


async def test_a_topic_that_nobody_has_written_in_is_refused_with_those_that_are_known(
    world: World, cli: Cli
) -> None:
    where = ("--chat", str(HOUSEHOLD), "--person", str(ADA), "--thread")
    before = await cli("add", *where, "77", "3m", "Now")
    async with world.running() as bot:
        topic = str(await bot.people.topic_created(ADA, HOUSEHOLD, "kitchen"))
        await bot.ask("/pack", chat=HOUSEHOLD, thread=int(topic))
        await settled(bot)
    unknown = await cli("add", *where, "77", "3m", "Now")
    known = await cli("add", *where, topic, "--json", "3m", "Now")
    terminal = await cli("add", "--chat", "desk", "--thread", "7", "3m", "Now")

    here = f"I know no topic '77' in the chat {HOUSEHOLD}."
    assert f"{here} I know none there; " in before.output
    assert f"{here} I know {topic} “kitchen”; " in unknown.output
    assert (before.exit_code, unknown.exit_code, terminal.exit_code) == (1, 1, 1)
    assert facts(known)["schedule"]["address"]["thread_id"] == topic
    assert "The terminal 'desk' has no topics" in terminal.output
    assert len(facts(await cli("list", "--json"))["schedules"]) == 1


async def test_a_schedule_is_found_by_its_name_if_only_one_has_it(world: World, cli: Cli) -> None:
    ids = [
        facts(await cli("add", "--name", name, "--json", text, "Now"))["schedule"]["id"]
        for name, text in (("Weather", "every 1h"), ("Weather", "every 2h"), ("Rise", "every 1d"))
    ]
    several = await cli("history", "weather")
    history = await cli("history", " rise")
    off = facts(await cli("pause", "Rise", "--json"))
    on = facts(await cli("resume", "rise", "--json"))
    ran = await cli("run", "Rise")
    removed = facts(await cli("remove", "Rise", "--json"))
    by_id = await cli("remove", ids[0])

    assert several.exit_code == 1
    assert (
        f"2 schedules are called 'weather': {ids[0]} (every hour); {ids[1]} (every 2 hours)."
        in several.output
    )
    assert "It has not run yet." in history.output
    assert (off["paused"], on["paused"]) == ("person", "")
    assert ran.output.startswith("Rise: begins")
    assert removed["removed"]["id"] == ids[2]
    assert by_id.output == "Weather: removed.\n"


async def test_the_list_stands_in_columns_whatever_names_are_long_or_wide(cli: Cli) -> None:
    for name in ("Weather", "水やり", "A name that is rather long and goes on for ever so"):
        await cli("add", "--name", name, "every day at 9", "Now")
    lines = (await cli("list")).output.splitlines()

    assert {columns(line.partition("every day")[0]) for line in lines} == {10 + 2 + 1 + 2 + 30 + 2}
    assert "A name that is rather long an…  every day at 09:00" in lines[2]


async def test_a_chat_of_the_configuration_is_the_default(world: World, cli: Cli) -> None:
    world.config["cron"]["default_chat_id"] = str(BEN)
    world.configure()
    made = facts(await cli("add", "--json", "every 1d", "Sum up"))

    assert made["schedule"]["address"]["chat_id"] == str(BEN)
