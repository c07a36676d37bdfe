"""Runs long reads on connections of their own, so that nothing waits for them.

Each connection of aiosqlite has a thread; the event loop goes on while a statement runs. A query
that takes too long, or finds too much, is ended: a reader that stays open keeps the writer from
emptying its log.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, LiteralString, TypeVar

from aouo.facts.errors import TooMuchToRead
from aouo.plumbing.waiting import finish

if TYPE_CHECKING:
    import aiosqlite

_T = TypeVar("_T")
_CONNECTIONS = 2
_PATIENCE_S = 2.0
"""Processor time of a snapshot, so that a busy machine does not end it. The writer waits five
seconds for readers when it empties its log."""
_ROWS_MAX = 5_000
"""`Query.read` runs on the loop: for this many rows it takes some ten milliseconds."""
_STEPS = 50_000
"""Instructions of SQLite between two looks at the clock: half a millisecond. A look needs the
interpreter, which a turn then waits for."""


@dataclass(frozen=True, slots=True)
class Query(Generic[_T]):
    """A query that may read much: its statement, its values, and `read`, which reads its rows."""

    sql: LiteralString
    values: tuple[str | int, ...]
    read: Callable[[Sequence[sqlite3.Row]], _T]


@dataclass(slots=True, eq=False)
class Snapshot:
    """One consistent state of the file, for as long as it is open."""

    connection: aiosqlite.Connection
    rows_max: int

    async def ask(self, query: Query[_T]) -> _T:
        """Run a query and return what it reads.

        Raises:
            TooMuchToRead: it takes too long, or finds too many rows.
        """
        try:
            cursor = await self.connection.execute(query.sql, query.values)
            rows = list(await cursor.fetchmany(self.rows_max + 1))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise TooMuchToRead("it took too long") from error
            raise
        if len(rows) > self.rows_max:
            await cursor.close()
            raise TooMuchToRead(f"more than {self.rows_max} rows")
        return query.read(rows)


def _watch(patience_s: float) -> Callable[[], bool]:
    """Make a progress handler: True ends the statement. Its first call starts the time."""
    begun_s: float | None = None

    def over() -> bool:
        nonlocal begun_s
        now_s = time.thread_time()
        begun_s = now_s if begun_s is None else begun_s
        return now_s - begun_s > patience_s

    return over


@dataclass(eq=False)
class Snapshots:
    """A few connections to one file that cannot write, opened when they are first needed."""

    path: Path
    _: KW_ONLY
    connections: int = _CONNECTIONS
    patience_s: float = _PATIENCE_S
    rows_max: int = _ROWS_MAX

    def __post_init__(self) -> None:
        self._room = asyncio.Semaphore(self.connections)
        self._idle: list[aiosqlite.Connection] = []

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Snapshot]:
        """Yield a snapshot once a connection is free; its time starts after that wait."""
        async with self._room:
            while not self._idle:  # whoever comes just then may take the one that was made
                await finish(self._connect())
            connection = self._idle.pop()
            try:
                await connection.set_progress_handler(_watch(self.patience_s), _STEPS)
                await connection.execute("BEGIN")
                yield Snapshot(connection, self.rows_max)
            finally:
                await finish(self._leave(connection))

    async def close(self) -> None:
        """Close the connections; no snapshot may be open any more."""
        while self._idle:
            await self._idle.pop().close()

    async def _connect(self) -> None:
        import aiosqlite

        connection = await aiosqlite.connect(
            f"{self.path.absolute().as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            timeout=self.patience_s,
        )
        connection.row_factory = sqlite3.Row
        self._idle.append(connection)

    async def _leave(self, connection: aiosqlite.Connection) -> None:
        """Give a connection back; a caller that was cancelled leaves a statement running on it."""
        await connection.interrupt()
        await connection.rollback()
        self._idle.append(connection)
