"""Describes the tables of a pack, and how two versions of them differ."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from aouo.packs.data.columns import VIRTUAL, Column, columns, tables
from aouo.packs.data.schema_guard import quoted
from aouo.packs.data.schema_text import column_definitions, normal, options, rules


@dataclass(frozen=True, slots=True)
class Shape:
    """One table: all that decides which rows it takes. `made` is its CREATE statement.

    `uniques` and `references` are sorted texts, such as `UNIQUE (a, b)`.
    """

    made: str
    columns: Mapping[str, Column]
    uniques: tuple[str, ...]
    references: tuple[str, ...]
    rules: tuple[str, ...]

    @property
    def is_virtual(self) -> bool:
        return self.made.upper().startswith(VIRTUAL)

    @property
    def has_no_rowid(self) -> bool:
        return "WITHOUT ROWID" in self.rules or "rowid" in self.columns

    def definition(self, column: str) -> str:
        """How the CREATE statement writes a column; "" where another statement added it."""
        return column_definitions(self.made).get(column.lower(), "")


def shapes(connection: sqlite3.Connection) -> dict[str, Shape]:
    """Return the pack's tables, by their names in small letters."""
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    made = {str(name): str(sql) for name, sql in connection.execute(query).fetchall()}
    return {table.lower(): _shape(connection, table, made[table]) for table in tables(connection)}


def derived(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return the triggers, views and indexes: kind and name → how they were made."""
    rows = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND type <> 'table' "
        "ORDER BY CASE type WHEN 'trigger' THEN 0 ELSE 1 END, rowid DESC"
    ).fetchall()
    return {(str(kind), str(name)): normal(str(sql)) for kind, name, sql in rows}


def differences(
    there: Mapping[str, Shape], wanted: Mapping[str, Shape], eased: Collection[tuple[str, str]]
) -> Iterator[str]:
    """Say how the tables that are there differ from the wanted ones.

    `eased` are columns that were added without what old rows cannot keep (`schema`).
    """
    for table in there.keys() - wanted.keys():
        yield f"the table {table} is gone"
    for table in wanted.keys() - there.keys():
        yield f"the table {table} is missing"
    for table in sorted(there.keys() & wanted.keys()):
        yield from _of_table(table, there[table], wanted[table], eased)


def _of_table(
    table: str, old: Shape, new: Shape, eased: Collection[tuple[str, str]]
) -> Iterator[str]:
    if old.is_virtual or new.is_virtual:
        if normal(old.made) != normal(new.made):
            yield f"the virtual table {table} is made in another way"
        return
    for name in old.columns.keys() - new.columns.keys():
        yield f"the column {table}.{name} is gone"
    for name in new.columns.keys() - old.columns.keys():
        yield f"the column {table}.{name} is new and cannot be added to rows that are there"
    for name in sorted(old.columns.keys() & new.columns.keys()):
        if (table, name) not in eased:
            before, after = _described(old.columns[name]), _described(new.columns[name])
            if before != after:
                yield f"the column {table}.{name} was {before} and is {after}"
    had = {*old.uniques, *old.references, *old.rules}
    has = {*new.uniques, *new.references, *new.rules}
    for rule in sorted(had - has):
        yield f"{rule} of {table} is gone"
    for rule in sorted(has - had):
        yield f"{rule} of {table} is new"


def _described(column: Column) -> str:
    parts = [column.type.upper() or "without a type"]
    parts += ["NOT NULL"] * column.required
    parts += [f"PRIMARY KEY {column.key}"] * bool(column.key)
    if column.default is not None:
        parts.append(f"DEFAULT {column.default}")
    return " ".join(parts)


def _shape(connection: sqlite3.Connection, table: str, made: str) -> Shape:
    uniques: list[str] = []
    for _, name, _, origin, _ in connection.execute(f"PRAGMA index_list({quoted(table)})"):
        if origin == "u":
            info = connection.execute(f"PRAGMA index_info({quoted(name)})").fetchall()
            uniques.append(f"UNIQUE ({', '.join(str(column).lower() for _, _, column in info)})")
    return Shape(
        made,
        {column.name.lower(): column for column in columns(connection, table, generated=True)},
        tuple(sorted(uniques)),
        _references(connection, table),
        (*rules(made), *options(made)),
    )


def _references(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    found: dict[int, list[str]] = {}
    rows = connection.execute(f"PRAGMA foreign_key_list({quoted(table)})").fetchall()
    for key, _, target, column, to, on_update, on_delete, _ in rows:
        head = f"REFERENCES {str(target).lower()} ON UPDATE {on_update} ON DELETE {on_delete}"
        pair = f"{str(column).lower()} to {str(to or 'its key').lower()}"
        found.setdefault(key, [head]).append(pair)
    return tuple(sorted(f"{head} ({', '.join(pairs)})" for head, *pairs in found.values()))
