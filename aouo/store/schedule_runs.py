"""Stores the runs of schedules: one row for each due time, whatever happens to the clock."""

from __future__ import annotations

import sqlite3

from aouo.facts.work import RunState, ScheduleRun
from aouo.store import schedules
from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.rows import columns, made


def add(tx: Tx, run: ScheduleRun, now: str) -> bool:
    """Store a run; False, and nothing changed, when this due time has one already."""
    return tx.put(
        "schedule_runs",
        {
            **columns(run, "job_id", "retry_at", "settled_at"),
            "created_at": now,
            "settled_at": "" if run.state == "waiting" else now,
        },
        "ON CONFLICT DO NOTHING",
    )


def begin(tx: Tx, schedule_id: str, due_at: str) -> None:
    """Note that a try begins, and that no other one is to come."""
    tx.run(
        "UPDATE schedule_runs SET state = 'waiting', tries = tries + 1, retry_at = NULL, "
        "settled_at = '' WHERE schedule_id = ? AND due_at = ?",
        schedule_id,
        due_at,
    )


HISTORY = 10
"""How many runs of a schedule are kept however old they are, and shown."""


def is_open(tx: Tx, schedule_id: str, due_at: str) -> bool:
    """Whether a reminder came that was due in that second, and nobody has answered it."""
    return tx.finds(
        "SELECT 1 FROM schedule_runs WHERE schedule_id = ? AND why = '' "
        "AND substr(due_at, 1, 19) = substr(?, 1, 19) AND state = 'done'",
        schedule_id,
        due_at,
    )


def answer(tx: Tx, schedule_id: str, due_at: str, how: str) -> bool:
    """Note what a person did about a reminder that was due in that second; False = that was noted
    before, or there is none."""
    return tx.changes(
        "UPDATE schedule_runs SET why = ? WHERE schedule_id = ? AND why = '' "
        "AND substr(due_at, 1, 19) = substr(?, 1, 19) AND state = 'done'",
        how,
        schedule_id,
        due_at,
    )


def unanswered(tx: Tx, schedule_id: str) -> str:
    """Return when a reminder last came that nobody has answered yet, "" = there is none."""
    row = tx.one(
        "SELECT due_at, why FROM schedule_runs WHERE schedule_id = ? AND state = 'done' "
        "ORDER BY due_at DESC LIMIT 1",
        schedule_id,
    )
    return str(row["due_at"]) if row and not row["why"] else ""


def reopen(tx: Tx, schedule_id: str) -> None:
    """Take back what a person did about a reminder the last time it came."""
    tx.run(
        "UPDATE schedule_runs SET why = '' WHERE schedule_id = ? AND state = 'done' AND due_at = "
        "(SELECT max(due_at) FROM schedule_runs WHERE schedule_id = ? AND state = 'done')",
        schedule_id,
        schedule_id,
    )


def is_to_retry(tx: Tx, schedule_id: str) -> bool:
    """Whether a failed run of this schedule is to be tried again."""
    return tx.finds(
        "SELECT 1 FROM schedule_runs WHERE schedule_id = ? AND retry_at IS NOT NULL LIMIT 1",
        schedule_id,
    )


def get(tx: Tx, schedule_id: str, due_at: str) -> ScheduleRun | None:
    row = tx.one(
        "SELECT * FROM schedule_runs WHERE schedule_id = ? AND due_at = ?", schedule_id, due_at
    )
    return of_row(row) if row else None


def settle(
    tx: Tx,
    run: ScheduleRun,
    state: RunState,
    now: str,
    *,
    job_id: int = 0,
    why: str = "",
    retry_at: str = "",
) -> None:
    """End a try, made by `job_id`; `retry_at` = when the next one begins, "" = the run is over."""
    tx.touch(schedules.CHANGED)
    tx.run(
        "UPDATE schedule_runs SET state = ?, job_id = ?, why = ?, retry_at = ?, settled_at = ? "
        "WHERE schedule_id = ? AND due_at = ?",
        state,
        job_id,
        why,
        retry_at or None,
        now,
        run.schedule_id,
        run.due_at,
    )
    if not retry_at:
        schedules.settled(tx, run.schedule_id, state)


def prune(tx: Tx, before: str) -> int:
    """Delete some runs that were due before that time and are over, but for the newest `HISTORY` of
    each schedule; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM schedule_runs WHERE (schedule_id, due_at) IN (SELECT schedule_id, due_at "
        "FROM schedule_runs AS run WHERE due_at < ? AND state <> 'waiting' AND retry_at IS NULL "
        "AND due_at < (SELECT due_at FROM schedule_runs WHERE schedule_id = run.schedule_id "
        "ORDER BY due_at DESC LIMIT 1 OFFSET ?) LIMIT ?)",
        before,
        HISTORY - 1,
        PRUNED_AT_ONCE,
    )


def count(tx: Tx, schedule_id: str, first: str, before: str) -> int:
    """Count the runs that were due from `first` until before `before`."""
    return tx.number(
        "SELECT count(*) AS n FROM schedule_runs WHERE schedule_id = ? AND due_at >= ? "
        "AND due_at < ?",
        schedule_id,
        first,
        before,
    )


def newest(tx: Tx, schedule_id: str, now: str) -> str:
    """Return the newest due time up to `now` that has a run, "" = none has."""
    return tx.text(
        "SELECT max(due_at) AS due FROM schedule_runs WHERE schedule_id = ? AND due_at <= ?",
        schedule_id,
        now,
    )


def next_retry(tx: Tx) -> str:
    """Return when the next failed run is tried again, "" = none is."""
    return tx.text("SELECT min(retry_at) AS due FROM schedule_runs WHERE retry_at IS NOT NULL")


def to_retry(tx: Tx, now: str, limit: int) -> list[ScheduleRun]:
    rows = tx.all(
        "SELECT * FROM schedule_runs WHERE retry_at IS NOT NULL AND retry_at <= ? "
        "ORDER BY retry_at LIMIT ?",
        now,
        limit,
    )
    return [of_row(row) for row in rows]


def of_schedule(tx: Tx, schedule_id: str, limit: int) -> list[ScheduleRun]:
    """Return the newest runs of a schedule, newest first."""
    rows = tx.all(
        "SELECT * FROM schedule_runs WHERE schedule_id = ? ORDER BY due_at DESC LIMIT ?",
        schedule_id,
        limit,
    )
    return [of_row(row) for row in rows]


def of_row(row: sqlite3.Row) -> ScheduleRun:
    return made(ScheduleRun, row, retry_at=row["retry_at"] or "")
