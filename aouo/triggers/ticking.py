"""Fires schedules when they are due: each due time of a schedule once, whatever the clock does.

A run is a job in the lane of its schedule. Its row, the job and the next due time are written in
one transaction, so that a kill neither loses nor doubles one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import TypeAlias

import structlog

from aouo.facts.address import Lane
from aouo.facts.events import Inbound, Person, Report, Triggered
from aouo.facts.ids import ulid
from aouo.facts.ports import Clock, iso
from aouo.facts.schedule import NotASchedule, Once, Schedule, next_after, parse
from aouo.facts.schedule_words import moment_in_words
from aouo.facts.work import Paused, RunState, Scheduled, ScheduleRun
from aouo.plumbing.zones import is_known
from aouo.store import jobs, routes, schedule_runs, schedules
from aouo.store.database import Database, Tx
from aouo.triggers.scheduling import ZoneOf

log = structlog.get_logger()
BATCH = 100
LATE = timedelta(seconds=90)
"""A due time that is met later than this was missed: nothing ran then."""
_COUNTED_MAX = 1_000
_NAME_CHARS = 60
_CLOSED, _BUSY = "its conversation is closed", "the run before was not over"
_NOTHING_RAN = "nothing ran at that time"

Due: TypeAlias = Callable[[Tx, datetime], Sequence[Inbound]]
May: TypeAlias = Callable[[Scheduled], Paused]
"""Why a schedule may not run any more, "" = it may."""


class Ticking:
    """Files a job for each due time; `trigger` is `Inbox.trigger`.

    `enabled` and `longest_s` follow the settings: whether schedules run, and the longest sleep.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        trigger: Callable[[Due], Awaitable[int]],
        zone_of: ZoneOf,
        may: May,
        enabled: Callable[[], bool],
        longest_s: Callable[[], float],
    ) -> None:
        self._database = database
        self._clock = clock
        self._trigger = trigger
        self._zone_of = zone_of
        self._may = may
        self._enabled = enabled
        self._longest_s = longest_s
        self._changed = asyncio.Event()
        database.listen(schedules.CHANGED, self._changed.set)

    async def run(self) -> None:
        """Fire what is due, for ever."""
        while True:
            self._changed.clear()
            if self._enabled() and (due := await self._database.read(_next)):
                wait_s = (datetime.fromisoformat(due) - self._clock.now()).total_seconds()
                if wait_s <= 0:
                    await self._trigger(self._due)
                    await asyncio.sleep(0)
                    continue
            else:
                wait_s = self._longest_s()
            await self._sleep(min(wait_s, self._longest_s()))

    async def _sleep(self, seconds: float) -> None:
        """Sleep, but not longer than until a schedule changes."""
        async with asyncio.TaskGroup() as group:
            waits = (self._clock.sleep(seconds), self._changed.wait())
            tasks = [group.create_task(_awaited(one)) for one in waits]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()

    def _due(self, tx: Tx, now: datetime) -> list[Inbound]:
        found = [
            one for row in schedules.due(tx, iso(now), BATCH) for one in self._fire(tx, row, now)
        ]
        for run in schedule_runs.to_retry(tx, iso(now), BATCH):
            row = schedules.get(tx, run.schedule_id)
            schedule_runs.begin(tx, run.schedule_id, run.due_at)
            if row:
                found.append(run_of(row, run.due_at))
        return found

    def _fire(self, tx: Tx, row: Scheduled, now: datetime) -> list[Inbound]:
        """Meet a due time; return the job, or what is said about why there is none."""
        if paused := self._may(row):
            schedules.switch(tx, row.id, paused, "", iso(now))
            log.info("schedule_paused", schedule=row.id, why=paused)
            return []
        zone = self._zone_of(row.zone)
        try:
            if row.zone and not is_known(row.zone):
                raise NotASchedule(
                    f"this machine does not know the time zone {row.zone!r} any more."
                )
            schedule = parse(row.text, datetime.fromisoformat(row.since), zone)
            due = datetime.fromisoformat(row.next_due)
        except ValueError as error:
            schedules.switch(tx, row.id, "unreadable", "", iso(now))
            log.warning("schedule_unreadable", schedule=row.id, error=str(error))
            return [_told(row, f"it cannot be run, so it is off now: {error}")]
        if routes.is_paused(tx, row.address) and not isinstance(schedule, Once):
            return self._pass(tx, row, schedule, due, now, "missed", _CLOSED)
        if jobs.any_open(tx, lane_of(row)) or schedule_runs.is_to_retry(tx, row.id):
            return self._pass(tx, row, schedule, due, now, "busy", _BUSY)
        if now - due <= LATE:
            return self._begin(tx, row, schedule, due, due, 0, ())
        newest, missed = _missed(schedule, due, now, zone)
        if row.misfire == "skip" and not isinstance(schedule, Once):
            return self._pass(tx, row, schedule, newest, now, "missed", _NOTHING_RAN, missed)
        about = _late_line(row, due, newest, missed, zone)
        return self._begin(tx, row, schedule, newest, now, missed, (about,))

    def _begin(
        self,
        tx: Tx,
        row: Scheduled,
        schedule: Schedule,
        due: datetime,
        after: datetime,
        missed: int,
        about: tuple[str, ...],
    ) -> list[Inbound]:
        """File the run of `due`; the next due time is the first after `after`."""
        due_at = iso(due)
        self._advance(tx, row, schedule, due_at, after)
        run = ScheduleRun(row.id, due_at, "waiting", missed=missed)
        if not schedule_runs.add(tx, run, iso(self._clock.now())):  # the clock was set back
            return []
        schedule_runs.begin(tx, row.id, due_at)
        log.info("schedule_fired", schedule=row.id, due_at=due_at, missed=missed)
        return [run_of(row, due_at, about)]

    def _pass(
        self,
        tx: Tx,
        row: Scheduled,
        schedule: Schedule,
        due: datetime,
        now: datetime,
        state: RunState,
        why: str,
        missed: int = 0,
    ) -> list[Inbound]:
        """Note that nothing runs at `due`."""
        run = ScheduleRun(row.id, iso(due), state, missed=missed, why=why)
        schedule_runs.add(tx, run, iso(now))
        self._advance(tx, row, schedule, iso(due), now)
        log.info("schedule_passed", schedule=row.id, due_at=iso(due), why=why)
        return []

    def _advance(
        self, tx: Tx, row: Scheduled, schedule: Schedule, due_at: str, after: datetime
    ) -> None:
        upcoming = next_after(schedule, after, self._zone_of(row.zone))
        schedules.advance(tx, row.id, due_at, iso(upcoming) if upcoming else "")


