"""Reads from a pack's database what it has: tables and their columns, and how they are made."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from aouo.packs.data.schema_guard import quoted

_VIRTUAL = re.compile(r"CREATE VIRTUAL TABLE\b.*?\bUSING\s+(\w+)", re.IGNORECASE | re.DOTALL)
_SHADOWS = {
    "fts5": ("config", "content", "data", "docsize", "idx"),
    "fts4": ("content", "docsize", "segdir", "segments", "stat"),
    "rtree": ("node", "parent", "rowid"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column as the database knows it; `default` is SQL text, None = there is none."""

    name: str
    type: str
    required: bool
    default: str | None
    key: int


@dataclass(frozen=True, slots=True)
class Made:
    """One table, index, view or trigger: its CREATE, and the columns of a table."""

    kind: str
    name: str
    sql: str
    columns: tuple[Column, ...]

    @property
    def is_virtual(self) -> bool:
        """Whether a module of SQLite keeps the table."""
        return self.sql.upper().startswith("CREATE VIRTUAL")


def made(connection: sqlite3.Connection) -> tuple[Made, ...]:
    """Return what the pack has made, in its order, without what is ours and SQLite's."""
    rows = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        "AND name NOT LIKE '\\_aouo\\_%' ESCAPE '\\' ORDER BY rowid"
    ).fetchall()
    shadows = {shadow for _, name, sql in rows for shadow in _shadows(name, sql)}
    return tuple(
        Made(kind, name, sql, columns(connection, name) if kind == "table" else ())
        for kind, name, sql in rows
        if name.lower() not in shadows
    )


def tables(connection: sqlite3.Connection) -> dict[str, tuple[Column, ...]]:
    """Return the pack's tables and their columns."""
    return {each.name: each.columns for each in made(connection) if each.kind == "table"}


def _shadows(table: str, sql: str) -> Iterator[str]:
    """The tables in which a virtual one keeps what is in it.

    `PRAGMA table_list` knows them too, and compiles each view of the pack to find out more.
    """
    if virtual := _VIRTUAL.match(sql):
        ends = _SHADOWS.get(virtual[1].lower(), ())
        yield from (f"{table.lower()}_{end}" for end in ends)


def columns(
    connection: sqlite3.Connection, table: str, *, generated: bool = False
) -> tuple[Column, ...]:
    """Return the columns of a table that a row can be written to, or the `generated` ones too."""
    rows = connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    return tuple(
        Column(str(name), str(kind), bool(notnull), default, int(key))
        for _, name, kind, notnull, default, key, hidden in rows
        if not hidden or (generated and hidden != 1)
    )


def keys(connection: sqlite3.Connection, table: str) -> list[tuple[str, ...]]:
    """Return the primary key and each other unique key of plain columns."""
    primary = sorted(
        (item for item in columns(connection, table) if item.key), key=lambda item: item.key
    )
    found = [tuple(item.name for item in primary)] if primary else []
    indexes = connection.execute(f"PRAGMA index_list({quoted(table)})").fetchall()
    for _, name, unique, origin, partial in indexes:
        if unique and not partial and origin != "pk":
            info = connection.execute(f"PRAGMA index_info({quoted(name)})").fetchall()
            if all(column is not None for _, _, column in info):
                found.append(tuple(str(column) for _, _, column in info))
    return found
