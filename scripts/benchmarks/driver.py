"""Which way to SQLite, one process each.

`python -m scripts.benchmarks.driver WAY FILE MANY`. CPU of one of MANY transactions of four
statements, WAY one of `writer` (ours: a thread that owns the connection), `brief` (ours, for what
is short and need not reach the disk), `aiosqlite`, `sqlite3` (on the event loop's own thread).
How long the loop stands still for the sums of `aouo usage` over MANY rows, WAY one of `sums-loop`
(on its own thread) and `sums-snapshot` (on aiosqlite, as the runtime does).
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiosqlite

from aouo.facts.records import Spent
from aouo.facts.transcript import Usage
from aouo.store import usage, usage_report
from aouo.store.database import Database, Tx
from aouo.store.opening import make_tables
from aouo.store.snapshots import Query
from scripts.benchmarks.processes import ROOT, environment
from scripts.benchmarks.table import Row

SCHEMA = (
    "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT, fence INTEGER NOT NULL) STRICT;"
    "CREATE TABLE said (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, text TEXT NOT NULL) STRICT;"
    "INSERT INTO jobs VALUES (1, 'running', 0);"
)
READ = "SELECT fence FROM jobs WHERE id = 1 AND state = 'running'"
ADD = "INSERT INTO said (job, text) VALUES (1, ?)"
MARK = "UPDATE said SET text = 'seen' WHERE id = 1"
BUMP = "UPDATE jobs SET fence = fence + 1 WHERE id = 1"
TEXT = "What a person said, about as long as that."


def work(tx: Tx) -> None:
    tx.one(READ)
    tx.insert("said", {"job": 1, "text": TEXT})
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


QUERIES: tuple[Query[Any], ...] = tuple(
    each(("2026-01-01", usage_report.LAST_DAY))
    for each in (
        usage_report.total,
        usage_report.by_day,
        usage_report.by_pack,
        usage_report.by_model,
        usage_report.by_person,
        usage_report.by_scope,
    )
)


async def sums_on_the_loop(file: Path, many: int) -> tuple[float, float]:
    async def ask(database: Database) -> None:
        for query in QUERIES:
            await database.read(lambda tx, query=query: tx.ask(query))

    return await _held(file, many, ask)


async def sums_on_a_snapshot(file: Path, many: int) -> tuple[float, float]:
    async def ask(database: Database) -> None:
        async with database.snapshot() as snapshot:
            for query in QUERIES:
                await snapshot.ask(query)

    return await _held(file, many, ask)


async def _held(
    file: Path, many: int, ask: Callable[[Database], Awaitable[None]]
) -> tuple[float, float]:
    """Milliseconds: the longest that the loop stood still, and how long all sums took."""
    database = Database(file)
    await database.open()

    def fill(tx: Tx) -> None:
        make_tables(tx)
        for number in range(many):
            tokens = Usage(1000 + number % 700, 0, 200)
            day, model = f"2026-01-{10 + number * 20 // many}", f"model-{number % 3}"
            spent = Spent("llm", day, "p", model, f"pack-{number % 4}", "s", f"{number % 5}")
            usage.record(tx, replace(spent, tokens=tokens, cost_usd=0.001), day)

    await database.transact(fill)
    await ask(database)  # opens connections, fills the page cache
    longest_s, last_s = 0.0, time.perf_counter()

    async def tick() -> None:
        nonlocal longest_s, last_s
        while True:
            await asyncio.sleep(0)
            now_s = time.perf_counter()
            longest_s, last_s = max(longest_s, now_s - last_s), now_s

    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(tick())
        await asyncio.sleep(0.05)
        begun_s, longest_s = time.perf_counter(), 0.0
        await ask(database)
        took_s = time.perf_counter() - begun_s
        await asyncio.sleep(0)
        ticking.cancel()
    await database.close()
    return longest_s * 1000, took_s * 1000


WAYS = {
    "sums-loop": sums_on_the_loop,
    "sums-snapshot": sums_on_a_snapshot,
    "writer": writer,
    "brief": at_once,
    "aiosqlite": with_aiosqlite,
    "sqlite3": plain,
}


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
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="aouo-bench-") as folder:
        for number in range(2 if quick else 5):
            for way, measured in found.items():
                file = Path(folder) / f"{way}{number}.db"
                measured.append(_measured(way, file, "100000" if "sums" in way else many))
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
            value = statistics.median(one[how] for one in found[way])
            rows.append(Row(figure, "CPU µs", value, digits=0, n=len(found[way])))
    for way, label in {"sums-loop": "on its own thread", "sums-snapshot": "over aiosqlite"}.items():
        for how, figure in {"apart": "loop held by", "together": "time of"}.items():
            value = statistics.median(one[how] for one in found[way])
            name = f"{figure} six sums over 100,000 rows: {label}"
            rows.append(Row(name, "ms", value, digits=1, n=len(found[way])))
    return rows


def _measured(way: str, file: Path, many: str) -> dict[str, float]:
    told = subprocess.run(
        [sys.executable, "-m", "scripts.benchmarks.driver", way, str(file), many],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(told.stdout)


def main() -> None:
    way, file, many = sys.argv[1:]
    apart, together = asyncio.run(WAYS[way](Path(file), int(many)))
    print(json.dumps({"apart": apart, "together": together}))


if __name__ == "__main__":
    main()
