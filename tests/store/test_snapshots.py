"""Reads that look through much hold up nobody, and end. Source: issue 11, 30."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from aouo.facts.errors import TooMuchToRead
from aouo.store.database import Database
from aouo.store.snapshots import Query, Snapshots

WAIT_S = 20
ENDLESS = Query(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    (),
    list,
)
COUNT = Query("SELECT count(*) FROM said", (), lambda rows: rows[0][0])


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    database = Database(tmp_path / "aouo.db")
    await database.open()
    await database.transact(lambda tx: tx.script("CREATE TABLE said (id INTEGER) STRICT"))
    await database.transact(lambda tx: tx.script("INSERT INTO said VALUES (1), (2), (3)"))
    yield database
    await database.close()


@pytest.fixture
async def snapshots(database: Database, tmp_path: Path) -> AsyncGenerator[Snapshots]:
    snapshots = Snapshots(tmp_path / "aouo.db", connections=1, patience_s=0.0, rows_max=2)
    yield snapshots
    await snapshots.close()


async def test_a_statement_that_takes_too_long_is_ended_and_the_next_one_answered(
    snapshots: Snapshots,
) -> None:
    async with asyncio.timeout(WAIT_S):
        with pytest.raises(TooMuchToRead):
            async with snapshots.open() as snapshot:
                await snapshot.ask(ENDLESS)
        async with snapshots.open() as snapshot:
            counted = await snapshot.ask(COUNT)

    assert counted == 3


async def test_more_rows_than_may_be_read_are_refused(snapshots: Snapshots) -> None:
    async with snapshots.open() as snapshot:
        with pytest.raises(TooMuchToRead):
            await snapshot.ask(Query("SELECT id FROM said", (), list))
        rows = await snapshot.ask(Query("SELECT id FROM said LIMIT ?", (2,), list))

    assert len(rows) == 2


async def test_the_loop_goes_on_while_a_statement_runs_and_a_cancelled_one_ends(
    database: Database,
) -> None:
    """Held by the statement, the loop would never come to cancel it."""
    begun = asyncio.Event()

    async def look() -> None:
        async with database.snapshot() as snapshot:
            begun.set()
            await snapshot.ask(ENDLESS)

    async with asyncio.timeout(WAIT_S):
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(look())
            await begun.wait()
            for _ in range(100):
                await database.transact(lambda tx: tx.run("INSERT INTO said VALUES (4)"))
            looking.cancel()
        async with database.snapshot() as snapshot:
            counted = await snapshot.ask(COUNT)

    assert counted == 103


async def test_a_snapshot_sees_one_state_and_writes_nothing(database: Database) -> None:
    async with database.snapshot() as snapshot:
        before = await snapshot.ask(COUNT)
        await database.transact(lambda tx: tx.run("DELETE FROM said"))
        behind = await snapshot.ask(COUNT)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            await snapshot.ask(Query("DELETE FROM said", (), list))

    assert (before, behind) == (3, 3)


async def test_whoever_comes_just_then_may_take_the_connection_that_another_one_made(
    database: Database, tmp_path: Path
) -> None:
    """The one who made it makes another, and both are answered."""
    snapshots = Snapshots(tmp_path / "aouo.db", connections=2)

    async def counted() -> int:
        async with snapshots.open() as snapshot:
            return await snapshot.ask(COUNT)

    try:
        async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
            first = group.create_task(counted())
            while not snapshots._idle:  # noqa: ASYNC110 - between two steps of another task
                await asyncio.sleep(0)
            second = await counted()
    finally:
        await snapshots.close()

    assert (first.result(), second) == (3, 3)
