"""Which tables and columns a pack's database has, as the database knows them."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass

from aouo.packs.data.schema_guard import quoted

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
        "SELECT m.name FROM sqlite_master AS m JOIN pragma_table_list AS l ON l.name = m.name "
        "WHERE l.schema = 'main' AND l.type IN ('table', 'virtual') "
        "AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        "AND m.name NOT LIKE '\\_aouo\\_%' ESCAPE '\\' ORDER BY m.rowid"
    ).fetchall()
    return {str(name): columns(connection, str(name)) for (name,) in rows}


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
