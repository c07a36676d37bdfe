"""Keeps how rows were before a call changed them, and puts them back.

Temporary triggers of ours write down each change of a transaction, also those that the pack's own
triggers and keys make: the row as it was, the row as it is. A row that is changed again later is
not put back.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, cast

from aouo.facts.errors import ToolFailed
from aouo.packs.data.rows import Cell, Made, made
from aouo.packs.data.schema_guard import OURS, Guard, quoted

TOO_MUCH = "-"
"""What is kept of a change that is too large to be kept."""
_CHANGES = f"{OURS}changes"
_ROWS_MAX = 2_000
_ROW_BYTES, _LARGE = 150_000, "large"
"""An image of a longer row could be longer than a value may be; `large` stands for it."""
_IMAGES_CHARS, _KEPT_CHARS = 16_000_000, 600_000
_GROUP = 100
"""Columns in one call of `json_array`; SQLite 3.40 takes 127 arguments."""
_PASSES = 5
_Where: TypeAlias = tuple[str, str]
"""A table, and the key of a row."""


@dataclass(frozen=True, slots=True)
class _Change:
    """Rows as they were (None: not there), with the digest of what they are, and by table the names
    of key and columns that keys and images have."""

    tables: dict[str, tuple[list[str], list[str]]]
    rows: list[tuple[str, str, str | None, str]]


class Changes:
    """Watches the writes of one connection; tables that a module of SQLite keeps are left out."""

    def __init__(self, connection: sqlite3.Connection, guard: Guard) -> None:
        self._connection, self._guard = connection, guard
        self._tables = {
            item.name: item
            for item in made(connection)
            if item.kind == "table" and not item.is_virtual and item.columns
        }
        self._keys = {name: _key(connection, item) for name, item in self._tables.items()}
        self._names = {
            name: [column.name for column in item.columns] for name, item in self._tables.items()
        }
        connection.execute(
            f"CREATE TEMP TABLE {_CHANGES}(made TEXT, key TEXT, image TEXT, "
            "PRIMARY KEY (made, key)) WITHOUT ROWID"
        )
        for number, name in enumerate(self._tables):
            self._watch(number, name)

    def _watch(self, number: int, name: str) -> None:
        """Note each row before its first change. A row that a REPLACE deletes is seen before it,
        since SQLite tells no trigger of it."""
        literal, seen = name.replace("'", "''"), f"{OURS}seen"
        new, old = (
            _array(f"{row}.{quoted(key)}" for key in self._keys[name]) for row in ("NEW", "OLD")
        )
        there = _array(f"{seen}.{quoted(key)}" for key in self._keys[name])

        def noted(key: str, image: str, rows: str = "") -> str:
            return (
                f"INSERT INTO {_CHANGES} SELECT '{literal}', {key}, {image} "
                f"{rows or 'WHERE 1'} AND NOT EXISTS "
                f"(SELECT 1 FROM {_CHANGES} WHERE made = '{literal}' AND key = {key});"
            )

        was = noted(old, self._image(name, "OLD"))
        came = noted(new, "NULL")
        replaced = "".join(
            noted(there, self._image(name, seen), f"FROM {quoted(name)} AS {seen} WHERE {same}")
            for same in self._conflicts(name, seen)
        )
        for when, event, body in (
            ("BEFORE", "INSERT", replaced),
            ("BEFORE", "UPDATE", replaced),
            ("AFTER", "INSERT", came),
            ("AFTER", "DELETE", was),
            ("AFTER", "UPDATE", was + came),
        ):
            self._connection.execute(
                f"CREATE TEMP TRIGGER {OURS}{when}_{event}_{number} {when} {event} "
                f"ON main.{quoted(name)} BEGIN {body} END"
            )

    def _conflicts(self, name: str, row: str) -> Iterator[str]:
        """Yield conditions by which a row is in the way of a new one."""
        yield " AND ".join(f"{row}.{quoted(key)} = NEW.{quoted(key)}" for key in self._keys[name])
        for _, index, unique, *_ in self._connection.execute(
            f"PRAGMA index_list({quoted(name)})"
        ).fetchall():
            columns = self._connection.execute(f"PRAGMA index_xinfo({quoted(index)})").fetchall()
            parts = [(column, order) for _, _, column, _, order, key in columns if key]
            if unique and all(column is not None for column, _ in parts):
                yield " AND ".join(
                    f"{row}.{quoted(column)} = NEW.{quoted(column)} COLLATE {order}"
                    for column, order in parts
                )

    def _image(self, name: str, row: str, names: Sequence[str] = ()) -> str:
        """Return the SQL of a row as one text."""
        cells = [f"{row}.{quoted(column)}" for column in names or self._names[name]]
        size = " + ".join(f"coalesce(length(CAST({cell} AS BLOB)), 0)" for cell in cells)
        return f"CASE WHEN {size} > {_ROW_BYTES} THEN '{_LARGE}' ELSE {_array(iter(cells))} END"

    def tables(self) -> set[str]:
        """Return the tables that were written to since the last time."""
        return {table for table, _ in self._net()}

    def forget(self) -> None:
        """Begin anew: what was changed since the last time is not kept."""
        self._connection.execute(f"DELETE FROM temp.{_CHANGES}")

    def taken(self) -> str:
        """Return what was changed since the last time as text for `put_back`; "" = nothing,
        `TOO_MUCH` = more than is kept."""
        net = self._net()
        self.forget()
        images = [image for pair in net.values() for image in pair]
        if len(net) > _ROWS_MAX or _LARGE in images:
            return TOO_MUCH
        if sum(len(image or "") for image in images) > _IMAGES_CHARS:
            return TOO_MUCH
        tables = {name: (list(self._keys[name]), self._names[name]) for name, _ in net}
        rows = [(*where, before, _digest(after)) for where, (before, after) in net.items()]
        kept = _written(_Change(tables, rows)) if rows else ""
        return kept if len(kept) <= _KEPT_CHARS else TOO_MUCH

    def _net(self) -> dict[_Where, tuple[str | None, str | None]]:
        """Return table and key of each row that was changed, as it was and as it is."""
        rows = self._connection.execute(f"SELECT made, key, image FROM temp.{_CHANGES}").fetchall()
        net = {
            (table, key): (image, self._now((table, key), self._names[table]))
            for table, key, image in rows
        }
        return {
            where: (before, after)
            for where, (before, after) in net.items()
            if before != after or before == _LARGE
        }

    def fits(self, kept: str) -> bool:
        """Whether the tables have all that a change was kept of."""
        change = _read(kept)
        return change is not None and all(
            name in self._tables
            and list(self._keys[name]) == keys
            and set(names) <= set(self._names[name])
            for name, (keys, names) in change.tables.items()
        )

    @staticmethod
    def erase_rows(connection: sqlite3.Connection, column: str, value: str) -> None:
        """Take rows that have or had a value out of what is kept to put calls back, in any table
        with that column, and what those calls answered; the rows themselves stay."""
        calls = "SELECT call_id, undo FROM _aouo_calls WHERE undo NOT IN ('', ?)"
        changes = [(call, _read(undo)) for call, undo in connection.execute(calls, (TOO_MUCH,))]
        theirs: set[_Where] = set()
        for item in made(connection):
            if item.kind == "table" and column in {one.name for one in item.columns}:
                key = _array(quoted(name) for name in _key(connection, item))
                sql = f"SELECT {key} FROM {quoted(item.name)} WHERE {quoted(column)} = ?"
                theirs |= {(item.name, row[0]) for row in connection.execute(sql, (value,))}
        for _, change in changes:
            for table, key, image, _ in change.rows if change else ():
                names = change.tables[table][1] if change else []
                if image and column in names and _cells(image)[names.index(column)] == value:
                    theirs.add((table, key))
        write = (
            "UPDATE _aouo_calls SET undo = ?, result = CASE WHEN json_valid(result) THEN '{}'"
            " ELSE result END WHERE call_id = ?"
        )
        for call, change in changes:
            left = [row for row in change.rows if (row[0], row[1]) not in theirs] if change else []
            if change and len(left) < len(change.rows):
                kept = _written(_Change(change.tables, left)) if left else ""
                connection.execute(write, (kept, call))

    def put_back(self, kept: str) -> None:
        """Make the rows what they were, in the caller's transaction, and count that as a change;
        what the pack's own triggers make of that is put back, too. A column that is new since keeps
        what it has.

        Raises:
            ToolFailed: one was changed since, or cannot be made so again.
        """
        change = _read(kept)
        if change is None or not self.fits(kept):
            raise ToolFailed("The pack has other tables now.")
        names = {table: names for table, (_, names) in change.tables.items()}
        wanted: dict[_Where, str | None] = {}
        for table, key, before, after in reversed(change.rows):
            if _digest(self._now((table, key), names[table])) != after:
                raise ToolFailed("What it changed has been changed again since.")
            wanted[table, key] = before
        old = set(wanted)

        def columns(where: _Where) -> list[str]:
            return names[where[0]] if where in old else self._names[where[0]]

        self._connection.execute("PRAGMA defer_foreign_keys=ON")
        for _ in range(_PASSES):
            wrong = [
                where
                for where, image in wanted.items()
                if self._now(where, columns(where)) != image
            ]
            for where in sorted(wrong, key=lambda where: wanted[where] is not None):
                with suppress(sqlite3.IntegrityError), self._guard.allow("write"):
                    try:
                        self._make(where, wanted[where], columns(where))
                    except sqlite3.IntegrityError:
                        # Rows that have each other's unique values: one goes, to be made anew.
                        if set(self._names[where[0]]) <= set(columns(where)):
                            self._make(where, None, columns(where))
            wanted |= {
                where: before for where, (before, _) in self._net().items() if where not in wanted
            }
            if not wrong:
                return
        raise ToolFailed("The pack's own rules do not let it be as it was.")

    def _make(self, where: _Where, image: str | None, names: Sequence[str]) -> None:
        table, key = where
        condition = self._where(table)
        if image is None:
            self._connection.execute(f"DELETE FROM {quoted(table)} WHERE {condition}", _cells(key))
        elif image == _LARGE:
            raise ToolFailed("A row is too large to be put back.")
        elif self._now(where, names) is None:
            hidden = () if set(self._keys[table]) <= set(names) else self._keys[table]
            columns = ", ".join(quoted(name) for name in (*hidden, *names))
            marks = ", ".join("?" for _ in (*hidden, *names))
            values = (*(_cells(key) if hidden else ()), *_cells(image))
            self._connection.execute(
                f"INSERT INTO {quoted(table)} ({columns}) VALUES ({marks})", values
            )
        else:
            sets = ", ".join(f"{quoted(name)} = ?" for name in names)
            self._connection.execute(
                f"UPDATE {quoted(table)} SET {sets} WHERE {condition}",
                (*_cells(image), *_cells(key)),
            )

    def _now(self, where: _Where, names: Sequence[str]) -> str | None:
        table, key = where
        image = self._image(table, quoted(table), names)
        row = self._connection.execute(
            f"SELECT {image} FROM {quoted(table)} WHERE {self._where(table)}", _cells(key)
        ).fetchone()
        return row[0] if row else None

    def _where(self, table: str) -> str:
        return " AND ".join(f"{quoted(name)} IS ?" for name in self._keys[table])


def _digest(image: str | None) -> str:
    return "" if image is None else hashlib.sha256(image.encode()).hexdigest()[:32]


def _written(change: _Change) -> str:
    text = json.dumps([change.tables, change.rows], ensure_ascii=False)
    return base64.b85encode(zlib.compress(text.encode())).decode()


def _read(kept: str) -> _Change | None:
    """Return what `_written` wrote, None = it is of an earlier time, or too much was changed."""
    try:
        tables, rows = json.loads(zlib.decompress(base64.b85decode(kept)))
    except (ValueError, zlib.error):
        return None
    return _Change(tables, rows)


def _key(connection: sqlite3.Connection, item: Made) -> tuple[str, ...]:
    """Return the columns by which a row is found again: its rowid, or its primary key."""
    named = {column.name.lower() for column in item.columns}
    try:
        connection.execute(f"SELECT rowid FROM {quoted(item.name)} LIMIT 0")
    except sqlite3.Error:  # WITHOUT ROWID
        return tuple(column.name for column in item.columns if column.key)
    return ("rowid",) if "rowid" not in named else ("_rowid_",)


def _array(values: Iterator[str]) -> str:
    literals = [f"quote({value})" for value in values]
    groups = (literals[at : at + _GROUP] for at in range(0, len(literals), _GROUP))
    arrays = (f"json_array({', '.join(group)})" for group in groups)
    return f"json_array({', '.join(arrays)})"


def _cells(image: str) -> tuple[Cell, ...]:
    return tuple(_cell(literal) for group in json.loads(image) for literal in group)


def _cell(literal: str) -> Cell:
    """Return the value that SQLite's `quote` wrote."""
    if literal == "NULL":
        return None
    if literal.startswith("'"):
        return literal[1:-1].replace("''", "'")
    if literal.startswith("X'"):
        return bytes.fromhex(literal[2:-1])
    return int(literal) if literal.lstrip("-").isdecimal() else cast("Cell", float(literal))
