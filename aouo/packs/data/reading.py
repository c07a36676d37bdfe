"""Reads a pack's database over a connection of its own that cannot write."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from aouo.facts.errors import ToolFailed
from aouo.packs.data.opening import open_to_read
from aouo.packs.data.rows import Cell, Column, shown, tables, unread
from aouo.packs.data.schema_guard import Guard, TookTooLong, quoted

_T = TypeVar("_T")
Bindings: TypeAlias = "tuple[Cell, ...] | dict[str, Cell]"

_ANSWER_CHARS = 16_000
_FETCHED_BYTES = 16_000_000  # 16 values of the greatest length, more than an answer shows
_WHOLE_BYTES = 64_000_000
"""Of all texts of a look that shows every row whole."""
_PLENTY = 1 << 62
ALL = 1_000_000
"""A limit of rows that stands for all; of more a look is refused."""


@dataclass(frozen=True, slots=True)
class Found:
    """Rows as JSON can carry them; `more`: there are others, beyond the limit or the room."""

    rows: tuple[dict[str, object], ...]
    more: bool


class ReadConnection:
    """Looks into one pack's database; one statement at a time, from any thread.

    The connection is opened read only, and the guard lets nothing but reads through: whatever
    a statement says, nothing is changed and no other file is seen.
    """

    def __init__(self, path: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Raises: sqlite3.Error: the file cannot be read."""
        self._lock = threading.Lock()
        self._path, self._monotonic = path, monotonic
        self._room = _PLENTY
        self._closed = False
        self._reader: tuple[sqlite3.Connection, Guard] | None = None
        _ = self._connection

    def _reading(self) -> tuple[sqlite3.Connection, Guard]:
        if self._closed:
            raise sqlite3.ProgrammingError("Cannot operate on a closed database.")
        if self._reader is None:
            connection = open_to_read(self._path)
            connection.text_factory = self._text
            self._reader = (connection, Guard(connection, monotonic=self._monotonic))
        return self._reader

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._reading()[0]

    @property
    def _guard(self) -> Guard:
        return self._reading()[1]

    def close(self) -> None:
        self.rest()
        self._closed = True

    def rest(self) -> None:
        """Let the file go; the next look opens it again."""
        with self._lock:
            if self._reader:
                self._reader[0].close()
            self._reader = None

    def tables(self) -> dict[str, tuple[Column, ...]]:
        """Return the pack's tables and their columns.

        Raises:
            ToolFailed: the database cannot be read any more.
        """
        with self._lock, _readable():
            return tables(self._connection)

    def definitions(self) -> tuple[str, ...]:
        """Return the CREATE statements of the tables and views a query can use."""
        with self._lock, _readable():
            made = tables(self._connection)
            found = self._connection.execute(
                "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
            ).fetchall()
        return tuple(sql for name, kind, sql in found if name in made or kind == "view")

    def count(self, table: str) -> int:
        """Return how many rows a table has, whose name was found in the database."""
        found = self.rows(f"SELECT count(*) AS rows FROM {quoted(table)}", (), limit=1)
        return int(str(found.rows[0]["rows"]))

    def rows(
        self, sql: str, values: Bindings, *, limit: int, hidden: Collection[str] = ()
    ) -> Found:
        """Run one SELECT and return its first rows as an answer to a model has room for them;
        `hidden` tables cannot be read.

        Raises:
            ToolFailed: it does not run, ran too long, or tries what it may not; says what to write
                instead.
        """
        names, fetched = self._run(
            sql, values, lambda cursor: self._fetched(cursor, limit + 1), hidden
        )
        return _fitting(names, fetched, limit)

    def whole(self, sql: str, values: Bindings, *, limit: int) -> list[dict[str, object]]:
        """Run one SELECT and return its first rows, each whole.

        Raises:
            ToolFailed: as in `rows`, or there is more than fits into memory.
        """
        names, fetched = self._run(sql, values, lambda cursor: _whole(cursor, limit))
        return [_row(names, values) for values in fetched]

    def part(self, sql: str, number: int, size: int) -> tuple[int, list[dict[str, object]], int]:
        """Run one SELECT and return a part of `size` rows by its number from 0, or the last one,
        with its number, and how many rows there are.

        Raises:
            ToolFailed: as in `rows`.
        """

        def turned(cursor: sqlite3.Cursor) -> tuple[int, list[tuple[object, ...]], int]:
            count, at = 0, 0
            rows: list[tuple[object, ...]] = []
            for row in cursor:
                if count % size == 0 and count // size <= number:
                    at, rows = count // size, []
                if count // size <= number:
                    rows.append(row)
                count += 1
            return at, rows, count

        names, (at, rows, count) = self._run(sql, (), turned)
        return at, [_row(names, values) for values in rows], count

    def _run(
        self,
        sql: str,
        values: Bindings,
        fetch: Callable[[sqlite3.Cursor], _T],
        hidden: Collection[str] = (),
    ) -> tuple[list[str], _T]:
        """Run one SELECT; return the names of its columns, and what `fetch` takes of its rows."""
        with self._lock:
            with _readable():  # declares virtual tables, which the guard refuses later
                there = tables(self._connection)
            try:
                with self._guard.allow("read", hidden=hidden):
                    cursor = self._connection.execute(sql, values)
                    fetched = fetch(cursor)
                    names = _distinct(str(item[0]) for item in cursor.description or ())
                    cursor.close()
            except TookTooLong as error:
                raise ToolFailed(
                    "The statement ran too long; ask for less, or add WHERE."
                ) from error
            except (sqlite3.Error, sqlite3.Warning) as error:
                raise _unread(self._guard.refusal or str(error), there, hidden) from error
            except (OverflowError, UnicodeEncodeError) as error:
                raise _unread(f"A value cannot be used: {error}", there, hidden) from error
        return names, fetched

    def _fetched(self, cursor: sqlite3.Cursor, most: int) -> list[tuple[object, ...]]:
        """Return the first rows, and of rows with huge values fewer."""
        found: list[tuple[object, ...]] = []
        left = _FETCHED_BYTES
        while len(found) < most and left > 0:
            self._room = _FETCHED_BYTES
            try:
                row = cursor.fetchone()
            finally:
                self._room = _PLENTY
            if row is None:
                break
            found.append(row)
            left -= sum(len(value) for value in row if isinstance(value, str | bytes))
        return found

    def _text(self, raw: bytes) -> str:
        """Make a text of what is stored, as long as its row is no larger than all may be."""
        self._room -= len(raw)
        if self._room < 0:
            raise sqlite3.DataError("a row is larger than 16 MB: ask for fewer columns, or substr")
        return raw.decode(errors="replace")


