"""Fires schedules when they are due, each due time once, and settles their runs.

A run is a job in the lane of its schedule. Its row, the job and the next due time are written in
one transaction, so that a kill neither loses nor doubles one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from functools import partial
from typing import Literal, TypeAlias

from aouo.facts.events import Inbound, Person, Report, Triggered
from aouo.facts.ids import ulid
from aouo.facts.ports import Clock, iso
from aouo.facts.schedule import NotASchedule, Schedule, next_after, parse
from aouo.facts.work import Job, Paused, RunState, Scheduled, ScheduleRun
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import first
from aouo.plumbing.web.envelope import said_by
from aouo.plumbing.zones import is_known
from aouo.schedules import proposals, zones
from aouo.schedules.service import Schedules, why_not
from aouo.store import jobs, routes, schedule_runs, schedules
from aouo.store.database import Database, Tx
from aouo.words import sentences
from aouo.words.catalogue import speaking, text
from aouo.words.schedules import moment_in_words

SILENT = "[SILENT]"
"""An answer that is this alone is not sent. Source: contract."""
_RETRY_AFTER = timedelta(minutes=1)
"""After the first failure; twice as long after each further one."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a triggered turn ended: `text` is its answer, or a sentence that says why it has none.

    `may_retry`: the failure may be over after a while. `spoke`: it sent messages by `msg`.
    """

    turn_id: str
    status: Literal["done", "failed", "stopped"]
    text: str
    may_retry: bool = False
    spoke: bool = False


Settle: TypeAlias = Callable[[Tx, Job, Triggered, RunEnd, str], Report | None]
"""Settles a run in the transaction that ends its turn; returns what its conversation is told."""


def settle_schedule(tx: Tx, job: Job, asked: Triggered, end: RunEnd, now: str) -> Report | None:
    """Settle the run of a schedule: its answer is told. Of a model's failure its own words are,
    with why, unless it is tried again within a minute; any other failure is told after the last
    try, and only if the run before it did not fail, too. Of what a person asked for now they are
    always told, and it is not tried again; neither is a schedule that is off."""
    run = schedule_runs.get(tx, asked.trigger, asked.due_at)
    row = schedules.get(tx, asked.trigger)
    if run is None or row is None:  # removed meanwhile
        return None
    if end.status == "stopped":
        schedule_runs.settle(tx, run, "stopped", now, job_id=job.id)
        return None
    if end.status == "failed":
        retry_at = ""
        may_retry = end.may_retry and row.enabled and not asked.asked_for
        if may_retry and run.tries <= row.retries:
            later = _RETRY_AFTER * 2 ** (run.tries - 1)
            retry_at = iso(datetime.fromisoformat(now) + later)
        words = _own_words(tx, row, asked, end, retry_at, now)
        schedule_runs.settle(tx, run, "failed", now, job_id=job.id, why=end.text, retry_at=retry_at)
        if words:
            report = report_of(asked, replace(end, text=words))
            return replace(report, failed=False, source=row.source)
        if retry_at or (row.last_state == "failed" and not asked.asked_for):
            return None
        return report_of(asked, end)
    is_silent = end.text.strip() in ("", SILENT) and not end.spoke
    schedule_runs.settle(tx, run, "silent" if is_silent else "done", now, job_id=job.id)
    if is_silent and not asked.asked_for:
        return None
    if is_silent:
        end = replace(end, text=text("schedules.nothing-to-tell"))
    return report_of(asked, end)


def _own_words(
    tx: Tx, row: Scheduled, asked: Triggered, end: RunEnd, retry_at: str, now: str
) -> str:
    """Return what a failed run says in place of an answer: its schedule's words and why; "" = they
    were said before, or need not be."""
    again = datetime.fromisoformat(retry_at or now) - datetime.fromisoformat(asked.due_at or now)
    if asked.asked_for or not row.prompt or (retry_at and again <= _LATE):
        return ""
    if row.last_state == "failed" and not end.may_retry:  # no model's: it lasts, and was told
        return ""
    if not schedules.is_late(tx, row.id, asked.due_at, now):
        return ""
    if retry_at:
        return text("runs.no-answer-yet", said=row.prompt)
    return sentences.run_given_up(row.prompt, end.text)


def settle_command(tx: Tx, job: Job, asked: Triggered, end: RunEnd, now: str) -> Report | None:
    """Settle the turn of a command that runs apart: its person asked for it, so all is told but
    that it was stopped."""
    del tx, job, now
    return None if end.status == "stopped" else report_of(asked, end)


def report_of(asked: Triggered, end: RunEnd) -> Report:
    """Return the report of a run that is to be told."""
    said = end.text.strip()
    return Report(
        turn_id=end.turn_id,
        name=asked.name,
        prompt=asked.prompt,
        text="" if said == SILENT else said,
        pack=asked.pack,
        trigger=asked.trigger,
        failed=end.status == "failed",
        asked_for=asked.asked_for,
    )


_BATCH = 100
_LATE = timedelta(seconds=90)
"""A due time that is met later than this was missed: nothing ran then."""
_COUNTED_MAX = 1_000
_ENOUGH_S = 0.05
"""A transaction that fires takes no further schedule after this time: others wait to write."""
_WHO = (
    "[a schedule runs this by itself; nobody is there to answer questions. Your answer goes to the "
    "person. If there is nothing to tell them, answer [SILENT] and nothing else]"
)

Due: TypeAlias = Callable[[Tx, datetime], Sequence[Inbound]]


@dataclass(slots=True, eq=False)
class Ticking:
    """Files a job for each due time; `trigger` is `Inbox.trigger`, `longest_s` the longest sleep
    as the settings are now, `language` a person's."""

    database: Database
    clock: Clock
    trigger: Callable[[Due], Awaitable[int]]
    schedules: Schedules
    longest_s: Callable[[], float]
    language: Callable[[str], str]
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self.database.listen(schedules.CHANGED, self._changed.set)

    async def run(self) -> None:
        """Fire what is due, for ever."""
        while True:
            self._changed.clear()
            if str(self.schedules.zone_of("")) != await self.database.read(schedules.owner_zone):
                await self.database.transact(self._follow_zone)
            look = partial(_next, now=self.clock.now())
            if self.schedules.enabled() and (due := await self.database.read(look)):
                wait_s = (datetime.fromisoformat(due) - self.clock.now()).total_seconds()
                if wait_s <= 0:
                    await self.trigger(self._due)
                    await asyncio.sleep(0)
                    continue
            else:
                wait_s = self.longest_s()
            await first(self.clock.sleep(min(wait_s, self.longest_s())), self._until_changed())

    def _follow_zone(self, tx: Tx) -> None:
        zones.follow_owner(tx, self.schedules.zone_of, self.clock.now())

    async def _until_changed(self) -> None:
        await self._changed.wait()

    def _due(self, tx: Tx, now: datetime) -> list[Inbound]:
        enough_s = self.clock.monotonic_s() + _ENOUGH_S
        self._follow_zone(tx)
        for row in schedules.ahead(tx, iso(now), _BATCH):
            self._turn_back(tx, row, now)
        found: list[Inbound] = []
        for row in schedules.due(tx, iso(now), _BATCH):
            with speaking(self.language(row.person)):
                found += self._fire(tx, row, now)
            if self.clock.monotonic_s() > enough_s:
                break
        for run in schedule_runs.to_retry(tx, iso(now), _BATCH):
            row = schedules.get(tx, run.schedule_id)
            with speaking(self.language(row.person if row else "")):
                found += self._retry(tx, row, run, now)
        return found

    def _turn_back(self, tx: Tx, row: Scheduled, now: datetime) -> None:
        """Plan a schedule anew that has run later than `now`, because the clock was wrong then.

        A due time that comes again and has run does not run again.
        """
        due = proposals.due_after(row, now, self.schedules.zone_of) or row.next_due
        schedules.advance(tx, row.id, schedule_runs.newest(tx, row.id, iso(now)), due)
        log.warning("schedule_turned_back", schedule=row.id, from_=row.next_due, to=due)

    def _retry(
        self, tx: Tx, row: Scheduled | None, run: ScheduleRun, now: datetime
    ) -> list[Inbound]:
        """Begin a further try, or the first of a run that was asked for, also while it is off."""
        asked_for = run.tries == 0
        told: list[Inbound] = []
        if row is None or not (row.enabled or asked_for):
            why = text("schedules.not-off")
        elif paused := self._is_off(tx, row, now):
            why = text("schedules.not-off")
            if asked_for:
                why = text("schedules.cannot-run", why=why_not(row, paused))
            theirs_alone = paused == "unlisted" and row.chat_kind == "private"
            if asked_for and not theirs_alone:
                told = [_told(row, why, asked_for=True)]
        elif not (why := _closed(tx, row, is_last=asked_for or not row.next_due)):
            schedule_runs.begin(tx, row.id, run.due_at)
            if row.say:
                return [_reminder(tx, row, run, now)]
            return [run_of(row, run.due_at, asked_for=asked_for)]
        why = text("schedules.no-retry", failed=run.why, why=why) if run.why else why
        schedule_runs.settle(tx, run, "failed", iso(now), job_id=run.job_id, why=why)
        return told

    def _is_off(self, tx: Tx, row: Scheduled, now: datetime) -> Paused:
        """Why a schedule may not run any more, "" = it may; it is switched off then."""
        if paused := self.schedules.may_run(row):
            schedules.switch_off(tx, row.id, paused, iso(now))
            log.info("schedule_paused", schedule=row.id, why=paused)
        return paused

    def _fire(self, tx: Tx, row: Scheduled, now: datetime) -> list[Inbound]:
        """Meet a due time; return the job, or what is said about why there is none."""
        if self._is_off(tx, row, now):
            return []
        zone = self.schedules.zone_of(row.zone)
        try:
            if row.zone and not is_known(row.zone):
                raise NotASchedule(text("schedules.no-zone", zone=repr(row.zone)))
            schedule = parse(row.text, datetime.fromisoformat(row.since), zone)
            due = datetime.fromisoformat(row.next_due)
        except ValueError as error:
            schedules.switch_off(tx, row.id, "unreadable", iso(now))
            log.warning("schedule_unreadable", schedule=row.id, error=str(error))
            return [_told(row, text("schedules.is-off-now", why=error))]
        return self._meet(tx, row, schedule, due, now)

    def _meet(
        self, tx: Tx, row: Scheduled, schedule: Schedule, due: datetime, now: datetime
    ) -> list[Inbound]:
        """Write a row for the newest due time up to `now`, and return the job of its run.

        The last time there is always runs: late, and after the run before it.
        """
        zone, is_late = self.schedules.zone_of(row.zone), now - due > _LATE
        newest = _newest(schedule, due, now, zone) if is_late else due
        upcoming = next_after(schedule, newest, zone)
        schedules.advance(tx, row.id, iso(newest), iso(upcoming) if upcoming else "")
        missed = _count(schedule, due, newest, zone)
        if missed:  # some may have run before the clock was set back
            missed = max(0, missed - schedule_runs.count(tx, row.id, iso(due), iso(newest)))
        state, why = _passes(tx, row, is_late) if upcoming else ("waiting", "")
        run = ScheduleRun(row.id, iso(newest), state, missed=missed, why=why)
        if not schedule_runs.add(tx, run, iso(now)):  # the clock was set back, or it was run then
            there = schedule_runs.get(tx, row.id, run.due_at)
            if there and there.settled_at and not there.retry_at and not upcoming:
                schedules.settled(tx, row.id, there.state)
            return []
        facts = {"schedule": row.id, "due_at": run.due_at, "missed": missed}
        if state != "waiting":
            log.info("schedule_passed", why=why, **facts)
            return []
        schedule_runs.begin(tx, row.id, run.due_at)
        log.info("schedule_fired", **facts)
        if row.say:
            late = moment_in_words(newest, zone) if is_late else ""
            return [_reminder(tx, row, run, now, late)]
        about = (_late_line(row, due, newest, missed, zone),) if is_late else ()
        return [run_of(row, run.due_at, about)]


