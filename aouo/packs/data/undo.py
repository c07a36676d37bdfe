"""Keeps how rows were before a call changed them, and puts them back.

Temporary triggers of ours write down each change of a transaction, also those that the pack's own
triggers and keys make: the row as it was, the row as it is. A row that is changed again later is
not put back.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

from aouo.facts.errors import ToolFailed
from aouo.packs.data.rows import Cell, Made, made
from aouo.packs.data.schema_guard import OURS, Guard, quoted

_CHANGES = f"{OURS}changes"
_ROWS_MAX = 2_000
_GROUP = 100
"""Columns in one call of `json_array`; SQLite 3.40 takes 127 arguments."""
_PASSES = 5


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
        connection.execute(
            f"CREATE TEMP TABLE {_CHANGES}(made TEXT, key TEXT, image TEXT, came INTEGER)"
        )
        for number, (name, item) in enumerate(self._tables.items()):
            for event, sides in (("INSERT", "N"), ("DELETE", "O"), ("UPDATE", "ON")):
                body = "".join(self._noted(name, item, side) for side in sides)
                connection.execute(
                    f"CREATE TEMP TRIGGER {OURS}{event}_{number} AFTER {event} "
                    f"ON main.{quoted(name)} BEGIN {body} END"
                )

    def _noted(self, name: str, item: Made, side: str) -> str:
        row = "NEW" if side == "N" else "OLD"
        key = _array(f"{row}.{quoted(column)}" for column in self._keys[name])
        image = _array(f"{row}.{quoted(column.name)}" for column in item.columns)
        literal = name.replace("'", "''")
        return f"INSERT INTO {_CHANGES} VALUES ('{literal}', {key}, {image}, {int(side == 'N')});"

    def tables(self) -> set[str]:
        """Return the tables that were written to since the last time."""
        return {table for table, _ in self._net()}

    def taken(self) -> str:
        """Return what was changed since the last time as JSON for `put_back`; "" = nothing, or too
        much to be kept."""
        kept = [
            [*where, before, after]
            for where, (before, after) in self._net().items()
            if before != after
        ]
        self._connection.execute(f"DELETE FROM temp.{_CHANGES}")
        return json.dumps(kept, ensure_ascii=False) if 0 < len(kept) <= _ROWS_MAX else ""

    def _net(self) -> dict[tuple[str, str], tuple[str | None, str | None]]:
        """Return table and key of each row that was written to, as it was and as it is."""
        rows = self._connection.execute(
            f"SELECT made, key, image, came FROM temp.{_CHANGES} ORDER BY rowid"
        )
        net: dict[tuple[str, str], tuple[str | None, str | None]] = {}
        for table, key, image, came in rows:
            before, _ = net.get((table, key), (None if came else image, None))
            net[table, key] = (before, image if came else None)
        return net

    def put_back(self, kept: str) -> None:
        """Make the rows what they were, in the caller's transaction, and count that as a change;
        what the pack's own triggers make of that is put back, too.

        Raises:
            ToolFailed: one was changed since, or cannot be made so again.
        """
        changes = [((table, key), before, after) for table, key, before, after in json.loads(kept)]
        if any(self._now(where) != after for where, _, after in changes):
            raise ToolFailed("What it changed has been changed again since.")
        wanted = {where: before for where, before, _ in reversed(changes)}
        self._connection.execute("PRAGMA defer_foreign_keys=ON")
        for _ in range(_PASSES):
            wrong = [where for where, image in wanted.items() if self._now(where) != image]
            for where in sorted(wrong, key=lambda where: wanted[where] is not None):
                with suppress(sqlite3.IntegrityError), self._guard.allow("write"):
                    self._make(*where, wanted[where])
            wanted |= {
                where: before for where, (before, _) in self._net().items() if where not in wanted
            }
            if not wrong:
                return
        raise ToolFailed("The pack's own rules do not let it be as it was.")

    def _make(self, table: str, key: str, image: str | None) -> None:
        where, names = self._where(table), [column.name for column in self._tables[table].columns]
        if image is None:
            self._connection.execute(f"DELETE FROM {quoted(table)} WHERE {where}", _cells(key))
        elif self._now((table, key)) is None:
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
                f"UPDATE {quoted(table)} SET {sets} WHERE {where}", (*_cells(image), *_cells(key))
            )

    def _now(self, where: tuple[str, str]) -> str | None:
        table, key = where
        if table not in self._tables:
            return None
        image = _array(quoted(column.name) for column in self._tables[table].columns)
        row = self._connection.execute(
            f"SELECT {image} FROM {quoted(table)} WHERE {self._where(table)}", _cells(key)
        ).fetchone()
        return row[0] if row else None

    def _where(self, table: str) -> str:
        return " AND ".join(f"{quoted(name)} IS ?" for name in self._keys[table])


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
