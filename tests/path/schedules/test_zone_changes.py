"""A schedule keeps its time of day when the zone that it stands on changes. Source: issue 43."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.fakes.clock import FastClock
from tests.path.looking import answers, eventually, settled
from tests.path.reloading.following import reload, save
from tests.path.world import ADA, BEN, Running, World

NEW_YORK, BERLIN = "America/New_York", "Europe/Berlin"
HOUR_S = 3600


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """Monday 2 March 2026, 08:00 in Berlin and 02:00 in New York."""
    world.install("notes")
    world.clock = clock = FastClock(speed=1, start=datetime(2026, 3, 2, 6, 43, 20, tzinfo=UTC))
    world.config = {"cron": {"timezone": BERLIN, "tick_seconds": 1}}
    return clock


async def follow(bot: Running, zone: str) -> None:
    """Wait until what stands on the owner's zone is planned in this one."""
    await eventually(
        lambda: bot.rows("SELECT 1 FROM ticks WHERE name = 'owner_zone' AND state = ?", zone)
    )


async def came_at(bot: Running, zone: str) -> list[str]:
    rows = await bot.rows("SELECT due_at FROM schedule_runs ORDER BY due_at")
    moments = [datetime.fromisoformat(row["due_at"]).astimezone(ZoneInfo(zone)) for row in rows]
    return [f"{at:%a %H:%M}" for at in moments]


async def hours(bot: Running, clock: FastClock, count: int) -> None:
    """Let hours pass, one after the other, as a machine that is on does."""
    for _ in range(count):
        clock.jump(HOUR_S)
        now = bot.app.shared.clock.now().isoformat()
        await eventually(
            lambda now=now: bot.rows(
                "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM schedules WHERE next_due <= ?)", now
            )
        )
    await settled(bot)


@pytest.mark.parametrize("restarts", [False, True])
async def test_every_day_at_nine_comes_at_nine_where_the_owner_is_now(
    world: World, clock: FastClock, *, restarts: bool
) -> None:
    async with world.running() as bot:
        await bot.ask("/cron add every day at 9:00 say: Tea")
        if not restarts:
            save(world, cron={"timezone": NEW_YORK})
            await reload(world)
            await follow(bot, NEW_YORK)
    world.config = {"cron": {"timezone": NEW_YORK, "tick_seconds": 1}}
    async with world.running() as bot:
        await follow(bot, NEW_YORK)
        await hours(bot, clock, 24 + 8)
        came = await came_at(bot, NEW_YORK)

    assert came == ["Mon 09:00", "Tue 09:00"]
    assert (await answers(world)).count("Tea") == 2


async def test_what_came_today_does_not_come_again_today(world: World, clock: FastClock) -> None:
    async with world.running() as bot:
        await bot.ask("/cron add every day at 9:00 say: Tea")
        await bot.ask("/cron add 2026-03-02T20:00 say: Once")
        await hours(bot, clock, 2)
        save(world, cron={"timezone": NEW_YORK})
        await reload(world)
        await follow(bot, NEW_YORK)
        await hours(bot, clock, 40)
        came = await came_at(bot, BERLIN)

    assert came == ["Mon 09:00", "Mon 20:00", "Tue 15:00"]


async def test_what_is_over_where_the_owner_is_now_comes_late_and_is_not_lost(
    world: World, clock: FastClock
) -> None:
    world.config = {"cron": {"timezone": NEW_YORK, "tick_seconds": 1}}
    async with world.running() as bot:
        await bot.ask("/cron add every day at 3:00 say: Tea")  # 09:00 in Berlin, in an hour
        save(world, cron={"timezone": BERLIN})
        await reload(world)
        await bot.people.next_message(ADA, contains="Tea\n\n(This was due")
        await hours(bot, clock, 24)
        came = await came_at(bot, BERLIN)

    assert came == ["Mon 03:00", "Tue 03:00"]


async def test_what_a_person_planned_for_themself_follows_their_own_zone(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        for user in (ADA, BEN):
            await bot.ask("/cron add every day at 9:00 say: Tea", user=user)
        await bot.ask(f"/settings zone {BERLIN}", user=BEN)
        await bot.ask("remind me every day at 10 to walk", user=BEN)
        await bot.ask("/cron add --zone Asia/Tokyo every day at 3:00 say: Call", user=BEN)
        await bot.ask(f"/settings zone {NEW_YORK}", user=BEN)
        await hours(bot, clock, 20)
        rows = await bot.rows("SELECT person, zone, last_due FROM schedules ORDER BY person, text")

    assert [(row["person"], row["zone"], row["last_due"][11:16]) for row in rows] == [
        (str(ADA), "", "08:00"),
        (str(BEN), NEW_YORK, "15:00"),
        (str(BEN), "Asia/Tokyo", "18:00"),
        (str(BEN), NEW_YORK, "14:00"),
    ]
