"""Which way to SQLite: CPU of one transaction of four statements, one process each.

`python -m scripts.benchmarks.driver WAY FILE`, WAY one of `writer` (ours: a thread that owns
the connection), `brief` (ours, for what is short and need not reach the disk), `aiosqlite`,
`sqlite3` (on the event loop's own thread). aiosqlite is no dependency of ours; it is measured
where it can be imported.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aouo.store.database import Database, Tx
from scripts.benchmarks.processes import ROOT, environment
from scripts.benchmarks.table import Row

SCHEMA = (
    "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT, fence INTEGER NOT NULL) STRICT",
    "CREATE TABLE said (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, text TEXT NOT NULL) STRICT",
    "INSERT INTO jobs VALUES (1, 'running', 0)",
)
READ = "SELECT fence FROM jobs WHERE id = 1 AND state = 'running'"
ADD = "INSERT INTO said (job, text) VALUES (1, ?)"
MARK = "UPDATE said SET text = 'seen' WHERE id = 1"
BUMP = "UPDATE jobs SET fence = fence + 1 WHERE id = 1"
TEXT = "What a person said, about as long as that."


def work(tx: Tx) -> None:
    tx.one(READ)
    tx.insert(ADD, TEXT)
    tx.run(MARK)
    tx.run(BUMP)


async def writer(file: Path, many: int, *, brief: bool = False) -> tuple[float, float]:
    database = Database(file)
    await database.open()
    await database.transact(lambda tx: tx.script(SCHEMA))
    apart = await _apart(lambda: database.transact(work, brief=brief), many)
    together = await _together(lambda: database.transact(work, brief=brief), many)
    await database.close()
    return apart, together


async def at_once(file: Path, many: int) -> tuple[float, float]:
    return await writer(file, many, brief=True)


async def with_aiosqlite(file: Path, many: int) -> tuple[float, float]:
    aiosqlite: Any = importlib.import_module("aiosqlite")
    one_at_a_time = asyncio.Lock()  # a connection has one transaction at a time
    async with aiosqlite.connect(file, isolation_level=None) as database:
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
            await database.execute(f"PRAGMA {pragma}")
        for statement in SCHEMA:
            await database.execute(statement)

        async def transact() -> None:
            async with one_at_a_time:
                await database.execute("BEGIN IMMEDIATE")
                async with database.execute(READ) as found:
                    await found.fetchone()
                await database.execute(ADD, (TEXT,))
                await database.execute(MARK)
                await database.execute(BUMP)
                await database.commit()

        return await _apart(transact, many), await _together(transact, many)


async def plain(file: Path, many: int) -> tuple[float, float]:
    database = sqlite3.connect(file, isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
        database.execute(f"PRAGMA {pragma}")
    for statement in SCHEMA:
        database.execute(statement)

    async def transact() -> None:
        database.execute("BEGIN IMMEDIATE")
        database.execute(READ).fetchone()
        database.execute(ADD, (TEXT,))
        database.execute(MARK)
        database.execute(BUMP)
        database.execute("COMMIT")

    apart, together = await _apart(transact, many), await _together(transact, many)
    database.close()
    return apart, together


WAYS = {"writer": writer, "brief": at_once, "aiosqlite": with_aiosqlite, "sqlite3": plain}


async def _apart(transact: Callable[[], Awaitable[None]], many: int) -> float:
    """CPU µs of a transaction when each waits for the one before."""
    begun_s = time.process_time()
    for _ in range(many):
        await transact()
    return (time.process_time() - begun_s) / many * 1e6


async def _together(transact: Callable[[], Awaitable[None]], many: int) -> float:
    """The same when 200 are asked for at once."""

    async def repeat() -> None:
        for _ in range(many // 200):
            await transact()

    begun_s = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(200):
            group.create_task(repeat())
    return (time.process_time() - begun_s) / (many // 200 * 200) * 1e6


def driver(bench: object, *, quick: bool) -> list[Row]:
    """Ours and the alternatives, interleaved."""
    del bench
    many = "1000" if quick else "4000"
    here = importlib.util.find_spec("aiosqlite") is not None
    found: dict[str, list[dict[str, float]]] = {
        way: [] for way in WAYS if way != "aiosqlite" or here
    }
    with tempfile.TemporaryDirectory(prefix="aouo-bench-") as folder:
        for number in range(2 if quick else 5):
            for way, measured in found.items():
                file = Path(folder) / f"{way}{number}.db"
                measured.append(_measured(way, file, many))
    rows: list[Row] = []
    labels = {
        "writer": "our writer thread",
        "brief": "ours, brief",
        "aiosqlite": "aiosqlite",
        "sqlite3": "sqlite3, no thread",
    }
    for way, label in labels.items():
        for how in ("apart", "together"):
            figure = f"transaction, {how}: {label}"
            if way not in found:
                rows.append(Row(figure, "CPU µs", None, note="not importable here"))
                continue
            value = statistics.median(one[how] for one in found[way])
            rows.append(Row(figure, "CPU µs", value, digits=0, n=len(found[way])))
    return rows


def _measured(way: str, file: Path, many: str) -> dict[str, float]:
    told = subprocess.run(
        [sys.executable, "-m", "scripts.benchmarks.driver", way, str(file), many],
        cwd=ROOT,
        env=environment() | {"PYTHONPATH": _path_of_aiosqlite()},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(told.stdout)


def _path_of_aiosqlite() -> str:
    """A child finds it where we found it."""
    found = importlib.util.find_spec("aiosqlite")
    return str(Path(found.origin).parents[1]) if found and found.origin else ""


def main() -> None:
    way, file, many = sys.argv[1:]
    apart, together = asyncio.run(WAYS[way](Path(file), int(many)))
    print(json.dumps({"apart": apart, "together": together}))


if __name__ == "__main__":
    main()
