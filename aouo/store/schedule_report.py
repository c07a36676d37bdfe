"""Asks for the schedules, runs and watches that the page shows."""

from __future__ import annotations

from aouo.facts.work import Scheduled, ScheduleRun
from aouo.store import schedule_runs, schedules
from aouo.store.snapshots import Query


def listed(pack: str, skip: int, limit: int) -> Query[list[Scheduled]]:
    """Ask for the schedules of a pack, "" = of all: what comes next first, then what is off."""
    return Query(
        "SELECT * FROM schedules WHERE ? IN ('', pack) ORDER BY next_due IS NULL, next_due, "
        "paused = 'over', pack, created_at, id LIMIT ? OFFSET ?",
        (pack, limit, skip),
        lambda rows: list(map(schedules.of_row, rows)),
    )


def one(schedule_id: str) -> Query[Scheduled | None]:
    """Ask for one schedule."""
    return Query(
        "SELECT * FROM schedules WHERE id = ?",
        (schedule_id,),
        lambda rows: next(map(schedules.of_row, rows), None),
    )


def runs(schedule_id: str, limit: int) -> Query[list[tuple[ScheduleRun, str]]]:
    """Ask for the newest runs of a schedule, newest first, each with the id of the turn that is or
    was its newest try, "" = none is there."""
    return Query(
        "SELECT runs.*, (SELECT id FROM turns WHERE job_id = CASE state WHEN 'waiting' THEN "
        "(SELECT id FROM jobs WHERE lane = 'cron:' || schedule_id "
        "AND jobs.state IN ('ready', 'running', 'parked') "
        "AND origin NOT IN ('chat', 'web', 'cli') LIMIT 1) ELSE runs.job_id END "
        "ORDER BY id DESC LIMIT 1) AS turn "
        "FROM schedule_runs AS runs WHERE schedule_id = ? ORDER BY due_at DESC LIMIT ?",
        (schedule_id, limit),
        lambda rows: [(schedule_runs.of_row(row), row["turn"] or "") for row in rows],
    )


def watched(pack: str) -> Query[dict[tuple[str, str], tuple[int, str, str]]]:
    """Ask how the watches of a pack are, "" = of all, at the data of all people together.

    By pack and id: the failures in a row of the one that failed most, and why; when it looks next.
    """
    return Query(
        "SELECT pack, id, max(failures) AS failures, why, (SELECT min(next_look) FROM watches "
        "AS all_of_it WHERE all_of_it.pack = watches.pack AND all_of_it.id = watches.id) AS "
        "next_look FROM watches WHERE ? IN ('', pack) GROUP BY pack, id",
        (pack,),
        lambda rows: {
            (row["pack"], row["id"]): (row["failures"], row["why"], row["next_look"])
            for row in rows
        },
    )
