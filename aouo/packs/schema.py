"""A pack's `schema.sql`: cut into statements, tried, and applied so that no row is lost.

With `schema_guard` and `persist`, the one place outside `store/` that runs SQL: it is the pack's.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from aouo.packs.schema_guard import (
    SCHEMA_S,
    Guard,
    SchemaRefused,
    TookTooLong,
    open_database,
    quoted,
)

_MAX_STATEMENTS = 2000
_TRIAL_PAGES = 8192
_CONSTANT = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?|'([^']|'')*'|NULL|TRUE|FALSE", re.IGNORECASE)
_TYPE = re.compile(r"[A-Za-z0-9_ (),]*")
_SPLIT = re.compile(
    r"""'(?:[^']|'')*+(?:'|\Z) | "(?:[^"]|"")*+(?:"|\Z) | `[^`]*+(?:`|\Z) | \[[^\]]*+(?:\]|\Z)
    | --[^\n]* | /\*(?:.*?\*/|.*\Z) | (?P<end>;)""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"('(?:[^']|'')*+'|\"[^\"]*+\")|--[^\n]*|/\*.*?\*/", re.DOTALL)


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


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a schema, where it begins, and what it is known by."""

    sql: str
    line: int

    @property
    def digest(self) -> str:
        """The same for any spacing and any comments."""
        bare = _COMMENT.sub(lambda match: match.group(1) or " ", self.sql)
        return hashlib.sha256(" ".join(bare.split()).encode()).hexdigest()


def split(sql: str) -> tuple[Statement, ...]:
    """Cut a schema into its statements.

    Raises:
        SchemaRefused: more of them than any pack needs.
    """
    statements: list[Statement] = []
    begin = 0
    for match in _SPLIT.finditer(sql):
        if match.group("end") is None:
            continue
        piece = sql[begin : match.end()]
        if not sqlite3.complete_statement(piece):
            continue  # inside a trigger
        statements.append(_statement(sql, begin, match.end()))
        begin = match.end()
        if len(statements) > _MAX_STATEMENTS:
            raise SchemaRefused(f"more than {_MAX_STATEMENTS} statements")
    statements.append(_statement(sql, begin, len(sql)))
    return tuple(statement for statement in statements if not _is_blank(statement.sql))


def _statement(sql: str, begin: int, end: int) -> Statement:
    text = sql[begin:end]
    lead = len(text) - len(text.lstrip())
    while True:  # comments before a statement are not its first line
        match = _COMMENT.match(text, lead)
        if match is None or match.group(1):
            break
        lead = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
    return Statement(text.strip(), sql.count("\n", 0, begin + lead) + 1)


def _is_blank(sql: str) -> bool:
    return not _COMMENT.sub(lambda match: match.group(1) or "", sql).strip(" \t\r\n;\ufeff")


def tables(connection: sqlite3.Connection) -> dict[str, tuple[Column, ...]]:
    """Return the pack's tables and their columns, without ours and SQLite's."""
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' AND name NOT LIKE '\\_aouo\\_%' ESCAPE '\\' ORDER BY rowid"
    ).fetchall()
    return {str(name): columns(connection, str(name)) for (name,) in rows}


def columns(connection: sqlite3.Connection, table: str) -> tuple[Column, ...]:
    """Return the columns of a table that a row can be written to."""
    rows = connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    return tuple(
        Column(str(name), str(kind), bool(notnull), default, int(key))
        for _, name, kind, notnull, default, key, hidden in rows
        if not hidden
    )


def trial(sql: str, extends: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[Column, ...]]:
    """Run a schema in a throw-away database and return the tables it makes.

    Raises:
        SchemaRefused: it does not run, tries what it may not, or would not run again over
            the tables it made.
    """
    with contextlib.closing(open_database(":memory:", max_pages=_TRIAL_PAGES)) as connection:
        guard = Guard(connection)
        _run(connection, guard, split(sql), ())
        _extend(connection, extends)
        made = tables(connection)
        _run(connection, guard, split(sql), made)
        return made


def selected(sql: str, extends: Mapping[str, Mapping[str, str]], query: str) -> tuple[str, ...]:
    """Run a query on what a schema makes and return its columns.

    Raises:
        SchemaRefused: the schema or the query does not run, or the query is no SELECT.
    """
    with contextlib.closing(open_database(":memory:", max_pages=_TRIAL_PAGES)) as connection:
        guard = Guard(connection)
        _run(connection, guard, split(sql), ())
        _extend(connection, extends)
        try:
            with guard.allow("read"):
                cursor = connection.execute(query)
                return tuple(str(column[0]) for column in cursor.description or ())
        except TookTooLong as error:
            raise SchemaRefused("took too long") from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise SchemaRefused(guard.refusal or str(error)) from error


def apply_schema(
    connection: sqlite3.Connection,
    guard: Guard,
    sql: str,
    extends: Mapping[str, Mapping[str, str]],
) -> bool:
    """Bring a pack's database to its schema; return whether anything was to do.

    A content that was applied before changes nothing. Otherwise what is new of it runs in
    one transaction: columns that a CREATE TABLE gained are added, statements that ran
    before are left out, and a seed row that is already there is not inserted again.

    Raises:
        SchemaRefused: the database stays as it was.
    """
    whole = hashlib.sha256(repr((sql, sorted(_flat(extends)))).encode()).hexdigest()
    if _recorded(connection, "whole") == {whole}:
        return False
    wanted = trial(sql, extends)
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS _aouo_schema"
            "(kind TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (kind, digest)) STRICT"
        )
        before = tables(connection)
        _add_columns(connection, before, wanted)
        done = _recorded(connection, "statement")
        fresh = [item for item in split(sql) if item.digest not in done]
        newest = _newest_rows(connection, before)
        _run(connection, guard, fresh, before)
        for table in guard.inserted & set(newest):
            _drop_doubled_seeds(connection, table, newest[table])
        _extend(connection, extends)
        connection.execute("DELETE FROM _aouo_schema WHERE kind = 'whole'")
        records = [("whole", whole), *(("statement", item.digest) for item in fresh)]
        connection.executemany("INSERT OR IGNORE INTO _aouo_schema VALUES (?, ?)", records)
        connection.execute("COMMIT")
    except BaseException as error:
        connection.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error):
            raise SchemaRefused(str(error)) from error
        raise
    return True


def _flat(extends: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str, str]]:
    for table, added in extends.items():
        for column, kind in added.items():
            yield table, column, kind


def _recorded(connection: sqlite3.Connection, kind: str) -> set[str]:
    query = "SELECT 1 FROM sqlite_master WHERE name = '_aouo_schema'"
    if connection.execute(query).fetchone() is None:
        return set()
    rows = connection.execute("SELECT digest FROM _aouo_schema WHERE kind = ?", (kind,))
    return {str(digest) for (digest,) in rows}


def _run(
    connection: sqlite3.Connection,
    guard: Guard,
    statements: Iterable[Statement],
    protected: Iterable[str],
) -> None:
    guard.inserted.clear()
    kept = tuple(protected)
    for statement in statements:
        try:
            with guard.allow("schema", protected=kept):
                connection.execute(statement.sql).fetchall()
        except TookTooLong as error:
            raise SchemaRefused(f"ran longer than {SCHEMA_S:.0f} s", statement.line) from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise SchemaRefused(guard.refusal or str(error), statement.line) from error


def _add_columns(
    connection: sqlite3.Connection,
    before: Mapping[str, tuple[Column, ...]],
    wanted: Mapping[str, tuple[Column, ...]],
) -> None:
    for table, target in wanted.items():
        there = {column.name.lower() for column in before.get(table, ())}
        for column in target:
            if there and column.name.lower() not in there and not column.key:
                _add_column(connection, table, column)


def _add_column(connection: sqlite3.Connection, table: str, column: Column) -> None:
    parts = [quoted(column.name), column.type if _TYPE.fullmatch(column.type) else ""]
    if column.default is not None and column.constant:
        # Old rows need a value, so a required column without a fixed one stays optional.
        parts += ["NOT NULL"] * column.required + [f"DEFAULT {column.default}"]
    connection.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN {' '.join(parts)}")


def _extend(connection: sqlite3.Connection, extends: Mapping[str, Mapping[str, str]]) -> None:
    """Add the manifest's `extends_columns`, whose text the manifest has checked."""
    made = tables(connection)
    for table, column, kind in _flat(extends):
        if table not in made:
            raise SchemaRefused(f"extends_columns names {table}, a table that schema.sql lacks")
        if column.lower() not in {item.name.lower() for item in made[table]}:
            try:
                connection.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN {column} {kind}")
            except sqlite3.Error as error:
                raise SchemaRefused(f"extends_columns {table}.{column}: {error}") from error


def _newest_rows(connection: sqlite3.Connection, before: Iterable[str]) -> dict[str, int]:
    """Return the highest rowid of each table that has rowids and rows."""
    newest: dict[str, int] = {}
    for table in before:
        with contextlib.suppress(sqlite3.Error):  # WITHOUT ROWID: its key keeps seeds single
            row = connection.execute(f"SELECT max(rowid) FROM {quoted(table)}").fetchone()
            if row[0] is not None:
                newest[table] = int(row[0])
    return newest


def _drop_doubled_seeds(connection: sqlite3.Connection, table: str, newest: int) -> None:
    same = " AND ".join(
        f"old.{quoted(column.name)} IS {quoted(table)}.{quoted(column.name)}"
        for column in columns(connection, table)
        if column.constant and not (column.key and column.type.upper() == "INTEGER")
    )
    if same:
        connection.execute(
            f"DELETE FROM {quoted(table)} WHERE rowid > ? AND EXISTS "
            f"(SELECT 1 FROM {quoted(table)} AS old WHERE old.rowid <= ? AND {same})",
            (newest, newest),
        )
