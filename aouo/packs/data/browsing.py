"""Browses a pack's database for the owner: tables, pages of rows, whole cells, all rows.

Each look opens the file anew, read only, and is ended after a time. The statements are ours; the
names in them were found in the database. What a pack's own SQL computes is left out.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from aouo.facts.errors import PackError, Refused, TooMuchToRead
from aouo.packs.data.opening import open_to_read
from aouo.packs.data.rows import (
    Cell,
    Column,
    Table,
    columns,
    key_names,
    read_key,
    tables,
    written_key,
)
from aouo.packs.data.schema_guard import quoted

How: TypeAlias = Literal["contains", "equals"]
_PATIENCE_S = 2.0
"""Processor time of one look."""
COUNTED_MAX = 1_000_000
"""Rows are counted this far."""
_PAGE_BYTES = 4_000_000
"""Of a page that is longer, only the first rows are read."""
_LOCKED_S = 1.0
_STEPS = 1_000
_ROW_BYTES = 64_000_000


class NotThere(Refused):
    """What was named is not in the database, or not any more; says what."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows of a table: sorted by a column, "" = by their key; those `after` the row of a key.

    Only rows whose `column` has the text in it, or is it; without a text, all rows. Where it is
    looked for inside, a to z are like A to Z. Of a cell that is longer only the first `cut`
    characters or bytes are read.
    """

    table: str
    column: str = ""
    how: How = "contains"
    text: str = ""
    sort: str = ""
    falling: bool = False
    after: str = ""
    limit: int = 50
    cut: int = _ROW_BYTES


@dataclass(frozen=True, slots=True)
class _Row:
    """One row: what names it, "" = nothing can; its cells; and by number of the column the whole
    size of those that are cut."""

    key: str
    cells: tuple[Cell, ...]
    sizes: dict[int, int]


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a table; `more`: others come after them."""

    columns: tuple[Column, ...]
    rows: tuple[_Row, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    def position(self, column: str) -> int:
        """Return where a column stands. Raises: NotThere."""
        for index, one in enumerate(self.columns):
            if one.name == column:
                return index
        raise NotThere(f"The table {self.name} has no column {column!r}.")

    def cells(self, key: str) -> tuple[Cell, ...]:
        """Read a key that was given away. Raises: NotThere."""
        try:
            return read_key(key, self.key)
        except (ValueError, RecursionError) as error:
            raise NotThere(f"There is no row {key[:80]!r} in {self.name}.") from error


class Browsing:
    """One state of a database, for one look at it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def tables(self) -> list[tuple[Table, tuple[str, ...], int | None]]:
        """Return the pack's tables, each with the columns that the pack's SQL computes, and how
        many rows it has; None = more than are counted."""
        found: list[tuple[Table, tuple[str, ...], int | None]] = []
        for name, plain in tables(self._connection).items():
            every = columns(self._connection, name, generated=True)
            computed = tuple(one.name for one in every if one not in plain)
            found.append((Table(name, plain), computed, self._count(name, "1", ())))
        return found

    def page(self, wanted: Wanted) -> Page:
        """Return a page of rows. Raises: NotThere."""
        table = self._table(wanted.table)
        rows, room, more = list[_Row](), _PAGE_BYTES, False
        for values in self._rows(table, wanted):
            if len(rows) == wanted.limit or room < 0:
                more = True
                break
            rows.append(_row(table, values, wanted.cut))
            room -= sum(len(one) for one in rows[-1].cells if isinstance(one, str | bytes))
        return Page(table.columns, tuple(rows), more)

    def count(self, wanted: Wanted) -> int | None:
        """Return how many rows there are on all pages, None = more than are counted.

        Raises:
            NotThere: there is no such table or column.
        """
        return self._count(wanted.table, *_where(self._table(wanted.table), wanted))

    def cell(self, table: str, column: str, key: str) -> Cell:
        """Return a whole cell. Raises: NotThere."""
        found = self._table(table)
        return self._row(found, found.cells(key))[len(found.key) + found.position(column)]

    def _table(self, name: str) -> _Table:
        there = tables(self._connection)
        if name not in there:
            raise NotThere(f"There is no table {name!r}.")
        return _Table(name, there[name], key_names(self._connection, name, there[name]))

    def _count(self, name: str, where: str, values: tuple[Cell, ...]) -> int | None:
        rows = f"SELECT 1 FROM {quoted(name)} WHERE {where} LIMIT {COUNTED_MAX + 1}"
        try:
            (number,) = self._connection.execute(
                f"SELECT count(*) FROM ({rows})", values
            ).fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            return None
        return int(number) if number <= COUNTED_MAX else None

    def _rows(self, table: _Table, wanted: Wanted) -> Iterator[tuple[Cell, ...]]:
        """Yield key and cells of the rows in order, at most one more than wanted.

        Sorted by a column, only keys are held while sorting, and no more of them than wanted.
        """
        where, values = _where(table, wanted)
        if wanted.after:
            begin, more = self._beyond(table, wanted)
            where, values = f"({where}) AND ({begin})", (*values, *more)
        way = "DESC" if wanted.falling else "ASC"
        sort = (quoted(table.columns[table.position(wanted.sort)].name),) if wanted.sort else ()
        order = ", ".join(f"{one} {way}" for one in (*sort, *table.key)) or "1"
        keys_only = bool(sort and table.key)
        names = table.key if keys_only else _names(table)
        sql = (
            f"SELECT {', '.join(names)} FROM {quoted(table.name)} WHERE {where} "
            f"ORDER BY {order} LIMIT {wanted.limit + 1}"
        )
        for found in self._connection.execute(sql, values):
            yield self._row(table, found) if keys_only else found

    def _beyond(self, table: _Table, wanted: Wanted) -> tuple[str, tuple[Cell, ...]]:
        """Return the condition that a row comes after the one whose key is given; NULL is least."""
        key, sign = table.cells(wanted.after), "<" if wanted.falling else ">"
        after = f"({', '.join(table.key)}) {sign} ({', '.join('?' * len(key))})"
        if not wanted.sort:
            return after, key
        position = table.position(wanted.sort)
        column = quoted(table.columns[position].name)
        value = self._row(table, key)[len(key) + position]
        if value is None:
            same = f"{column} IS NULL AND {after}"
            return (same if wanted.falling else f"{same} OR {column} IS NOT NULL"), key
        least = f" OR {column} IS NULL" if wanted.falling else ""
        return f"{column} {sign} ? OR ({column} = ? AND {after}){least}", (value, value, *key)

    def _row(self, table: _Table, key: tuple[Cell, ...]) -> tuple[Cell, ...]:
        where = " AND ".join(f"{one} = ?" for one in table.key)
        sql = f"SELECT {', '.join(_names(table))} FROM {quoted(table.name)} WHERE {where} LIMIT 1"
        found: tuple[Cell, ...] | None = self._connection.execute(sql, key).fetchone()
        if found is None:
            raise NotThere("The row is not there any more. Go back to the first page.")
        return found


@contextmanager
def browsing(file: Path) -> Generator[Browsing]:
    """Yield one state of a database until its time is over; to be used by one thread.

    Raises:
        PackError: it cannot be read.
        TooMuchToRead: the time is over.
    """
    begun_s = time.thread_time()
    try:
        with closing(open_to_read(file, patience_s=_LOCKED_S)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ROW_BYTES)
            connection.text_factory = _text
            connection.set_progress_handler(
                lambda: time.thread_time() - begun_s > _PATIENCE_S, _STEPS
            )
            connection.execute("BEGIN")
            yield Browsing(connection)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            raise TooMuchToRead("it took too long") from error
        raise PackError(f"The database cannot be read: {error}.") from error
    except (OverflowError, UnicodeEncodeError) as error:
        raise NotThere(f"There is no such value: {error}.") from error


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _names(table: _Table) -> tuple[str, ...]:
    return (*table.key, *(quoted(one.name) for one in table.columns))


def _where(table: _Table, kept: Wanted) -> tuple[str, tuple[Cell, ...]]:
    if not kept.text:
        return "1", ()
    column = quoted(table.columns[table.position(kept.column)].name)
    if kept.how == "equals":
        return f"({column} = ? OR CAST({column} AS TEXT) = ?)", (kept.text, kept.text)
    return f"instr(lower(CAST({column} AS TEXT)), lower(?)) > 0", (kept.text,)


def _row(table: _Table, values: tuple[Cell, ...], cut: int) -> _Row:
    """Cut the long cells of a row."""
    cells, sizes = list(values[len(table.key) :]), dict[int, int]()
    for index, value in enumerate(cells):
        if isinstance(value, str | bytes) and len(value) > cut:
            sizes[index] = len(value)
            cells[index] = value[:cut]
    return _Row(written_key(values[: len(table.key)]), tuple(cells), sizes)
