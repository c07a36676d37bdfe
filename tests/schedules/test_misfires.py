"""Restarts, clocks that jump and runs that are long: no due time is lost or comes twice.

Source: issue 14 "What a clock does that jumps", design §3.8 "misfire policy".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import iso
from aouo.facts.work import Misfire, Paused, Scheduled
from aouo.schedules.service import Wish
from aouo.schedules.ticking import Ticking
from aouo.store import routes, schedule_runs, schedules
from aouo.store.database import Tx
from tests.fakes.clock import HandClock
from tests.sampling import count
from tests.schedules.ticks import Rules, Ticks, due_times, ticks_in

START = datetime(2026, 10, 24, 12, tzinfo=UTC)
"""The day before Berlin sets its clocks back."""
TEXTS = ("* * * * *", "*/15 * * * *", "every 7m", "0 * * * *", "30 2 * * *", "2026-10-25T02:30")
MINUTES = st.integers(1, 70)
Act: TypeAlias = tuple[Literal["passes", "sleeps", "off", "back", "ends", "long"], int]
ACTS = st.lists(
    st.tuples(st.sampled_from(("passes", "sleeps", "off", "back", "ends", "long")), MINUTES),
    min_size=2,
    max_size=8,
)


class Playing:
    """What happens to a ticking that runs beside the test."""

    def __init__(self, ticks: Ticks) -> None:
        self.ticks = ticks
        self._task: asyncio.Task[None] | None = None

    def start(self, group: asyncio.TaskGroup, ticking: Ticking | None = None) -> None:
        self._task = group.create_task((ticking or self.ticks.ticking()).run())

    async def stop(self) -> None:
        assert self._task
        self._task.cancel()
        await asyncio.wait([self._task])

    async def quiet(self) -> None:
        """Wait until nothing is due any more."""
        database, clock = self.ticks.database, self.ticks.clock

        def is_due(tx: Tx) -> bool:
            now = iso(clock.now())
            dues = (schedules.next_due(tx), schedule_runs.next_retry(tx))
            return bool(schedules.ahead(tx, now, 1)) or any(due and due <= now for due in dues)

        async with asyncio.timeout(20):
            while await database.read(is_due) or not clock.is_slept_by:  # noqa: ASYNC110
                await asyncio.sleep(0)

    async def act(self, group: asyncio.TaskGroup, act: Act) -> None:
        what, minutes = act
        clock, seconds = self.ticks.clock, minutes * 60
        match what:
            case "passes":
                for _ in range(minutes):
                    clock.go_on(60)
                    await self.quiet()
            case "sleeps":  # the machine: the wall clock goes on, and is looked at a minute later
                clock.go_on(0, wall_s=seconds)
                clock.go_on(61)
                await self.quiet()
            case "off":
                await self.stop()
                clock.go_on(seconds)
                self.start(group)
                await self.quiet()
            case "back":
                since_s = (clock.at - START).total_seconds()
                clock.go_on(61, wall_s=-min(float(seconds), since_s))
                await self.quiet()
            case "ends":
                self.ticks.ends = True
                await self.ticks.end()
            case "long":
                self.ticks.ends = False


@pytest.fixture
async def ticks(tmp_path: Path) -> AsyncGenerator[Ticks]:
    async with ticks_in(tmp_path, HandClock(START)) as made:
        yield made


@settings(max_examples=count(60, 20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(("run_once", "skip", "coalesce")), ACTS)
@example("run_once", [("passes", 3), ("back", 2), ("passes", 5)])
@example("skip", [("off", 5), ("back", 3), ("passes", 1), ("off", 9)])
@example("coalesce", [("long", 1), ("passes", 5), ("off", 40), ("ends", 1), ("passes", 2)])
async def test_no_due_time_is_lost_or_comes_twice(misfire: Misfire, acts: list[Act]) -> None:
    with TemporaryDirectory() as folder:
        async with ticks_in(Path(folder), HandClock(START)) as ticks:
            made = [await ticks.add(text, "Europe/Berlin", misfire=misfire) for text in TEXTS]
            playing, latest = Playing(ticks), START
            async with asyncio.TaskGroup() as group:
                playing.start(group)
                for act in acts:
                    await playing.act(group, act)
                    latest = max(latest, ticks.clock.at)
                await playing.stop()
            assert len(ticks.fired) == len(set(ticks.fired))
            for row in made:
                was_set_back = any(what == "back" for what, _ in acts)
                _judge(row, await ticks.runs(row), latest, exact=not was_set_back)


def _judge(row: Scheduled, runs: list[dict[str, Any]], latest: datetime, *, exact: bool) -> None:
    """Each due time has a row, or is counted as missed by the next row."""
    wanted = due_times(row, latest)
    got = {run["due_at"]: run for run in runs}
    assert set(got) <= set(wanted), row.text
    covered, before = set(got), -1
    for number, due_at in enumerate(wanted):
        if due_at in got:
            missed = got[due_at]["missed"]
            covered |= set(wanted[max(0, number - missed) : number])
            if exact:
                assert missed == number - before - 1, (row.text, due_at)
            before = number
    assert covered == set(wanted), (row.text, sorted(set(wanted) - covered))


async def test_a_late_run_counts_what_it_missed_and_is_told_so(ticks: Ticks) -> None:
    rows = {
        misfire: await ticks.add("0 * * * *", misfire=misfire)
        for misfire in ("run_once", "skip", "coalesce")
    }
    ticks.clock.go_on(5.5 * 3600)
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        await playing.quiet()
        await playing.stop()
    found = {name: (await ticks.runs(row))[-1] for name, row in rows.items()}

    assert {run["due_at"][:16] for run in found.values()} == {"2026-10-24T17:00"}
    assert {run["missed"] for run in found.values()} == {4}
    assert {name: run["state"] for name, run in found.items()} == {
        "run_once": "done",
        "skip": "missed",
        "coalesce": "done",
    }


@pytest.mark.parametrize("text", ["* * * * *", "0 3 * * *", "0 12 1 * *", "every 3d"])
async def test_after_years_without_a_run_the_newest_due_time_is_a_true_one(
    ticks: Ticks, text: str
) -> None:
    """There are more due times than are counted one by one."""
    row = await ticks.add(text, "Europe/Berlin")
    ticks.clock.go_on(0, wall_s=5 * 365 * 86_400 + 7 * 3600 + 29)
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        await playing.quiet()
        await playing.stop()
    (run,) = await ticks.runs(row)
    at = ticks.clock.at
    lately = row if text == "every 3d" else replace(row, since=iso(at - timedelta(days=40)))

    assert run["due_at"] == due_times(lately, at)[-1]
    assert run["missed"] == (
        1_000 if text in ("* * * * *", "0 3 * * *") else len(due_times(row, at)) - 1
    )


async def test_a_clock_that_was_years_ahead_and_is_set_right_loses_nothing(ticks: Ticks) -> None:
    """A machine that starts with a wrong clock: once set right, its schedules go on."""
    row = await ticks.add("0 * * * *")
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        ticks.clock.go_on(61, wall_s=10 * 365 * 86_400)
        await playing.quiet()
        ticks.clock.go_on(61, wall_s=-10 * 365 * 86_400.0)
        await playing.quiet()
        due = (await ticks.get(row)).next_due
        for _ in range(61):
            ticks.clock.go_on(60)
            await playing.quiet()
        await playing.stop()

    assert due[:16] == "2026-10-24T13:00"
    assert (row.id, due) in ticks.fired


async def test_what_is_due_each_minute_and_takes_five_runs_every_sixth(ticks: Ticks) -> None:
    row, ticks.ends = await ticks.add("* * * * *"), False
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        for minute in range(1, 19):
            ticks.clock.go_on(60)
            await playing.quiet()
            if minute % 6 == 0:
                await ticks.end()
        await playing.stop()
    states = [run["state"] for run in await ticks.runs(row)]

    assert states == ["done", *["busy"] * 5] * 3


async def test_a_reminder_for_once_comes_though_the_run_before_is_not_over(ticks: Ticks) -> None:
    row, ticks.ends = await ticks.add("* * * * *"), False
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        ticks.clock.go_on(60)
        await playing.quiet()
        now = ticks.clock.at
        due = "2026-10-24T12:05:00.000+00:00"
        once = replace(row, text="2026-10-24T12:05Z", since=iso(now), next_due=due)
        await ticks.database.transact(lambda tx: schedules.edit(tx, once, iso(now)))
        ticks.clock.go_on(300)
        await playing.quiet()
        await playing.stop()

    assert [due_at[11:16] for _, due_at in ticks.fired] == ["12:01", "12:05"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": "five words are no cron"}, "is not a schedule"),
        ({"text": "61 * * * *"}, "its minute is wrong"),
        ({"since": "yesterday"}, "Invalid isoformat"),
        ({"zone": "Mars/Olympus"}, "does not know the time zone"),
    ],
)
async def test_a_row_that_no_parser_takes_is_switched_off_and_told(
    ticks: Ticks, fields: dict[str, str], said: str
) -> None:
    due = "2026-10-24T12:01:00.000+00:00"
    good = await ticks.add("* * * * *")
    fresh: dict[str, Any] = {"text": "* * * * *", "zone": "UTC", **fields}
    bad = await ticks.add(next_due=due, **fresh)
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        ticks.clock.go_on(60)
        await playing.quiet()
        await playing.stop()
    row = await ticks.get(bad)

    assert (row.enabled, row.paused, row.next_due) == (False, "unreadable", "")
    assert [report.trigger for report in ticks.told if report.failed] == [bad.id]
    assert said in next(report.text for report in ticks.told if report.failed)
    assert ticks.fired == [(good.id, due)]


async def test_a_person_taken_off_the_list_gets_no_further_try(ticks: Ticks) -> None:
    row, ticks.ends = await ticks.add("* * * * *", retries=3), False
    listed = {"1001"}
    ticking = ticks.ticking(may=lambda one: "" if one.person in listed else "unlisted")
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group, ticking)
        ticks.clock.go_on(60)
        await playing.quiet()
        await ticks.end("failed", "The model is away.", may_retry=True)
        listed.clear()
        ticks.clock.go_on(300)
        await playing.quiet()
        await playing.stop()
    runs = await ticks.runs(row)

    assert len(ticks.fired) == 1
    assert (await ticks.get(row)).paused == "unlisted"
    assert [(run["state"], run["retry_at"]) for run in runs] == [("failed", None)]


async def test_one_that_is_off_runs_when_it_is_asked_for_and_is_not_tried_again(
    ticks: Ticks,
) -> None:
    """So does what is over; a failure is told at once."""
    off = await ticks.add("0 9 * * *", enabled=False, paused="person", retries=3)
    over = await ticks.add("0 9 * * *", enabled=False, paused="over")
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group, ticks.ticking())
        await ticks.run_now(over)
        await playing.quiet()
        ticks.ends = False
        await ticks.run_now(off)
        await playing.quiet()
        await ticks.end("failed", "The model is away.", may_retry=True)
        ticks.clock.go_on(300)
        await playing.quiet()
        await playing.stop()
    states = [run["state"] for row in (over, off) for run in await ticks.runs(row)]

    assert [fired for fired, _ in ticks.fired] == [over.id, off.id]
    assert states == ["done", "failed"]
    assert [report.text for report in ticks.told][-1:] == ["The model is away."]
    assert [(await ticks.get(row)).paused for row in (over, off)] == ["over", "person"]


@pytest.mark.parametrize(
    ("paused", "kind", "why"),
    [
        ("permission", "private", "it cannot run: its pack may not use schedules."),
        ("unlisted", "group", "it cannot run: it is for 1001, who is not on my list"),
        ("unlisted", "private", ""),  # nobody else would read it
    ],
)
async def test_what_is_asked_for_and_may_not_run_by_then_is_told(
    ticks: Ticks, paused: Paused, kind: str, why: str
) -> None:
    row = await ticks.add("0 9 * * *", chat_kind=kind)
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        await ticks.run_now(row)
        playing.start(group, ticks.ticking(may=lambda _: paused))
        await playing.quiet()
        await playing.stop()
    (run,) = await ticks.runs(row)

    assert (ticks.fired, run["state"]) == ([], "failed")
    assert run["why"].startswith("it cannot run: ")
    assert [why in report.text and report.asked_for for report in ticks.told] == [True] * bool(why)


async def failed_run(ticks: Ticks, playing: Playing, row: Scheduled) -> None:
    """A run of a schedule fails, and is to be tried again."""
    ticks.ends = False
    due = datetime.fromisoformat((await ticks.get(row)).next_due)
    ticks.clock.go_on((due - ticks.clock.at).total_seconds())
    await playing.quiet()
    await ticks.end("failed", "The model is away.", may_retry=True)
    ticks.ends = True


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("closed", "The model is away. It was not tried again: its conversation is closed."),
        ("off", "The model is away. It was not tried again: its schedule is off."),
    ],
)
async def test_a_further_try_begins_where_a_first_one_would_and_history_keeps_the_reason(
    ticks: Ticks, how: str, why: str
) -> None:
    topic = ConversationAddress("tg", "-5", "7")
    row = await ticks.add("0 9 * * *", address=topic, retries=3)
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        await failed_run(ticks, playing, row)
        if how == "closed":
            await ticks.database.transact(lambda tx: close(tx, topic))
        else:
            await ticks.database.transact(
                lambda tx: schedules.switch_off(tx, row.id, "person", "2026-10-25")
            )
        ticks.clock.go_on(61)
        await playing.quiet()
        await playing.stop()
    (run,) = await ticks.runs(row)

    assert len(ticks.fired) == 1
    assert (run["state"], run["retry_at"], run["why"]) == ("failed", None, why)


async def test_what_is_for_once_is_tried_again_in_a_closed_topic_too(ticks: Ticks) -> None:
    topic = ConversationAddress("tg", "-5", "7")
    row = await ticks.add("2026-10-25T02:30", address=topic, retries=1)
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        await failed_run(ticks, playing, row)
        await ticks.database.transact(lambda tx: close(tx, topic))
        ticks.clock.go_on(61)
        await playing.quiet()
        await playing.stop()

    assert len(ticks.fired) == 2
    assert (await ticks.get(row)).paused == "over"


async def test_what_is_for_once_and_has_run_at_that_time_is_over_again(ticks: Ticks) -> None:
    """The clock was set back, and its person gave it the same time anew."""
    text = "2026-10-24T12:05Z"
    row = await ticks.add(text)
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        ticks.clock.go_on(300)
        await playing.quiet()
        over = await ticks.get(row)
        ticks.clock.go_on(61, wall_s=-200)
        await ticks.database.transact(
            lambda tx: Rules().change(tx, over, Wish(text=text), ticks.clock.at)
        )
        on = await ticks.get(row)
        ticks.clock.go_on(300)
        await playing.quiet()
        await playing.stop()
    after = await ticks.get(row)

    assert [found.paused for found in (over, on)] == ["over", ""]
    assert len(ticks.fired) == 1
    assert (after.enabled, after.paused, after.last_state) == (False, "over", "done")


def close(tx: Tx, topic: ConversationAddress) -> None:
    routes.get_or_create(tx, topic, "forum", "2026-10-24")
    routes.set_paused(tx, topic, "closed", "2026-10-24")


async def test_a_closed_topic_counts_what_it_missed(ticks: Ticks) -> None:
    topic = ConversationAddress("tg", "-5", "7")
    row = await ticks.add("* * * * *", address=topic)
    await ticks.database.transact(lambda tx: close(tx, topic))
    ticks.clock.go_on(3600)
    async with asyncio.TaskGroup() as group:
        playing = Playing(ticks)
        playing.start(group)
        await playing.quiet()
        await playing.stop()
    runs = await ticks.runs(row)

    assert [(run["state"], run["missed"]) for run in runs] == [("missed", 59)]
