"""Consolidation goes on for everybody else where one tenant's files cannot be reached."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Inbound, Person, Text, Triggered
from aouo.facts.records import JournalLine
from aouo.memory.files import MemoryFiles
from aouo.memory.keeping import Keeping
from aouo.plumbing.waiting import first
from aouo.schedules.journaling import Consolidating, Due
from aouo.store import jobs, journal
from aouo.store.database import Database, Tx
from tests.fakes.clock import HandClock
from tests.fakes.databases import put_database
from tests.schedules.ticks import HERE

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
LONG_AGO = "2026-01-01T00:00:00.000+00:00"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    put_database(tmp_path / "aouo.db")
    database = Database(tmp_path / "aouo.db")
    await database.open()
    yield database
    await database.close()


def note(tx: Tx, owner: str) -> None:
    """A line of the journal, with the job that it was said in."""
    said = Inbound(ConversationAddress("tg", owner), Person(owner), Text("I moved"))
    job = jobs.add(tx, HERE.lane, said, LONG_AGO)
    line = JournalLine(0, "2026-01-01", f"{owner} has moved", "said", 1)
    journal.add(tx, "diary", owner, line, job, owner, LONG_AGO)


async def test_files_that_cannot_be_reached_hold_up_nobody_elses_notes(
    database: Database, tmp_path: Path
) -> None:
    clock, asked, over = HandClock(NOW), list[str](), asyncio.Event()

    def files_of(pack: str, owner: str) -> MemoryFiles:
        if owner == "ada":
            raise ToolFailed("What diary keeps cannot be reached.")
        return MemoryFiles(tmp_path / owner)

    async def trigger(due: Due) -> int:
        found = await database.transact(lambda tx: due(tx, clock.now()))
        asked.extend(one.content.prompt for one in found if isinstance(one.content, Triggered))
        over.set()
        return len(found)

    consolidating = Consolidating(
        database=database,
        clock=clock,
        trigger=trigger,
        keeping=Keeping(database=database, clock=clock, files=files_of),
        may=lambda pack, inbound: True,
        left=lambda tx: -1,
        enabled=lambda: True,
        every_s=lambda: 3600.0,
    )
    for owner in ("ada", "ben"):
        await database.transact(lambda tx, owner=owner: note(tx, owner))
    async with asyncio.timeout(30):
        await first(consolidating.run(), over.wait())

    assert [prompt.count("ben has moved") for prompt in asked] == [1]
