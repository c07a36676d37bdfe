"""Stores what watches saw and when triggers were due; asks for all that the page shows of these."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from aouo.facts.work import Scheduled, ScheduleRun
from aouo.store import schedule_runs, schedules
from aouo.store.database import Tx
from aouo.store.rows import columns, made
from aouo.store.snapshots import Query


class WatchKey(NamedTuple):
    """One watch of a pack, at one tenant's data ("" = everybody's)."""

    pack: str
    id: str
    tenant: str


@dataclass(frozen=True, slots=True)
class WatchState:
    """What it saw: `digest` of all of it ("" = nothing yet), the beginning as `seen`.

    `source` is what it looks at, `validator` what a server knows it by; `failures` are in a row,
    and `why` is the last one's reason. `next_look` is UTC, as it is stored.
    """

    key: WatchKey
    source: str
    digest: str = ""
    seen: str = ""
    validator: str = ""
    next_look: str = ""
    failures: int = 0
    why: str = ""


def states(tx: Tx) -> dict[WatchKey, WatchState]:
    return {(row := _state(each)).key: row for each in tx.all("SELECT * FROM watches")}


def states_of(tx: Tx, pack: str, watch: str) -> dict[WatchKey, WatchState]:
    rows = tx.all("SELECT * FROM watches WHERE pack = ? AND id = ?", pack, watch)
    return {(row := _state(each)).key: row for each in rows}


def get(tx: Tx, key: WatchKey) -> WatchState | None:
    return tx.first(_state, "SELECT * FROM watches WHERE pack = ? AND id = ? AND tenant = ?", *key)


def put(tx: Tx, state: WatchState) -> None:
    key = state.key
    tx.run("DELETE FROM watches WHERE pack = ? AND id = ? AND tenant = ?", *key)
    tx.put(
        "watches", {"pack": key.pack, "id": key.id, "tenant": key.tenant, **columns(state, "key")}
    )


def forget_seen(tx: Tx, pack: str, watch: str, tenant: str) -> None:
    """Reset a watch of a tenant's data, or of everybody's: its next look becomes the baseline and
    reports no change."""
    tx.run(
        "UPDATE watches SET digest = '' WHERE pack = ? AND id = ? AND tenant IN (?, '')",
        pack,
        watch,
        tenant,
    )


def failing(tx: Tx) -> list[WatchState]:
    """Return the watches that failed the last time: one for each, whosever data it looked at."""
    rows = tx.all("SELECT *, max(failures) FROM watches WHERE failures > 0 GROUP BY pack, id")
    return [_state(row) for row in rows]


def forgive(tx: Tx) -> None:
    """Let watches that failed too often look again."""
    tx.run("UPDATE watches SET failures = 0, next_look = '' WHERE failures > 0")


def keep_only(tx: Tx, keys: Collection[WatchKey]) -> None:
    """Forget the watches that are not among `keys`."""
    for key in states(tx).keys() - set(keys):
        tx.run("DELETE FROM watches WHERE pack = ? AND id = ? AND tenant = ?", *key)


def _state(row: sqlite3.Row) -> WatchState:
    return made(WatchState, row, key=WatchKey(row["pack"], row["id"], row["tenant"]))


def last_tick(tx: Tx, name: str) -> str:
    """Return when it was due last, "" = never."""
    return tx.text("SELECT at FROM ticks WHERE name = ?", name)


def note_tick(tx: Tx, name: str, at: str) -> None:
    """Note that it is due at `at`."""
    tx.run(
        "INSERT INTO ticks (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = ?",
        name,
        at,
        at,
    )


def settle_tick(tx: Tx, name: str, state: str) -> str:
    """Note how its run ended; return how the one before did, "" = there was none."""
    row = tx.one("SELECT state FROM ticks WHERE name = ?", name)
    tx.run("UPDATE ticks SET state = ? WHERE name = ?", state, name)
    return row["state"] if row else ""


def listed_schedules(pack: str, skip: int, limit: int) -> Query[list[Scheduled]]:
    """Ask for the schedules of a pack, "" = of all: what comes next first, then what is off."""
    return Query(
        "SELECT * FROM schedules WHERE ? IN ('', pack) ORDER BY next_due IS NULL, next_due, "
        "paused = 'over', pack, created_at, id LIMIT ? OFFSET ?",
        (pack, limit, skip),
        lambda rows: list(map(schedules.of_row, rows)),
    )


def one_schedule(schedule_id: str) -> Query[Scheduled | None]:
    """Ask for one schedule."""
    return Query(
        "SELECT * FROM schedules WHERE id = ?",
        (schedule_id,),
        lambda rows: next(map(schedules.of_row, rows), None),
    )


def runs_of(schedule_id: str, limit: int) -> Query[list[tuple[ScheduleRun, str]]]:
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