def lane_of(row: Scheduled) -> Lane:
    """The lane of a schedule's runs."""
    return Lane(f"cron:{row.id}")


def run_of(row: Scheduled, due_at: str, about: tuple[str, ...] = ()) -> Inbound:
    """Return what a run of a schedule asks for."""
    skill = row.skill.partition(":")[2]
    content = Triggered(
        trigger=row.id,
        name=name_of(row),
        prompt=row.prompt or f"[the schedule of the skill {skill} is due]",
        pack=row.pack,
        skill=row.skill,
        due_at=due_at,
        about=(_WHO, *about),
        timeout_s=row.timeout_s,
        tokens_max=row.tokens_max,
    )
    return _inbound(row, content)


def name_of(row: Scheduled) -> str:
    """Return what people call a schedule."""
    skill = row.skill.partition(":")[2]
    name = row.name or row.key.replace("-", " ") or skill.replace("-", " ") or row.prompt
    return " ".join(name.split())[:_NAME_CHARS]


_WHO = (
    "[a schedule runs this by itself; nobody is there to answer questions. Your answer goes to the "
    "person. If there is nothing to tell them, answer [SILENT] and nothing else]"
)


def _told(row: Scheduled, why: str) -> Inbound:
    report = Report(ulid(), name_of(row), row.prompt, why, row.pack, row.id, failed=True)
    return _inbound(row, report)


def _inbound(row: Scheduled, content: Triggered | Report) -> Inbound:
    return Inbound(row.address, Person(row.person), content, row.chat_kind, origin="cron")


def _missed(schedule: Schedule, due: datetime, now: datetime, zone: tzinfo) -> tuple[datetime, int]:
    """Return the newest due time up to `now`, and how many came before it since `due`.

    Of more than `_COUNTED_MAX` only the newest are looked at: none come more often than each
    minute.
    """
    missed, skipped = 0, False
    while (later := next_after(schedule, due, zone)) and later <= now:
        if missed == _COUNTED_MAX and not skipped:
            skipped = True
            due = max(due, now - timedelta(minutes=_COUNTED_MAX))
            continue
        due, missed = later, missed + (not skipped)
    return due, missed


def _late_line(row: Scheduled, due: datetime, newest: datetime, missed: int, zone: tzinfo) -> str:
    if row.misfire == "coalesce" and missed:
        count = f"{missed + 1:,}" + ("" if missed < _COUNTED_MAX else " or more")
        first, last = moment_in_words(due, zone), moment_in_words(newest, zone)
        return f"[this run stands for the {count} times it was due from {first} to {last}]"
    return f"[this was due {moment_in_words(newest, zone)}, and is late: nothing ran then]"


def _next(tx: Tx) -> str:
    return min(filter(None, (schedules.next_due(tx), schedule_runs.next_retry(tx))), default="")


async def _awaited(one: Awaitable[object]) -> None:
    await one
