"""A year of schedules in zones that change their clocks: each due time once, and no other.

Source: issue 14 "Done when". The due times are found once more, minute by minute on the wall.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias
from zoneinfo import ZoneInfo

from aouo.facts.ports import iso
from aouo.facts.work import Scheduled
from tests.fakes.clock import LeapingClock
from tests.sampling import places
from tests.schedules.ticks import let_run, ticks_in

BEGIN, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
LIMIT_S = 120
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
"""The last one lies in the south and changes its clock by half an hour."""
Day: TypeAlias = Callable[[datetime], bool]


def any_day(wall: datetime) -> bool:
    del wall
    return True


FIXED: dict[str, tuple[Day, tuple[tuple[int, int], ...]]] = {
    "30 2 * * *": (any_day, ((2, 30),)),
    "15 2,3 * * *": (any_day, ((2, 15), (3, 15))),
    "0 9 * * 1-5": (lambda wall: wall.weekday() < 5, ((9, 0),)),
    "0 8 1 * *": (lambda wall: wall.day == 1, ((8, 0),)),
    "45 23 L * *": (lambda wall: (wall + timedelta(days=1)).day == 1, ((23, 45),)),
    "0 12 29 2 *": (lambda wall: (wall.month, wall.day) == (2, 29), ((12, 0),)),
    "5 2 13 * 5": (lambda wall: wall.day == 13 or wall.weekday() == 4, ((2, 5),)),
}
"""Times of day: what comes in a gap comes right after it, and what comes twice counts once."""
FLOWING: dict[str, Callable[[datetime], bool]] = {
    "0 */12 * * *": lambda wall: wall.minute == 0 and wall.hour % 12 == 0,
    "*/20 2 * * 0": lambda wall: wall.minute % 20 == 0 and wall.hour == 2 and wall.weekday() == 6,
    "30 * 29 3 *": lambda wall: (wall.month, wall.day, wall.minute) == (3, 29, 30),
}
"""A star at the minute or the hour: they follow elapsed time."""
EVERY = {"every 29h": timedelta(hours=29), "every 50h": timedelta(hours=50)}
ONCE = {"2026-03-29T02:30": (3, 29, 2, 30), "2026-10-25T02:30": (10, 25, 2, 30)}


def first_from(wall: datetime, zone: ZoneInfo) -> datetime:
    """The first moment whose wall clock shows this time, or a later one after a gap."""
    for fold in (0, 1):
        at = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        if at.astimezone(zone).replace(tzinfo=None) == wall:
            return at
    at = (wall - timedelta(hours=3)).replace(tzinfo=zone).astimezone(UTC)
    while at.astimezone(zone).replace(tzinfo=None) < wall:
        at += timedelta(minutes=1)
    return at


def days(zone: ZoneInfo) -> Iterator[datetime]:
    day = BEGIN.astimezone(zone).replace(tzinfo=None, hour=0, minute=0) - timedelta(days=1)
    for number in range(369):
        yield day + timedelta(days=number)


def counted(text: str, zone: ZoneInfo) -> set[str]:
    """The due times of the year, without a word of the code that computes them."""
    found: set[datetime] = set()
    if text in FIXED:
        on, times = FIXED[text]
        walls = [day.replace(hour=h, minute=m) for day in days(zone) if on(day) for h, m in times]
        found = {first_from(wall, zone) for wall in walls}
    elif text in FLOWING:
        step, number = timedelta(minutes=5), (END - BEGIN) // timedelta(minutes=5)
        moments = (BEGIN + step * n for n in range(number + 1))
        found = {at for at in moments if FLOWING[text](at.astimezone(zone))}
    elif text in EVERY:
        found = {BEGIN + EVERY[text] * n for n in range(1, (END - BEGIN) // EVERY[text] + 1)}
    elif text == "every 1d":
        wall = BEGIN.astimezone(zone).replace(tzinfo=None)
        found = {first_from(wall + timedelta(days=n), zone) for n in range(1, 367)}
    elif text == "45d":
        found = {BEGIN + timedelta(days=45)}
    else:
        month, day, hour, minute = ONCE[text]
        found = {first_from(datetime(2026, month, day, hour, minute), zone)}  # noqa: DTZ001
    return {iso(at) for at in found if BEGIN < at <= END}


async def test_a_year_of_schedules_fires_each_due_time_once_and_no_other(tmp_path: Path) -> None:
    zones = places(ZONES)
    clock, made = LeapingClock(BEGIN, END), list[Scheduled]()
    async with ticks_in(tmp_path, clock) as ticks:
        for zone in zones:
            for text in (*FIXED, *FLOWING, *EVERY, "every 1d", "45d", *ONCE):
                made.append(await ticks.add(text, zone))
        async with asyncio.timeout(LIMIT_S):
            await let_run(ticks, ticks.ticking(longest_s=40 * 86_400.0), until=clock.over)
        rows = {row.id: await ticks.runs(row) for row in made}

    for row in made:
        fired = [due_at for schedule, due_at in ticks.fired if schedule == row.id]
        assert fired == sorted(counted(row.text, ZoneInfo(row.zone))), (row.text, row.zone)
        assert [one["due_at"] for one in rows[row.id]] == fired
        assert {(one["state"], one["missed"]) for one in rows[row.id]} <= {("done", 0)}
    assert len(ticks.fired) > 1_600 * len(zones)
