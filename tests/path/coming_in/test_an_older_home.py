"""A home that an older aouo left is started as it is: what waited there goes on."""

from __future__ import annotations

import asyncio
import json

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from tests.fakes.clock import FastClock
from tests.fakes.old_home import put_old_database
from tests.path.looking import answers, eventually, prompts, settled
from tests.path.world import World


@pytest.fixture(autouse=True)
async def old(world: World) -> None:
    world.install("notes")
    world.clock = FastClock()
    put_old_database(world.home.database)


async def test_what_waited_is_answered_and_what_was_not_sent_is_sent(world: World) -> None:
    async with world.running() as bot:
        await settled(bot)
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 7 AND state = 'done'"))
        await bot.ask("hello")
        shown, asked = await answers(world), prompts(world)
        found = await bot.ask("/sessions")
        jobs = await bot.rows("SELECT DISTINCT state FROM jobs ORDER BY state")

    assert "the kudu was never sent" in shown
    for words in ("the heron was cut off", "the ibis waits", "the jackal gathers"):
        assert sum(words in one for one in asked) == 1, words
    went_on = next(str(body) for body in world.model.requests if "the heron was" in str(body))
    assert "On sleep." in went_on
    assert "Elephants" in str(found.buttons)
    assert [row["state"] for row in jobs] == ["aside", "done", "dropped"]


async def test_schedules_are_where_they_were_and_what_nothing_fired_comes_once(
    world: World,
) -> None:
    async with world.running() as bot:
        await eventually(lambda: bot.rows("SELECT 1 FROM schedule_runs WHERE state = 'done'"))
        await settled(bot)
        rows = await bot.rows("SELECT id FROM schedules WHERE id LIKE 'sched-%' ORDER BY id")
        runs = await bot.rows("SELECT schedule_id, due_at, missed FROM schedule_runs")
        listed = await bot.ask("/cron")

    assert len(rows) == 5
    assert [(run["schedule_id"], run["due_at"][:10]) for run in runs] == [
        ("sched-overdue", "2026-03-02")
    ]
    assert "Tuesday 1 December 2026" in listed.text


async def test_the_doctor_finds_nothing_wrong_with_it(world: World) -> None:
    world.configure()
    told = ["--home", str(world.home.path), "doctor", "--fast", "--json"]
    result = await asyncio.to_thread(CliRunner().invoke, aouo, told)
    failed = [one for one in json.loads(result.stdout)["checks"] if one["status"] == "fail"]

    assert failed == []
