"""Runs a pack's `schema.sql` in a throw-away database, to find all that is wrong with it."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from aouo.packs.data.columns import Column, columns, tables
from aouo.packs.data.opening import open_database
from aouo.packs.data.schema import TRIAL_PAGES, Extends, extend, run
from aouo.packs.data.schema_guard import TRIAL_S, Guard, SchemaRefused, TookTooLong, quoted
from aouo.packs.data.schema_judge import check_heads
from aouo.packs.data.schema_text import Statement, split, tokens
from aouo.packs.data.seeds import Seeds

_MISSING = re.compile(r"no such (?:table|view|column|index): (?:main\.)?(\S+)")
_HEAD_TOKENS = 8  # CREATE UNIQUE INDEX IF NOT EXISTS main.name
_EVENTS = frozenset({"insert", "update", "delete"})


@dataclass(slots=True)
class Trial:
    """What a schema makes, what is wrong with it, and with the columns that a manifest adds."""

    tables: Mapping[str, tuple[Column, ...]] = field(default_factory=dict[str, tuple[Column, ...]])
    refused: list[SchemaRefused] = field(default_factory=list[SchemaRefused])
    not_added: dict[str, str] = field(default_factory=dict[str, str])
    """Table, or table.column, of `extends_columns`, and why."""
    unmade: set[str] = field(default_factory=set[str])
    """Words in the heads of statements that failed: what they would have made is among them."""

    def makes(self, table: str) -> bool:
        """Whether the schema makes a table of that name, or would but for its mistakes."""
        return table.lower() in self.unmade | {name.lower() for name in self.tables}

    def follows(self, message: str) -> bool:
        """Whether an error only says that what failed before is not there."""
        found = _MISSING.match(message)
        return found is not None and found[1].lower() in self.unmade


def trial(sql: str, extends: Extends, *, strict: bool = False) -> Trial:
    """Run every statement of a schema, also after one that fails, and all of it once more.

    `strict` has views and triggers used too.
    """
    with _tried(sql, extends, strict) as (found, _, _):
        return found


def selected(sql: str, extends: Extends, query: str) -> tuple[str, ...] | None:
    """Run a query on what a schema makes and return its columns; None = a mistake there hides them.

    Raises:
        SchemaRefused: the query does not run, or is no SELECT.
    """
    with _tried(sql, extends, False) as (found, connection, guard):
        try:
            with guard.allow("read"):
                cursor = connection.execute(query)
                return tuple(str(column[0]) for column in cursor.description or ())
        except TookTooLong as error:
            raise SchemaRefused("took too long") from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            said = guard.refusal or str(error)
            if found.follows(said):
                return None
            raise SchemaRefused(said) from error


@contextlib.contextmanager
def _tried(
    sql: str, extends: Extends, strict: bool
) -> Generator[tuple[Trial, sqlite3.Connection, Guard]]:
    found = Trial()
    with contextlib.closing(open_database(":memory:", max_pages=TRIAL_PAGES)) as connection:
        guard = Guard(connection, total_s=TRIAL_S)
        try:
            statements = split(sql)
        except SchemaRefused as refused:
            found.refused.append(refused)
            statements = ()
        seeds = Seeds(connection, guard, grown=False)
        for statement in statements:
            try:
                _one(connection, guard, statement, seeds)
            except SchemaRefused as refused:
                if not found.follows(refused.message):
                    found.refused.append(refused)
                if statement.head not in ("INSERT", "REPLACE"):
                    found.unmade |= {token.plain for token in tokens(statement.sql)[:_HEAD_TOKENS]}
                if isinstance(refused.__cause__, TookTooLong):
                    break
        _add_columns(connection, extends, found)
        found.tables = tables(connection)
        if not found.refused:
            try:
                run(connection, guard, statements, seeds, found.tables)
            except SchemaRefused as refused:
                found.refused.append(refused)
        if strict and not found.refused:
            found.refused += _unusable(connection, guard, statements)
        yield found, connection, guard


def _one(connection: sqlite3.Connection, guard: Guard, statement: Statement, seeds: Seeds) -> None:
    check_heads([statement])
    run(connection, guard, [statement], seeds, None)


def _add_columns(connection: sqlite3.Connection, extends: Extends, found: Trial) -> None:
    for table, added in extends.items():
        for column, kind in added.items():
            try:
                extend(connection, {table: {column: kind}})
            except SchemaRefused as refused:
                if table.lower() not in found.unmade:
                    found.not_added[f"{table}.{column}"] = refused.message


def _unusable(
    connection: sqlite3.Connection, guard: Guard, statements: Iterable[Statement]
) -> Iterator[SchemaRefused]:
    """Compile each view and trigger of a throw-away database, the triggers one at a time."""
    lines = {(each.head, _name(each)): each.line for each in statements}
    made = connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('view', 'trigger') "
        "ORDER BY type DESC, rowid"
    ).fetchall()
    for kind, name, _, _ in made:
        if kind == "trigger":
            connection.execute(f"DROP TRIGGER {quoted(name)}")
    told = set[str]()
    for kind, name, table, sql in made:
        if kind == "trigger":
            connection.execute(sql)
        try:
            with guard.allow("read" if kind == "view" else "write"):
                connection.execute(f"EXPLAIN {_use(connection, kind, name, table, sql)}").fetchall()
        except (sqlite3.Error, TookTooLong) as error:
            late = isinstance(error, TookTooLong)
            said = "it takes too long" if late else guard.refusal or str(error)
            if said not in told:  # a view on a broken view says the same
                told.add(said)
                line = lines.get((f"CREATE {kind.upper()}", name.lower()), 0)
                yield SchemaRefused(f'the {kind} "{name}" does not work: {said}', line)
        if kind == "trigger":
            with contextlib.suppress(sqlite3.Error):
                connection.execute(f"DROP TRIGGER {quoted(name)}")


def _use(connection: sqlite3.Connection, kind: str, name: str, table: str, sql: str) -> str:
    """A statement that needs a view, or fires a trigger."""
    if kind == "view":
        return f"SELECT * FROM {quoted(name)}"
    listed = [quoted(column.name) for column in columns(connection, table)]
    match next(token.plain for token in tokens(sql) if _is_event(token.plain, token.quoted)):
        case "insert":
            values = ", ".join("NULL" for _ in listed)
            return f"INSERT INTO {quoted(table)} ({', '.join(listed)}) VALUES ({values})"
        case "update":
            sets = ", ".join(f"{column} = {column}" for column in listed)
            return f"UPDATE {quoted(table)} SET {sets}"
        case _:
            return f"DELETE FROM {quoted(table)}"


def _is_event(word: str, quoted_name: bool) -> bool:
    return word in _EVENTS and not quoted_name


def _name(statement: Statement) -> str:
    """What a CREATE statement makes, in small letters."""
    words = [token.plain for token in tokens(statement.sql)[:8]]
    at = next((at for at, word in enumerate(words) if word in ("view", "trigger")), len(words))
    rest = words[at + 1 :]
    rest = rest[3:] if rest[:3] == ["if", "not", "exists"] else rest
    return rest[0].removeprefix("main.") if rest else ""
