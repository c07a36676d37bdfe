"""Brief transactions run on the loop's thread when the writer rests, and lose nothing by it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import LiteralString

import pytest

from aouo.store.database import Database, Tx

ADD: LiteralString = "INSERT INTO said (text) VALUES (?)"
WAIT_S = 30.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
async def database(file: Path) -> AsyncGenerator[Database]:
    database = Database(file)
    await database.open()
    await database.transact(lambda tx: tx.script("CREATE TABLE said (text TEXT NOT NULL)"))
    yield database
    await database.close()


def texts(file: Path) -> list[str]:
    """As another process sees them."""
    with sqlite3.connect(file) as other:
        found = other.execute("SELECT text FROM said ORDER BY rowid").fetchall()
    other.close()
    return [text for (text,) in found]


async def test_a_brief_one_is_committed_on_the_spot(database: Database, file: Path) -> None:
    def add(tx: Tx) -> str:
        tx.run(ADD, "here")
        return threading.current_thread().name

    assert await database.transact(add, brief=True) == threading.current_thread().name
    assert texts(file) == ["here"]


async def test_one_that_has_to_reach_the_disk_goes_to_the_writer(database: Database) -> None:
    name = await database.transact(
        lambda tx: threading.current_thread().name, brief=True, durable=True
    )

    assert name == "aouo-writer"


async def test_a_brief_one_never_overtakes_one_that_waits(database: Database, file: Path) -> None:
    goes_on = threading.Event()

    def slow(tx: Tx) -> None:
        goes_on.wait(WAIT_S)
        tx.run(ADD, "first")

    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        group.create_task(database.transact(slow, durable=True))
        await asyncio.sleep(0)
        group.create_task(database.transact(lambda tx: tx.run(ADD, "second"), brief=True))
        await asyncio.sleep(0)
        goes_on.set()

    assert texts(file) == ["first", "second"]


async def test_one_that_fails_leaves_nothing_and_the_next_one_works(
    database: Database, file: Path
) -> None:
    def fails(tx: Tx) -> None:
        tx.run(ADD, "half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await database.transact(fails, brief=True)
    await database.transact(lambda tx: tx.run(ADD, "brief"), brief=True)
    await database.transact(lambda tx: tx.run(ADD, "durable"), durable=True)

    assert texts(file) == ["brief", "durable"]


async def test_while_another_process_writes_the_loop_goes_on(
    database: Database, file: Path
) -> None:
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        waits = group.create_task(database.transact(lambda tx: tx.run(ADD, "late"), brief=True))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waits.done()
        other.execute("ROLLBACK")
        other.close()

    assert texts(file) == ["late"]


async def test_what_a_brief_one_overwrote_is_not_left_in_the_log(
    database: Database, file: Path
) -> None:
    await database.transact(lambda tx: tx.run(ADD, "a secret of Ada's"), brief=True)

    def forget(tx: Tx) -> None:
        tx.run("UPDATE said SET text = ''")
        tx.forget()

    await database.transact(forget, brief=True)

    left = [path.read_bytes() for path in file.parent.iterdir()]
    assert not any(b"a secret" in found for found in left)


async def test_many_brief_ones_do_not_let_the_log_grow_without_end(
    database: Database, file: Path
) -> None:
    """The loop never checkpoints; the next durable commit does, on the writer's thread."""
    log = file.with_name(f"{file.name}-wal")
    sizes: list[int] = []
    for number in range(1_500):
        await database.transact(lambda tx, n=number: tx.run(ADD, f"{n} " * 500), brief=True)
        if number % 500 == 499:
            sizes.append(log.stat().st_size)
    await database.transact(lambda tx: tx.run(ADD, "end"), durable=True)
    for number in range(500):
        await database.transact(lambda tx, n=number: tx.run(ADD, f"{n} " * 500), brief=True)

    assert sizes == sorted(set(sizes))  # it grew all the time
    assert log.stat().st_size == pytest.approx(sizes[-1], rel=0.01)  # and is written anew now