def _passes(tx: Tx, row: Scheduled, is_late: bool) -> tuple[RunState, str]:
    """Decide what becomes of a due time, and why; `waiting` = it runs."""
    if closed := _closed(tx, row, is_last=False):
        return "missed", closed
    if jobs.any_open(tx, row.lane) or schedule_runs.is_to_retry(tx, row.id):
        return "busy", text("schedules.not-busy")
    if is_late and row.misfire == "skip":
        return "missed", text("schedules.not-late")
    return "waiting", ""


def _closed(tx: Tx, row: Scheduled, *, is_last: bool) -> str:
    """Why no run may begin in the schedule's conversation, "" = one may. What has no other time
    runs all the same, and its result goes where messages of such a conversation go."""
    is_closed = not is_last and routes.is_paused(tx, row.address)
    return text("schedules.not-closed") if is_closed else ""


def run_of(
    row: Scheduled, due_at: str, about: tuple[str, ...] = (), *, asked_for: bool = False
) -> Inbound:
    """Return what a run of a schedule asks for; `asked_for` as in `Triggered`."""
    skill = row.skill.partition(":")[2]
    content = Triggered(
        trigger=row.id,
        name=row.title,
        prompt=said_by(row.source, row.prompt or f"[the schedule of {skill or row.act} is due]"),
        pack=row.pack,
        skill=row.skill,
        due_at=due_at,
        about=(_WHO, *about),
        timeout_s=row.timeout_s,
        tokens_max=row.tokens_max,
        asked_for=asked_for,
        act=row.act,
    )
    return _inbound(row, content)


