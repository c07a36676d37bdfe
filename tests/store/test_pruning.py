"""Retention holds nobody up: few rows a transaction, and the space is given back. Source: issue 26,
"pruning goes in pieces of 500 rows"."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from aouo.config.sections import Retention
from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Rendered
from aouo.flow.chores.retention import Tidying
from aouo.store import deliveries, updates
from aouo.store.database import PRUNED_AT_ONCE, Database, Tx
from aouo.store.opening import make_tables
from tests.fakes.clock import FastClock

T = TypeVar("T")
OLD = "2020-01-01T00:00:00.000+00:00"
NEW = "2026-03-02T12:00:00.000+00:00"
PIECES = 4
CHAT = ConversationAddress("tg", "7")


class Watched(Database):
    """Notes how many rows each transaction changes."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.changed: list[int] = []

    async def transact(
        self, work: Callable[[Tx], T], *, durable: bool = False, brief: bool = False
    ) -> T:
        def counted(tx: Tx) -> T:
            before = changes(tx)
            result = work(tx)
            self.changed.append(changes(tx) - before)
            return result

        return await super().transact(counted, durable=durable, brief=brief)


def changes(tx: Tx) -> int:
    row = tx.one("SELECT total_changes() AS n")
    assert row
    return row["n"]


def fill(tx: Tx) -> None:
    for number in range(PIECES * PRUNED_AT_ONCE):
        updates.add(tx, "bot", number, "y" * 1_000, OLD)
        made = deliveries.add(tx, CHAT, "notice", Rendered("x" * 1_000), OLD)
        deliveries.mark(tx, made.id, "sent", OLD, message_id=number + 1)
    for state in ("queued", "unknown"):
        made = deliveries.add(tx, CHAT, "notice", Rendered("kept"), NEW)
        deliveries.mark(tx, made.id, state, NEW)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Watched]:
    database = Watched(tmp_path / "aouo.db")
    await database.open()
    await database.transact(make_tables)
    await database.transact(fill)
    database.changed.clear()
    yield database
    await database.close()


async def test_no_transaction_deletes_many_rows_and_another_write_comes_in_between(
    database: Watched, tmp_path: Path
) -> None:
    pieces = database.changed
    tidying = Tidying(
        database=database, clock=FastClock(), folder=tmp_path / "media", days=lambda: Retention()
    )
    pruning = asyncio.ensure_future(tidying.prune())
    waited: list[int] = []
    while not pruning.done():
        begun = len(pieces)
        await database.transact(lambda tx: None)
        waited.append(len(pieces) - begun - 1)
    await pruning
    left = await database.read(lambda tx: [row["state"] for row in tx.all(LEFT)])
    rows = await database.read(lambda tx: tx.all("SELECT 1 FROM updates"))

    assert (left, rows) == (["queued", "unknown"], [])
    assert max(pieces) == PRUNED_AT_ONCE
    assert len(waited) > 2 * PIECES
    assert max(waited) <= 2


async def test_the_file_shrinks_by_what_was_deleted(database: Watched, tmp_path: Path) -> None:
    tidying = Tidying(
        database=database, clock=FastClock(), folder=tmp_path / "media", days=lambda: Retention()
    )
    before = await database.read(pages)
    await tidying.prune()
    after, free = await database.read(pages), await database.read(free_pages)

    assert free == 0
    assert after < before / 4


LEFT = "SELECT state FROM deliveries ORDER BY id"


def pages(tx: Tx) -> int:
    row = tx.one("PRAGMA page_count")
    assert row
    return row[0]


def free_pages(tx: Tx) -> int:
    row = tx.one("PRAGMA freelist_count")
    assert row
    return row[0]
