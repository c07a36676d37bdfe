"""How fast Usage answers over 100,000 rows, and what its daily sums cost a turn."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path

from aiohttp import ClientSession
from yarl import URL

from aouo.config.file import load_settings, save
from aouo.dashboard.listening import show_at_rest
from aouo.facts.records import Spent
from aouo.facts.transcript import Usage
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home
from aouo.store import usage as table
from aouo.store.database import Database, Tx
from aouo.store.opening import opened
from scripts.benchmarks.figures import Bench
from scripts.benchmarks.table import Row

ROWS, DAYS, ROWS_OF_A_TURN = 100_000, 365, 5
KINDS_OF_A_DAY = 100
"""Of rows, which differ by pack, model, person and scope."""
_NOW = "2026-01-01T00:00:00.000+00:00"
_ASKED = (
    ("/api/usage?days=30", "≤ 300"),
    ("/api/usage?days=365", "≤ 300"),
    ("/api/usage/prices?days=365", "≤ 300"),
    ("/api/usage/left", "≤ 300"),
    ("/api/usage/export?format=csv&days=365", ""),
)


def usage(bench: Bench, *, quick: bool) -> list[Row]:
    """The page's requests over HTTP, and rows written with their sums."""
    del bench
    return asyncio.run(_measure(times=5 if quick else 30, turns=500 if quick else 3_000))


async def _measure(*, times: int, turns: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="aouo-bench-") as folder:
        home = Home(Path(folder))
        home.create()
        save(home.path, {"dashboard": {"port": 0}}, {})
        async with opened(home.database) as database:
            await database.transact(_fill)
            recorded = await _record(database, turns)
            rows = [Row(f"usage of {ROWS:,} rows", "", None, note="over HTTP")]
            rows += await _asked(home, times)
    figure = f"recording {ROWS_OF_A_TURN} rows of a turn, and their sums"
    return [*rows, Row(figure, "µs", statistics.median(recorded), digits=0, n=turns)]


async def _asked(home: Home, times: int) -> list[Row]:
    opening = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(
        show_at_rest(home, load_settings(home.path, {}), opening.set_result)
    )
    rows: list[Row] = []
    try:
        link = URL(await opening)
        async with ClientSession(headers={"X-Aouo-Token": link.query["token"]}) as client:
            for path, aim in _ASKED:
                spans: list[float] = []
                for _ in range(times + 1):
                    begun_s = time.perf_counter()
                    async with client.get(link.join(URL(path))) as response:
                        await response.read()
                        assert response.status == 200
                    spans.append((time.perf_counter() - begun_s) * 1000)
                median = statistics.median(spans[1:])  # the first one imports the page
                rows.append(Row(f"  GET {path}", "ms", median, aim=aim, digits=1, n=times))
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
    return rows


async def _record(database: Database, turns: int) -> list[float]:
    """Write the rows of many turns; return the processor's microseconds of each."""
    chance, today = random.Random(2), SystemClock().now().date()
    kinds = [_row(chance, today) for _ in range(KINDS_OF_A_DAY)]

    def write(tx: Tx) -> float:
        begun_s = time.thread_time()
        for _ in range(ROWS_OF_A_TURN):
            table.record(tx, chance.choice(kinds), _NOW)
        return (time.thread_time() - begun_s) * 1_000_000

    return [await database.transact(write) for _ in range(turns)]


def _fill(tx: Tx) -> None:
    chance, today = random.Random(1), SystemClock().now().date()
    for _ in range(ROWS):
        table.record(tx, _row(chance, today - timedelta(days=chance.randrange(DAYS))), _NOW)


def _row(chance: random.Random, day: date) -> Spent:
    """Five people, five packs, three models, six scopes."""
    scope = chance.choice(
        ("llm", "llm", "llm", "judge", "summary", "stt", "tool:fetch", "tool:msg")
    )
    return Spent(
        scope,
        day.isoformat(),
        "" if scope.startswith("tool:") else "openai",
        "" if scope.startswith("tool:") else chance.choice(("gpt-6", "gpt-6-luna", "own")),
        pack=chance.choice(("", "notes", "vocab", "desk", "radio")),
        session_id=f"chat/{chance.randrange(500)}",
        person=str(1000 + chance.randrange(5)),
        tokens=Usage(chance.randrange(20_000), chance.randrange(2_000), chance.randrange(1_000)),
        cost_usd=chance.random() / 100,
    )
