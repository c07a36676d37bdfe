"""Puts schedules and their runs in words, for the notices of /cron and for `aouo cron`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from aouo.facts.notices_schedules import PastRun, ScheduleLine, ScheduleMade
from aouo.facts.schedule_words import moment_in_words
from aouo.facts.work import Scheduled, ScheduleRun
from aouo.triggers import changing
from aouo.triggers.scheduling import ZoneOf
from aouo.triggers.ticking import name_of


def line_of(row: Scheduled, zone_of: ZoneOf, *, here: str = "") -> ScheduleLine:
    """Return a schedule in words; its pack is named unless it is the pack `here`."""
    zone, when = zone_of(row.zone), changing.when(row, zone_of)
    return ScheduleLine(
        row.id,
        name_of(row),
        "" if row.pack == here else row.pack,
        f"{when} ({row.zone})" if row.zone else when,
        _said_at(row.next_due, zone),
        row.paused,
        _said_at(row.last_due, zone),
        row.last_state,
        proposed=bool(row.key),
    )


def made_of(row: Scheduled, now: datetime, zone_of: ZoneOf, *, off: bool = False) -> ScheduleMade:
    """Return what is said of a schedule that was just made or changed."""
    times = changing.upcoming(row, now, zone_of)
    said = tuple(moment_in_words(time, zone_of(row.zone)) for time in times)
    return ScheduleMade(line_of(row, zone_of), said, changing.zone_name(row, zone_of), off)


def past_of(runs: Sequence[ScheduleRun], zone: tzinfo) -> tuple[PastRun, ...]:
    """Return runs in words."""
    return tuple(
        PastRun(_said_at(run.due_at, zone), run.state, run.why, run.tries, run.missed)
        for run in runs
    )


def _said_at(stored: str, zone: tzinfo) -> str:
    return moment_in_words(datetime.fromisoformat(stored), zone) if stored else ""
