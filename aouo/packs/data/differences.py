"""Says how tables differ from those of a schema, and what SQL would bring them there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress

from aouo.packs.data.columns import Made, made
from aouo.packs.data.opening import open_database
from aouo.packs.data.schema_guard import quoted
from aouo.packs.data.schema_text import is_column, normal, parts

_Tables = Mapping[str, Made]
"""By their names in small letters."""


def differences(there: _Tables, wanted: _Tables) -> dict[str, list[str]]:
    """Say of each table that adding columns cannot bring to the wanted one how it differs."""
    found = {name: list(_of_table(name, old, wanted.get(name))) for name, old in there.items()}
    return {name: said for name, said in found.items() if said}


def _of_table(table: str, there: Made, wanted: Made | None) -> Iterator[str]:
    if wanted is None:
        yield f"the table {table} is gone"
        return
    if there.is_virtual or wanted.is_virtual:
        if normal(there.sql) != normal(wanted.sql):
            yield f"the virtual table {table} is made in another way"
        return
    old, new = parts(there.sql), parts(wanted.sql)
    for name in dict.fromkeys((*old, *new)):
        what = (
            f"the column {table}.{name}" if is_column(name) else f"{name or 'the end'} of {table}"
        )
        if name not in new:
            yield f"{what} is gone"
        elif name in old and normal(old[name]) != normal(new[name]):
            before, after = (_printable(text.strip()) for text in (old[name], new[name]))
            yield f"{what} was “{before}” and is “{after}”"
        elif name not in old and not is_column(name):
            yield f"{what} is new"


def lines(tables: Iterable[str], there: Sequence[Made], wanted: _Tables) -> Iterator[str]:
    """Write the SQL by which tables become the wanted ones, as far as it can be known.

    Where a table is made anew, views and triggers go first: SQLite renames none while one of them
    would not work. The schema makes them again.
    """
    old = {each.name.lower(): each for each in there if each.kind == "table"}
    changes = [line for name in tables for line in _lines(name, old, wanted)]
    if any(line.startswith("CREATE") for line in changes):
        for kind in ("trigger", "view"):
            names = [each.name for each in there if each.kind == kind]
            yield from (f"DROP {kind.upper()} IF EXISTS {quoted(name)};" for name in names)
    yield from map(_printable, changes)


def _printable(line: str) -> str:
    """Take out what terminals obey: it quotes strangers."""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in line)


def _lines(table: str, there: _Tables, wanted: _Tables) -> Iterator[str]:
    old, new = there[table], wanted.get(table)
    if new is None:
        like = {other for other in wanted.keys() - there.keys() if _like(wanted[other], old)}
        does = f"ALTER TABLE {quoted(table)} RENAME TO {quoted(min(like))}" if like else ""
        yield f"{does or f'DROP TABLE {quoted(table)}'};"
    elif new.is_virtual:
        yield f"DROP TABLE {quoted(table)};"
        yield f"{new.sql};"
    elif renamed := _renamed(old, new):
        yield renamed
    else:
        yield from _made_anew(table, old, new)


def _like(one: Made, other: Made) -> bool:
    first, second = (
        {name: normal(text) for name, text in parts(each.sql).items()} for each in (one, other)
    )
    return first == second


def _renamed(old: Made, new: Made) -> str:
    """Return the line that renames one column, "" = something else is to do."""
    before, after = ([name for name in parts(each.sql) if is_column(name)] for each in (old, new))
    gone = [name for name in before if name not in after]
    come = [name for name in after if name not in before]
    if len(gone) != 1 or len(come) != 1:
        return ""
    line = f"ALTER TABLE {quoted(old.name)} RENAME COLUMN {quoted(gone[0])} TO {quoted(come[0])};"
    with closing(open_database(":memory:")) as connection, suppress(sqlite3.Error):
        connection.execute(old.sql)
        connection.execute(line)
        return line if _like(made(connection)[0], new) else ""
    return ""


def _made_anew(table: str, old: Made, new: Made) -> Iterator[str]:
    """Write the way of SQLite's manual. Source: sqlite.org/lang_altertable.html, section 7."""
    had = {column.name.lower() for column in old.columns}
    into = {
        column.name: quoted(column.name) if column.name.lower() in had else "NULL"
        for column in new.columns
        if column.name.lower() in had or (column.required and column.default is None)
    }
    lost = sorted(had - {column.name.lower() for column in new.columns})
    if lost:
        yield f"/* lost unless it is selected into another column: {', '.join(lost)} */"
    for name in (name for name, value in into.items() if value == "NULL"):
        yield f"/* write a value for {name} in the place of NULL */"
    body = new.sql[new.sql.index("(") :]
    temporary = quoted(f"{table}_new")
    yield f"CREATE TABLE {temporary} {body};"
    yield (
        f"INSERT INTO {temporary} ({', '.join(map(quoted, into))}) "
        f"SELECT {', '.join(into.values())} FROM {quoted(table)};"
    )
    yield f"DROP TABLE {quoted(table)};"
    yield f"ALTER TABLE {temporary} RENAME TO {quoted(table)};"
