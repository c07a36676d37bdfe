"""What stands in buttons and behind commands may be anything, and a full list loses no reminder.

Source: issue 43.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from aouo.facts.ports import iso
from aouo.facts.work import ScheduleRun
from aouo.store import schedule_runs, schedules
from aouo.store.database import Tx
from tests.fakes.clock import FastClock
from tests.path.looking import eventually, settled
from tests.path.schedules.scheduled import made, reminder
from tests.path.world import ADA, World

DAY_S = 86_400


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes", "vocab")
    world.clock = clock = FastClock(speed=1)
    return clock


@pytest.mark.parametrize("number", ["999999999999", "9" * 40, "-1", "x", "²", "٣", "1e9", "0"])
async def test_a_number_that_is_none_or_too_large_is_answered_with_a_sentence(
    world: World, number: str
) -> None:
    world.clock = FastClock(speed=100)
    async with world.running() as bot:
        await bot.ask("/use vocab")
        page = await bot.ask("/menu")
        row = await made(bot, say="Tea", in_s=9_000)
        answers = [
            await bot.ask(f"/{line}".format(number))
            for line in (
                f"cron done {row.id} {{}}",
                f"cron snooze {row.id} {{}} 10m",
                "cron page {}",
                "cron history {}",
                "jobs stop {}",
                "memory undo {}",
                "sessions summary {}",
            )
        ]
        for data in (f"nav:page~{number}", f"nav:~{number}", f"choice_1:{number}"):
            await bot.people.act("tap", user=ADA, chat=ADA, message_id=page.id, data=data)
        await settled(bot)
        shown = [m.text for m in await bot.people.messages(ADA)]
        broken = await bot.rows("SELECT 1 FROM jobs WHERE outcome LIKE '%broke%'")

    assert len(answers) == 7
    assert not [text for text in shown if "broke" in text]
    assert broken == []


@pytest.mark.parametrize("span", ["10 minutes", "1 hour", "Tomorrow"])
async def test_a_reminder_that_cannot_be_put_off_says_so_and_stays(
    world: World, clock: FastClock, span: str
) -> None:
    async with world.running() as bot:
        await made(bot, say="Tea")
        clock.jump(61)
        came = await bot.people.next_message(ADA, contains="Tea")
        now = bot.app.shared.clock.now()

        def fill(tx: Tx) -> None:
            for number in range(200):
                row = reminder(now, 90_000, name=f"N{number}")
                schedules.add(tx, row, iso(now))

        await bot.app.shared.database.transact(fill)
        button = next(button for button in came.buttons if button.text == span)
        await bot.people.tap(ADA, ADA, came.id, button.data)
        told = await bot.people.next_message(ADA, after=came.id)
        (still,) = [m for m in await bot.people.messages(ADA) if m.id == came.id]
        await bot.people.tap(ADA, ADA, came.id, came.buttons[0].data)
        await eventually(lambda: bot.rows("SELECT 1 FROM schedule_runs WHERE why = 'done'"))

    assert "200" in told.text
    assert (still.text, still.buttons) == (came.text, came.buttons)


async def test_runs_of_what_repeats_go_after_their_days_but_for_the_newest(
    world: World, clock: FastClock
) -> None:
    """The newest ten stay, which the history shows; so does what is still at work."""
    async with world.running() as bot:
        row = await made(bot, text="every 1h", in_s=90_000)
        yearly = await made(bot, text="every year on 3 May at 9:00", in_s=90_000)
        now = bot.app.shared.clock.now()

        def fill(tx: Tx) -> None:
            for day in range(100):
                due = iso(now.replace(year=2025) + day * (now - now.replace(day=1)))
                schedule_runs.add(tx, ScheduleRun(row.id, due, "done"), iso(now))
            old = ScheduleRun(yearly.id, iso(now.replace(year=2025)), "done")
            schedule_runs.add(tx, old, iso(now))
            waiting = replace(
                old, schedule_id=row.id, due_at="2020-01-01T00:00:00", state="waiting"
            )
            schedule_runs.add(tx, waiting, iso(now))

        await bot.app.shared.database.transact(fill)
        await bot.app.tidying.prune()
        kept = await bot.rows(
            "SELECT schedule_id, state, count(*) AS many FROM schedule_runs GROUP BY 1, 2"
        )

    assert {(one["schedule_id"], one["state"]): one["many"] for one in kept} == {
        (row.id, "done"): 10,
        (row.id, "waiting"): 1,
        (yearly.id, "done"): 1,
    }
