"""Shows what a pack's database holds of one person, and erases rows that are recorded as theirs."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Generator
from pathlib import Path

from aouo.packs.data.undo import Changes

_LINES = 20_000
_COLUMN = "person"
"""The column of a shared table that says whose a row is, as actions write `:person` into it."""
_OURS = "_aouo_"
"""How tables begin that we keep beside a pack's own."""


def lines_of(file: Path, person: str = "") -> list[str]:
    """Return each row as a line of JSON; with `person` those that are recorded as theirs."""
    found: list[str] = []
    with _opened(file) as connection:
        for table in _tables(connection, of_people=bool(person)):
            where = f" WHERE {_COLUMN} = ?" if person else ""
            values = (person,) if person else ()
            rows = connection.execute(f'SELECT * FROM "{table}"{where}', values)
            names = [column[0] for column in rows.description]
            for row in rows.fetchmany(_LINES):
                facts = dict(zip(names, row, strict=True))
                found.append(f"{table} {json.dumps(facts, ensure_ascii=False, default=repr)}")
    return found


def erase(file: Path, person: str) -> None:
    """Delete the rows of a shared database that are recorded as somebody's."""
    with _opened(file) as connection:
        connection.execute("PRAGMA secure_delete=ON")
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = '_aouo_calls'").fetchone():
            Changes.erase_rows(connection, _COLUMN, person)
        for table in _tables(connection, of_people=True):
            connection.execute(f'DELETE FROM "{table}" WHERE {_COLUMN} = ?', (person,))
        connection.commit()


@contextlib.contextmanager
def _opened(file: Path) -> Generator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True)) as connection:
        connection.execute("PRAGMA trusted_schema=OFF")
        yield connection


def _tables(connection: sqlite3.Connection, *, of_people: bool) -> list[str]:
    rows = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        " AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ).fetchall()
    names = [str(row[0]).replace('"', '""') for row in rows]
    if not of_people:
        return [name for name in names if not name.startswith(_OURS)]
    return [
        name
        for name in names
        if any(one[1] == _COLUMN for one in connection.execute(f'PRAGMA table_info("{name}")'))
    ]
