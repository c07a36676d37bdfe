"""Schedules that come due by a clock which only the test moves, over a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from structlog.testing import capture_logs

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.events import Inbound, Report, Triggered
from aouo.facts.ports import iso
from aouo.facts.schedule import next_after, parse
from aouo.facts.work import Job, Misfire, Paused, Scheduled
from aouo.packs.library import Library
from aouo.plumbing.zones import zone_of
from aouo.schedules.service import Schedules
from aouo.schedules.ticking import Due, RunEnd, Ticking, settle_schedule
from aouo.store import jobs, schedules
from aouo.store.database import Database, Tx
from tests.fakes.clock import HandClock
from tests.fakes.databases import put_database

HERE = ConversationAddress("tg", "1001")


class Rules(Schedules):
    """Schedules without packs; a test says which may run."""

    def __init__(
        self,
        zone_of: Callable[[str], tzinfo] = zone_of,
        may: Callable[[Scheduled], Paused] = lambda row: "",
    ) -> None:
        super().__init__(zone_of, lambda: Library({}, {}, {}), lambda person: True, lambda: True)
        self._may = may

    def may_run(self, row: Scheduled) -> Paused:
        return self._may(row)


@dataclass
class Ticks:
    """Schedules and their runs in one database; runs end at once while `ends` is True."""

    database: Database
    clock: HandClock
    ends: bool = True
    fired: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """(schedule, due time) of each job, in the order they came."""
    told: list[Report] = field(default_factory=list[Report])
    _open: list[tuple[int, Inbound]] = field(default_factory=list[tuple[int, Inbound]])

    def ticking(
        self,
        *,
        may: Callable[[Scheduled], Paused] = lambda row: "",
        zone_of: Callable[[str], tzinfo] = zone_of,
        longest_s: float = 60.0,
    ) -> Ticking:
        return Ticking(
            database=self.database,
            clock=self.clock,
            trigger=self._file,
            schedules=Rules(zone_of, may),
            longest_s=lambda: longest_s,
            language=lambda person: "",
        )

    async def add(
        self, text: str, zone: str = "UTC", *, misfire: Misfire = "run_once", **more: Any
    ) -> Scheduled:
        """A schedule made now."""
        now = self.clock.now()
        fields: dict[str, Any] = {
            "id": schedules.new_id(),
            "pack": "",
            "key": "",
            "origin": "person",
            "address": HERE,
            "chat_kind": "private",
            "person": "1001",
            "skill": "",
            "prompt": text,
            "text": text,
            "zone": zone,
            "since": iso(now),
            "enabled": True,
            "paused": "",
            "next_due": "",
            "misfire": misfire,
            **more,
        }
        if not fields["next_due"]:
            there = zone_of(zone)
            due = next_after(parse(text, now, there), now, there)
            fields["next_due"] = iso(due) if due else ""
        row = Scheduled(**fields)
        await self.database.transact(lambda tx: schedules.add(tx, row, iso(now)))
        return row

    async def runs(self, row: Scheduled) -> list[dict[str, Any]]:
        """What became of the due times of a schedule, oldest first."""

        def read(tx: Tx) -> list[dict[str, Any]]:
            found = tx.all(
                "SELECT * FROM schedule_runs WHERE schedule_id = ? ORDER BY due_at", row.id
            )
            return [dict(one) for one in found]

        return await self.database.read(read)

    async def get(self, row: Scheduled) -> Scheduled:
        found = await self.database.read(lambda tx: schedules.get(tx, row.id))
        assert found
        return found

    async def run_now(
        self, row: Scheduled, may: Callable[[Scheduled], Paused] = lambda row: ""
    ) -> None:
        """Have one run as its person asks."""
        rules = Rules(zone_of, may)
        await self.database.transact(lambda tx: rules.run(tx, row, self.clock.now()))

    async def end(self, status: Any = "done", text: str = "Said.", **more: Any) -> None:
        """End the runs that are open."""
        end = RunEnd("", status, text, **more)

        def work(tx: Tx) -> None:
            for job_id, inbound in self._open:
                self._settle(tx, job_id, inbound, end)

        await self.database.transact(work)
        self._open.clear()

    async def _file(self, due: Due) -> int:
        """Stands for `Inbox.trigger`, and for the turns of the jobs that it stores."""

        def work(tx: Tx) -> Sequence[Inbound]:
            found = due(tx, self.clock.now())
            for inbound in found:
                asked = inbound.content
                if isinstance(asked, Report):
                    self.told.append(asked)
                    continue
                assert isinstance(asked, Triggered)
                self.fired.append((asked.trigger, asked.due_at))
                lane = Lane(f"cron:{asked.trigger}")
                job_id = jobs.add(tx, lane, inbound, iso(self.clock.now()))
                if self.ends:
                    self._settle(tx, job_id, inbound, RunEnd("", "done", "Said."))
                else:
                    self._open.append((job_id, inbound))
            return found

        return len(await self.database.transact(work))

    def _settle(self, tx: Tx, job_id: int, inbound: Inbound, end: RunEnd) -> None:
        asked, now = inbound.content, iso(self.clock.now())
        assert isinstance(asked, Triggered)
        job = Job(job_id, Lane(f"cron:{asked.trigger}"), inbound, 1, 1)
        if report := settle_schedule(tx, job, asked, end, now):
            self.told.append(report)
        jobs.drop(tx, job_id, "turn", now)


@asynccontextmanager
async def ticks_in(folder: Path, clock: HandClock) -> AsyncGenerator[Ticks]:
    put_database(folder / "aouo.db")
    database = Database(folder / "aouo.db")
    await database.open()
    try:
        with capture_logs():  # to write a line of each run would take most of the time
            yield Ticks(database, clock)
    finally:
        await database.close()


async def let_run(ticks: Ticks, ticking: Ticking, *, until: asyncio.Event) -> None:
    """Let schedules fire until then."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(ticking.run())
        await until.wait()
        task.cancel()


def due_times(row: Scheduled, until: datetime) -> list[str]:
    """Every due time of a schedule up to a moment, as stored."""
    zone, found = ZoneInfo(row.zone), list[str]()
    since = datetime.fromisoformat(row.since)
    schedule, due = parse(row.text, since, zone), since
    while (later := next_after(schedule, due, zone)) and later <= until:
        found.append(iso(due := later))
    return found
