"""Adds columns to tables that have rows, or rebuilds the table with its rows."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Mapping

from aouo.packs.data.columns import Column
from aouo.packs.data.schema_guard import Guard, TookTooLong, quoted
from aouo.packs.data.shape import Shape, shapes

_TYPE = re.compile(r"[A-Za-z0-9_ (),]*")
_OLD = "_aouo_old"


def add_columns(
    connection: sqlite3.Connection, guard: Guard, wanted: Mapping[str, Shape]
) -> set[str]:
    """Give the tables that are there the columns they lack, with foreign keys off.

    A column is added as its CREATE says. Where a default has to be computed for each row, the
    table is made anew and its rows are put back. Where rows cannot have a value (required,
    without a default), the column stays optional here; these are returned as `table.column`.
    What cannot be added at all is left out.
    """
    eased: set[str] = set()
    for table, there in shapes(connection).items():
        target = wanted.get(table)
        if target is None or target.is_virtual:
            continue
        lacking = [c for name, c in target.columns.items() if name not in there.columns]
        computed = any(not column.constant for column in lacking)
        if computed and _remake(connection, guard, table, there, target):
            continue
        for column in lacking:
            if _add(connection, guard, table, column, target.definition(column.name)):
                eased.add(f"{table}.{column.name.lower()}")
    return eased


def _add(
    connection: sqlite3.Connection, guard: Guard, table: str, column: Column, definition: str
) -> bool:
    """Add one column; return whether less of it than its CREATE says."""
    add = f"ALTER TABLE {quoted(table)} ADD COLUMN"
    with contextlib.suppress(sqlite3.Error):
        if definition:
            with guard.allow("write"):  # each row there is held to a CHECK of the pack
                connection.execute(f"{add} {definition}")
            return False
    kind = column.type if _TYPE.fullmatch(column.type) else ""
    if column.required and column.default is None and not column.key:
        with contextlib.suppress(sqlite3.Error):
            connection.execute(f"{add} {quoted(column.name)} {kind}")
            return True
    return False


def _remake(
    connection: sqlite3.Connection, guard: Guard, table: str, there: Shape, target: Shape
) -> bool:
    """Make a table as it shall be and put its rows back; return whether that went well.

    Its triggers and indexes go with the old one. References of other tables to it stay as
    they are, which is what `legacy_alter_table` is for (sqlite.org/lang_altertable.html).
    """
    kept = [name for name in there.columns if name in target.columns]
    names = ", ".join(map(quoted, ([] if target.has_no_rowid else ["rowid"]) + kept))
    connection.execute("SAVEPOINT remake")
    connection.execute("PRAGMA legacy_alter_table=ON")
    try:
        connection.execute(f"ALTER TABLE {quoted(table)} RENAME TO {_OLD}")
        connection.execute(target.made)
        with guard.allow("write"):  # defaults are the pack's
            connection.execute(f"INSERT INTO {quoted(table)} ({names}) SELECT {names} FROM {_OLD}")
        connection.execute(f"DROP TABLE {_OLD}")
    except (sqlite3.Error, TookTooLong):
        connection.execute("ROLLBACK TO remake")
        return False
    finally:
        connection.execute("PRAGMA legacy_alter_table=OFF")
        connection.execute("RELEASE remake")
    return True
