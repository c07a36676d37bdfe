"""Reads a pack's `schema.sql`, and tries it in a throw-away database."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from aouo.packs.data import schema_guard
from aouo.packs.data.opening import open_database
from aouo.packs.data.rows import Column, Made, columns, made, tables

_MAX_STATEMENTS = 2000
_SPLIT = re.compile(
    r"""'(?:[^']|'')*+(?:'|\Z) | "(?:[^"]|"")*+(?:"|\Z) | `[^`]*+(?:`|\Z) | \[[^\]]*+(?:\]|\Z)
    | --[^\n]* | /\*(?:.*?\*/|.*\Z) | (?P<end>;)""",
    re.VERBOSE | re.DOTALL,
)
_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*+(?:'|\Z))
    | (?P<name>"(?:[^"]|"")*+(?:"|\Z) | `[^`]*+(?:`|\Z) | \[[^\]]*+(?:\]|\Z))
    | (?P<word>[\w$.]+)
    | (?P<blank>\s+ | \ufeff | --[^\n]* | /\*(?:.*?\*/|.*\Z))
    | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_RULES = frozenset({"constraint", "primary", "unique", "check", "foreign"})
_KINDS = ("TABLE", "INDEX", "VIEW", "TRIGGER")
_SCHEMA = frozenset(
    {"CREATE VIRTUAL TABLE", "INSERT", "REPLACE", "PRAGMA", "BEGIN", "COMMIT", "END"}
    | {f"CREATE {kind}" for kind in _KINDS}
)
_MIGRATION = _SCHEMA | {"UPDATE", "DELETE", "DROP", "ALTER", "WITH"}
_OTHERS = frozenset(
    {"ANALYZE", "ATTACH", "DETACH", "EXPLAIN", "REINDEX", "RELEASE"}
    | {"ROLLBACK", "SAVEPOINT", "SELECT", "VACUUM", "VALUES"}
    | {f"CREATE TEMP {kind}" for kind in _KINDS}
)
_ELSEWHERE = "write it into migrations/NNNN_name.sql, which runs once on each database"
_HINTS = {
    "ATTACH": "a pack reaches no other database",
    "DETACH": "a pack reaches no other database",
    "DROP": f"a view, trigger or index that changed is made anew; for a table {_ELSEWHERE}",
    "DELETE": _ELSEWHERE,
    "UPDATE": _ELSEWHERE,
    "ALTER": "write a new column into its CREATE TABLE, and it is added",
    "WITH": "first rows begin with INSERT INTO, and WITH comes after it",
    "SELECT": "it changes nothing: leave it out",
    "VACUUM": "leave it out",
}


@dataclass(frozen=True, slots=True)
class _Statement:
    """One statement, the line where it begins, and its first words in capitals.

    `head` is one word, or `CREATE TABLE` and its like.
    """

    sql: str
    line: int
    head: str

    @property
    def is_seed(self) -> bool:
        """Whether it gives first rows."""
        return self.head in ("INSERT", "REPLACE")

    def check(self, *, in_migration: bool = False) -> None:
        """Hold it to the kinds that a schema may have, or a migration.

        Raises:
            SchemaRefused: names the line and what to do.
        """
        if self.head in (_MIGRATION if in_migration else _SCHEMA):
            return
        if self.head not in _MIGRATION | _OTHERS:
            raise schema_guard.SchemaRefused(
                f'near "{self.head.rpartition(" ")[2]}": syntax error', self.line
            )
        where = "a migration" if in_migration else "a schema"
        makes = "it makes tables, indexes, views, triggers and first rows"
        hint = _HINTS.get(self.head, makes)
        raise schema_guard.SchemaRefused(
            f"{self.head} does not belong into {where}: {hint}", self.line
        )


def split(sql: str) -> tuple[_Statement, ...]:
    """Cut a schema into its statements.

    Raises:
        SchemaRefused: more of them than any pack needs.
    """
    statements: list[_Statement] = []
    begin = 0
    for match in _SPLIT.finditer(sql):
        if match.group("end") is None:
            continue
        piece = sql[begin : match.end()]
        if not sqlite3.complete_statement(piece):
            continue  # inside a trigger
        statements += _statement(sql, begin, match.end())
        begin = match.end()
        if len(statements) > _MAX_STATEMENTS:
            raise schema_guard.SchemaRefused(f"more than {_MAX_STATEMENTS} statements")
    statements += _statement(sql, begin, len(sql))
    return tuple(statements)


def _statement(sql: str, begin: int, end: int) -> Iterator[_Statement]:
    """The statement between two places, unless there is nothing but blanks and comments."""
    for match in _TOKEN.finditer(sql, begin, end):
        if match.lastgroup != "blank" and match.group() != ";":
            text = sql[match.start() : end].strip()
            yield _Statement(text, sql.count("\n", 0, match.start()) + 1, _head(text))
            return


def _head(sql: str) -> str:
    first, *others = (word.upper() for word in islice(words(sql), 4))
    if first != "CREATE":
        return first
    special = {"TEMP": "TEMP ", "TEMPORARY": "TEMP ", "VIRTUAL": "VIRTUAL "}
    kind = next((word for word in others if word not in (*special, "UNIQUE")), "")
    return f"CREATE {special.get(others[0], '') if others else ''}{kind}"


def words(sql: str) -> Iterator[str]:
    """Yield the words and signs of SQL, without blanks and comments.

    Names lose their quotes, and all but texts is in small letters.
    """
    for match in _TOKEN.finditer(sql):
        said = match.group()
        if match.lastgroup == "name":
            mark = said[0]
            yield (said[1:-1] if mark == "[" else said[1:-1].replace(mark * 2, mark)).lower()
        elif match.lastgroup != "blank":
            yield said if match.lastgroup == "text" else said.lower()


def normal(sql: str) -> str:
    """Return SQL so that two spellings of the same compare as equal."""
    return " ".join(words(sql)).rstrip(" ;")


def parts(create: str) -> dict[str, str]:
    """Cut the CREATE TABLE that SQLite has kept at its outer commas.

    Returns:
        The text of each column by its name in small letters, of each rule of the table by itself
        as `normal` writes it, and of the options at the end by "".
    """
    depth, rest = 0, len(create)
    inside: list[re.Match[str]] = []
    found: dict[str, str] = {}
    for match in _TOKEN.finditer(create):
        sign = match.group()
        depth -= sign == ")"
        if inside and (depth, sign) in ((1, ","), (0, ")")):
            text = create[inside[0].start() : inside[-1].end()]
            name = next(words(text))
            found[normal(text) if name in _RULES else name] = text
            inside.clear()
            rest = match.end()
        elif depth and match.lastgroup != "blank":
            inside.append(match)
        depth += sign == "("
    return {**found, "": create[rest:]}


def is_column(part: str) -> bool:
    """Whether the name of one of `parts` is that of a column."""
    return bool(part) and part.partition(" ")[0] not in _RULES


Extends = Mapping[str, Mapping[str, str]]

_MAX_PAGES = 8192
_MISSING = re.compile(r"no such (?:table|view|column|index): (?:main\.)?(\S+)")
_HEAD_WORDS = 8  # CREATE UNIQUE INDEX IF NOT EXISTS main.name


@dataclass(slots=True)
class Trial:
    """What a schema makes, what is wrong with it, and with the columns that a manifest adds."""

    statements: tuple[_Statement, ...] = ()
    made: tuple[Made, ...] = ()
    refused: list[schema_guard.SchemaRefused] = field(
        default_factory=list[schema_guard.SchemaRefused]
    )
    not_added: dict[str, str] = field(default_factory=dict[str, str])
    """Table, or table.column, of `extends_columns`, and why."""
    unmade: set[str] = field(default_factory=set[str])
    """Words in the heads of statements that failed: what they would have made is among them."""

    @property
    def tables(self) -> dict[str, tuple[Column, ...]]:
        """The tables and their columns."""
        return {each.name: each.columns for each in self.made if each.kind == "table"}

    def makes(self, table: str) -> bool:
        """Whether the schema makes a table of that name, or would but for its mistakes."""
        return table.lower() in self.unmade | {name.lower() for name in self.tables}

    def follows(self, message: str) -> bool:
        """Whether an error only says that what failed before is not there."""
        found = _MISSING.match(message)
        return found is not None and found[1].lower() in self.unmade


def trial(sql: str, extends: Extends, *, strict: bool = False) -> Trial:
    """Run every statement of a schema, also after one that fails.

    `strict` has views and triggers used too.
    """
    with _tried(sql, extends) as (found, connection, guard):
        if strict and not found.refused:
            found.refused += _unusable(connection, guard, found.statements)
        return found


def selected(sql: str, extends: Extends, query: str) -> tuple[str, ...] | None:
    """Run a query on what a schema makes and return its columns; None = a mistake there hides them.

    Raises:
        SchemaRefused: the query does not run, or is no SELECT.
    """
    with _tried(sql, extends) as (found, connection, guard):
        try:
            with guard.allow("read"):
                cursor = connection.execute(query)
                return tuple(str(column[0]) for column in cursor.description or ())
        except schema_guard.TookTooLong as error:
            raise schema_guard.SchemaRefused("took too long") from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            said = guard.refusal or str(error)
            if found.follows(said):
                return None
            raise schema_guard.SchemaRefused(said) from error


_REPLACES = re.compile(r"\bREPLACE\s+INTO\b|\bOR\s+REPLACE\b", re.IGNORECASE)


def acted(
    sql: str, extends: Extends, statements: Sequence[str], query: str, names: Sequence[str]
) -> tuple[str, ...] | None:
    """Compile an action's statements for what a schema makes, with values of these names; return
    the columns of its query, () = there is none, None = a mistake of the schema hides them.

    Raises:
        SchemaRefused: one does not run; `line` is its number from 1, 0 = the query.
    """
    values = dict.fromkeys(names)
    with _tried(sql, extends) as (found, connection, guard):
        number = 0
        try:
            for number, statement in enumerate(statements, start=1):
                if _REPLACES.search(statement):
                    raise schema_guard.SchemaRefused(
                        "REPLACE deletes rows that nobody could put back: write "
                        "INSERT … ON CONFLICT (…) DO UPDATE SET …",
                        number,
                    )
                with guard.allow("act"):
                    connection.execute(f"EXPLAIN {statement}", values).fetchall()
            number = 0
            if not query:
                return ()
            with guard.allow("read"):
                cursor = connection.execute(query, values)
                return tuple(str(column[0]) for column in cursor.description or ())
        except schema_guard.TookTooLong as error:
            raise schema_guard.SchemaRefused("took too long", number) from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            said = guard.refusal or str(error)
            if found.follows(said):
                return None
            raise schema_guard.SchemaRefused(said, number) from error


def run(connection: sqlite3.Connection, guard: schema_guard.Guard, statement: _Statement) -> None:
    """Run one statement of a schema.

    Raises:
        SchemaRefused: it does not run, or tries what it may not.
    """
    statement.check()
    mode = "seed" if statement.is_seed else "schema"
    try:
        with guard.allow("table" if statement.head == "CREATE TABLE" else mode):
            connection.execute(statement.sql).fetchall()
    except schema_guard.TookTooLong as error:
        raise schema_guard.SchemaRefused(
            f"ran longer than {schema_guard.SCHEMA_S:.0f} s", statement.line
        ) from error
    except (sqlite3.Error, sqlite3.Warning) as error:
        said = guard.refusal or str(error)
        if said.endswith("already exists"):
            said = f"{said}: it is made twice here; take one away"
        raise schema_guard.SchemaRefused(said, statement.line) from error


def extend(connection: sqlite3.Connection, extends: Extends) -> dict[str, str]:
    """Add the manifest's `extends_columns`, whose text the manifest has checked.

    Returns:
        What could not be added, as table.column, and why.
    """
    refused: dict[str, str] = {}
    there = {name: {one.name.lower() for one in of} for name, of in tables(connection).items()}
    for table, added in extends.items():
        for column, kind in added.items():
            if table not in there:
                refused[f"{table}.{column}"] = (
                    f"extends_columns names {table}, a table that schema.sql lacks"
                )
            elif column.lower() not in there[table]:
                try:
                    connection.execute(
                        f"ALTER TABLE {schema_guard.quoted(table)} ADD COLUMN {column} {kind}"
                    )
                except sqlite3.Error as error:
                    refused[f"{table}.{column}"] = f"extends_columns {table}.{column}: {error}"
    return refused


@contextlib.contextmanager
def _tried(
    sql: str, extends: Extends
) -> Generator[tuple[Trial, sqlite3.Connection, schema_guard.Guard]]:
    found = Trial()
    with contextlib.closing(open_database(":memory:", max_pages=_MAX_PAGES)) as connection:
        guard = schema_guard.Guard(connection, total_s=schema_guard.TRIAL_S)
        try:
            found.statements = split(sql)
        except schema_guard.SchemaRefused as refused:
            found.refused.append(refused)
        for statement in found.statements:
            try:
                run(connection, guard, statement)
            except schema_guard.SchemaRefused as refused:
                if not found.follows(refused.problem):
                    found.refused.append(refused)
                if not statement.is_seed:
                    found.unmade |= set(islice(words(statement.sql), _HEAD_WORDS))
                if isinstance(refused.__cause__, schema_guard.TookTooLong):
                    break
        not_added = extend(connection, extends).items()
        found.not_added = {
            name: why
            for name, why in not_added
            if name.partition(".")[0].lower() not in found.unmade
        }
        found.made = made(connection)
        yield found, connection, guard


def _unusable(
    connection: sqlite3.Connection, guard: schema_guard.Guard, statements: Sequence[_Statement]
) -> Iterator[schema_guard.SchemaRefused]:
    """Compile each view and trigger of a throw-away database, the triggers one at a time."""
    there = connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('view', 'trigger') "
        "ORDER BY type DESC, rowid"
    ).fetchall()
    for kind, name, _, _ in there:
        if kind == "trigger":
            connection.execute(f"DROP TRIGGER {schema_guard.quoted(name)}")
    told = set[str]()
    for kind, name, table, sql in there:
        if kind == "trigger":
            connection.execute(sql)
        try:
            with guard.allow("read" if kind == "view" else "write"):
                connection.execute(f"EXPLAIN {_use(connection, kind, name, table, sql)}").fetchall()
        except (sqlite3.Error, schema_guard.TookTooLong) as error:
            late = isinstance(error, schema_guard.TookTooLong)
            said = "it takes too long" if late else guard.refusal or str(error)
            if said not in told:  # a view on a broken view says the same
                told.add(said)
                line = _line(statements, kind, name)
                yield schema_guard.SchemaRefused(f'the {kind} "{name}" does not work: {said}', line)
        if kind == "trigger":
            with contextlib.suppress(sqlite3.Error):
                connection.execute(f"DROP TRIGGER {schema_guard.quoted(name)}")


def _line(statements: Sequence[_Statement], kind: str, name: str) -> int:
    head, named = f"CREATE {kind.upper()}", {name.lower(), f"main.{name.lower()}"}
    for each in statements:
        if each.head == head and named & set(islice(words(each.sql), _HEAD_WORDS)):
            return each.line
    return 0


def _use(connection: sqlite3.Connection, kind: str, name: str, table: str, sql: str) -> str:
    """A statement that needs a view, or fires a trigger."""
    if kind == "view":
        return f"SELECT * FROM {schema_guard.quoted(name)}"
    listed = [schema_guard.quoted(column.name) for column in columns(connection, table)]
    match next(word for word in words(sql) if word in ("insert", "update", "delete")):
        case "insert":
            values = ", ".join("NULL" for _ in listed)
            return (
                f"INSERT INTO {schema_guard.quoted(table)} ({', '.join(listed)}) VALUES ({values})"
            )
        case "update":
            sets = ", ".join(f"{column} = {column}" for column in listed)
            return f"UPDATE {schema_guard.quoted(table)} SET {sets}"
        case _:
            return f"DELETE FROM {schema_guard.quoted(table)}"