def has_rows(file: Path) -> bool:
    """Whether a database holds any row; one that cannot be read may."""
    try:
        reader = ReadConnection(file)
    except sqlite3.Error:
        return True
    try:
        return any(reader.count(table) for table in reader.tables())
    except ToolFailed:
        return True
    finally:
        reader.close()


@contextlib.contextmanager
def _readable() -> Generator[None]:
    """Raises: ToolFailed: the file was closed, or is damaged."""
    try:
        yield
    except sqlite3.Error as error:
        raise ToolFailed(
            f"The pack's database cannot be read: {error}. Make the call again."
        ) from error


def _unread(
    said: str, there: Mapping[str, tuple[Column, ...]], hidden: Collection[str]
) -> ToolFailed:
    return ToolFailed(unread(said, {name: there[name] for name in there if name not in hidden}))


def _fitting(names: list[str], found: list[tuple[object, ...]], limit: int) -> Found:
    """Return as many rows as an answer has room for, at least one."""
    rows: list[dict[str, object]] = []
    room = _ANSWER_CHARS
    for values in found[:limit]:
        row = {name: shown(value) for name, value in zip(names, values, strict=True)}
        room -= len(json.dumps(row, ensure_ascii=False))
        if room < 0 and rows:
            break
        rows.append(row)
    return Found(tuple(rows), len(found) > len(rows))


def _whole(cursor: sqlite3.Cursor, limit: int) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    room = _WHOLE_BYTES
    for row in cursor:
        if len(rows) == limit:
            if limit == ALL:
                raise ToolFailed(f"These are more than {ALL:,} rows: ask for a part of them.")
            break
        rows.append(row)
        room -= sum(len(value) for value in row if isinstance(value, str | bytes))
        if room < 0:
            raise ToolFailed("These rows are more than 64 MB: ask for a part of them.")
    return rows


def _row(names: list[str], values: tuple[object, ...]) -> dict[str, object]:
    cells = (value if isinstance(value, str) else shown(value) for value in values)
    return dict(zip(names, cells, strict=True))


def _distinct(names: Iterable[str]) -> list[str]:
    """Number names that come twice, as in a join, so that no value hides another."""
    taken: list[str] = []
    for name in names:
        again = sum(1 for other in taken if other == name or other.startswith(f"{name}:"))
        taken.append(f"{name}:{again + 1}" if again else name)
    return taken
