"""Settles the runs of triggered turns: what a turn ended with, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from aouo.facts.events import Report, Triggered
from aouo.facts.ports import iso
from aouo.facts.work import Job
from aouo.store import schedule_runs, schedules
from aouo.store.database import Tx
from aouo.words.catalogue import text

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
    """Settle the run of a schedule: its answer is told, a failure only after the last try, and
    only if the run before it did not fail, too. Of what a person asked for now they are always
    told, and it is not tried again; neither is a schedule that is off."""
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
        schedule_runs.settle(tx, run, "failed", now, job_id=job.id, why=end.text, retry_at=retry_at)
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