def _reminder(tx: Tx, row: Scheduled, run: ScheduleRun, now: datetime, late: str = "") -> Inbound:
    """Settle a run that says its words, and return them for the conversation."""
    schedule_runs.settle(tx, run, "done", iso(now))
    said = text("schedules.said-late", say=row.say, at=late) if late else row.say
    report = Report(ulid(), row.title, "", said, row.pack, row.id, due_at=run.due_at)
    return _inbound(row, replace(report, source=row.source))


def _told(row: Scheduled, why: str, *, asked_for: bool = False) -> Inbound:
    report = Report(
        ulid(), row.title, row.prompt, why, row.pack, row.id, failed=True, asked_for=asked_for
    )
    return _inbound(row, report)


def _inbound(row: Scheduled, content: Triggered | Report) -> Inbound:
    return Inbound(row.address, Person(row.person), content, row.chat_kind, origin="cron")


def _newest(schedule: Schedule, due: datetime, now: datetime, zone: tzinfo) -> datetime:
    """Return the newest due time up to `now`; `due` is one."""
    newest, high = due, now
    while high - newest > timedelta(seconds=1):
        middle = newest + (high - newest) / 2
        found = next_after(schedule, middle, zone)
        if found and found <= now:
            newest = found
        else:
            high = middle
    return newest


def _count(schedule: Schedule, due: datetime, newest: datetime, zone: tzinfo) -> int:
    """Count the due times from `due` until before `newest`, but not beyond `_COUNTED_MAX`."""
    missed = 0
    while due < newest and missed < _COUNTED_MAX:
        missed += 1
        due = next_after(schedule, due, zone) or newest
    return missed


def _late_line(row: Scheduled, due: datetime, newest: datetime, missed: int, zone: tzinfo) -> str:
    if row.misfire == "coalesce" and missed:
        count = f"{missed + 1:,}" + ("" if missed < _COUNTED_MAX else " or more")
        first, last = moment_in_words(due, zone), moment_in_words(newest, zone)
        return f"[this run stands for the {count} times it was due from {first} to {last}]"
    return f"[this was due {moment_in_words(newest, zone)}, and is late: nothing ran then]"


def _next(tx: Tx, now: datetime) -> str:
    """Return when there is something to do, "" = never."""
    if schedules.ahead(tx, iso(now), 1):
        return iso(now)
    return min(filter(None, (schedules.next_due(tx), schedule_runs.next_retry(tx))), default="")
