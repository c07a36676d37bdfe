"""Any program with what it does counted: `… scripts.benchmarks.counted FILE MODULE ARGUMENTS…`.

The counts stand in FILE while it runs; `Counts` reads them, and the pages that go to the log of a
database. Nothing but the standard library is imported here: modules are counted as well.
"""

from __future__ import annotations

import asyncio
import mmap
import runpy
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

NAMES = (
    *("statements", "transactions", "durable", "reads"),
    *("rounds", "handles", "tasks", "timers"),
    *("modules", "ours"),
)
"""SQL statements (BEGIN, COMMIT and PRAGMA too), transactions that write, those of them that wait
for the disk, those that read; rounds of the event loop, its handles, tasks and timers begun. The
last two are the modules that are imported when the first connection is made."""
_PAGE_BYTES, _FRAME_HEAD_BYTES = 4096, 24


class Counts:
    """What a counted program has done so far. Source: sqlite.org/fileformat2.html#walformat."""

    def __init__(self, file: Path, database: Path | None = None) -> None:
        self._file = file
        self._database = database

    def now(self) -> dict[str, int]:
        """All of them by name; `pages` are those written to the log of the database."""
        numbers = memoryview(self._file.read_bytes()).cast("q")
        found = dict(zip(NAMES, numbers, strict=True))
        if self._database is not None:
            size = self._database.with_name(f"{self._database.name}-wal").stat().st_size
            found["pages"] = size // (_PAGE_BYTES + _FRAME_HEAD_BYTES)
        return found

    def keep_log(self) -> closing[sqlite3.Connection]:
        """Hold a snapshot while the block runs, so that the log grows and is not begun anew."""
        assert self._database is not None
        connection = sqlite3.connect(self._database, isolation_level=None)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return closing(connection)


def since(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Return what was added, by name."""
    return {name: value - before[name] for name, value in now.items()}


class _Counter:
    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(8 * len(NAMES)))
        with file.open("r+b") as opened:
            self._numbers = memoryview(mmap.mmap(opened.fileno(), 0)).cast("q")
        self._at = {name: at for at, name in enumerate(NAMES)}

    def add(self, name: str) -> None:
        self._numbers[self._at[name]] += 1

    def connected(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook: count the modules at the first connection over a network."""
        is_first = self._numbers[self._at["modules"]] == 0
        if event == "socket.connect" and is_first and isinstance(arguments[1], tuple):
            names = list(sys.modules)
            self._numbers[self._at["ours"]] = sum(
                name.partition(".")[0] == "aouo" for name in names
            )
            self._numbers[self._at["modules"]] = len(names)

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        """As `sqlite3.connect`, with its statements counted."""
        made = _connect(*arguments, **options)
        waits = writes = False

        def traced(sql: str) -> None:
            nonlocal waits, writes
            if sql.startswith("--"):  # a trigger's, or FTS5's own
                return
            self.add("statements")
            match sql.upper().rstrip(";").split():
                case ["PRAGMA", setting] if setting.startswith("SYNCHRONOUS="):
                    waits = setting.endswith("FULL")
                case ["BEGIN", *how]:
                    writes = bool(how)
                case ["COMMIT"] if writes:
                    self.add("transactions")
                    if waits:
                        self.add("durable")
                case ["ROLLBACK"] if not writes:
                    self.add("reads")
                case _:
                    return

        made.set_trace_callback(traced)
        return made


_connect: Any = sqlite3.connect


def _count_loop(counter: _Counter) -> None:
    loop: Any = asyncio.BaseEventLoop
    handle: Any = asyncio.Handle
    for owner, method, name in (
        (loop, "_run_once", "rounds"),
        (handle, "_run", "handles"),
        (loop, "create_task", "tasks"),
        (loop, "call_at", "timers"),
    ):
        setattr(owner, method, _counting(getattr(owner, method), counter, name))


def _counting(method: Callable[..., Any], counter: _Counter, name: str) -> Callable[..., Any]:
    def counted(*arguments: Any, **options: Any) -> Any:
        counter.add(name)
        return method(*arguments, **options)

    return counted


def main() -> None:
    file, module = sys.argv[1:3]
    counter = _Counter(Path(file))
    counting: Any = sqlite3
    counting.connect = counter.connect
    _count_loop(counter)
    sys.addaudithook(counter.connected)
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
