"""Reads from a pack's database which tables and columns it has."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from aouo.packs.data.schema_guard import quoted
from aouo.packs.data.schema_text import tokens

VIRTUAL = "CREATE VIRTUAL TABLE"
_SHADOWS = {
    "fts5": ("config", "content", "data", "docsize", "idx"),
    "fts4": ("content", "docsize", "segdir", "segments", "stat"),
    "rtree": ("node", "parent", "rowid"),
}
_CONSTANT = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?|'([^']|'')*'|NULL|TRUE|FALSE", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Column:
    """One column as the database knows it; `default` is SQL text, None = there is none."""

    name: str
    type: str
    required: bool
    default: str | None
    key: int

    @property
    def constant(self) -> bool:
        """Whether each row gets the same value when none is given."""
        return self.default is None or bool(_CONSTANT.fullmatch(self.default))


def tables(connection: sqlite3.Connection) -> dict[str, tuple[Column, ...]]:
    """Return the pack's tables and their columns, without ours and SQLite's."""
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        "AND name NOT LIKE '\\_aouo\\_%' ESCAPE '\\' ORDER BY rowid"
    ).fetchall()
    shadows = {shadow for name, sql in rows for shadow in _shadows(str(name), str(sql))}
    names = (str(name) for name, _ in rows if str(name).lower() not in shadows)
    return {name: columns(connection, name) for name in names}


def _shadows(table: str, made: str) -> Iterator[str]:
    """The tables in which a virtual one keeps what is in it.

    `PRAGMA table_list` knows them too, and compiles each view of the pack to find out more.
    """
    if made.upper().startswith(VIRTUAL):
        words = [token.plain for token in tokens(made)]
        module = words[words.index("using") + 1]
        yield from (f"{table.lower()}_{end}" for end in _SHADOWS.get(module, ()))


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
