"""Finds views and triggers that name what does not exist; SQLite reports it only at first use."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator

from aouo.packs.data.columns import columns
from aouo.packs.data.schema_guard import Guard, SchemaRefused, TookTooLong, quoted
from aouo.packs.data.schema_text import Statement, tokens

_EVENTS = frozenset({"insert", "update", "delete"})


def unusable(
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
