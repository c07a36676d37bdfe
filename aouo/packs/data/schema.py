"""Brings a pack's database to its `schema.sql`, so that no row is lost.

With the other modules of this folder the one place outside `store/` that runs SQL: it is the
pack's.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

from aouo.packs.data import migrations as migrating
from aouo.packs.data import schema_text
from aouo.packs.data.migrations import FOLDER, Migration
from aouo.packs.data.opening import open_database
from aouo.packs.data.rows import Made, key_names, made
from aouo.packs.data.schema_guard import OURS, Guard, SchemaRefused, TookTooLong, quoted
from aouo.plumbing import failpoint

_Tables = Mapping[str, Made]
"""By their names in small letters."""


def _differences(there: _Tables, wanted: _Tables) -> dict[str, list[str]]:
    """Say of each table that adding columns cannot bring to the wanted one how it differs."""
    found = {name: list(_of_table(name, old, wanted.get(name))) for name, old in there.items()}
    return {name: said for name, said in found.items() if said}


def _of_table(table: str, there: Made, wanted: Made | None) -> Iterator[str]:
    if wanted is None:
        yield f"the table {table} is gone"
        return
    if there.is_virtual or wanted.is_virtual:
        if schema_text.normal(there.sql) != schema_text.normal(wanted.sql):
            yield f"the virtual table {table} is made in another way"
        return
    old, new = schema_text.parts(there.sql), schema_text.parts(wanted.sql)
    for name in dict.fromkeys((*old, *new)):
        what = (
            f"the column {table}.{name}"
            if schema_text.is_column(name)
            else f"{name or 'the end'} of {table}"
        )
        if name not in new:
            yield f"{what} is gone"
        elif name in old and schema_text.normal(old[name]) != schema_text.normal(new[name]):
            before, after = (_printable(text.strip()) for text in (old[name], new[name]))
            yield f"{what} was “{before}” and is “{after}”"
        elif name not in old and not schema_text.is_column(name):
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
        {name: schema_text.normal(text) for name, text in schema_text.parts(each.sql).items()}
        for each in (one, other)
    )
    return first == second


def _renamed(old: Made, new: Made) -> str:
    """Return the line that renames one column, "" = something else is to do."""
    before, after = (
        [name for name in schema_text.parts(each.sql) if schema_text.is_column(name)]
        for each in (old, new)
    )
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


_OLD = f"{OURS}old"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS _aouo_schema"
    "(kind TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (kind, digest)) STRICT"
)
_SHOWN = 5


def apply_schema(
    connection: sqlite3.Connection,
    guard: Guard,
    sql: str,
    extends: schema_text.Extends,
    migrations: Sequence[Migration] = (),
    *,
    before_change: Callable[[], None] = lambda: None,
) -> bool:
    """Bring a pack's database to its schema; return whether anything was to do.

    An empty database takes the schema as it is, and only it is given first rows. What was applied
    before changes nothing. Else all of it is one transaction: pending migrations run, new tables
    and columns are added, and triggers, views and indexes are made anew where they changed; what
    differs then is refused. `before_change` is called when rows might be touched, to back them up.

    Raises:
        SchemaRefused: the database stays as it was; `fix` is what to write into a migration.
    """
    digest = _digest(sql, extends, migrations)
    if _applied(connection) == digest:
        return False
    wanted = schema_text.trial(sql, extends)
    for refused in (*wanted.refused, *map(SchemaRefused, wanted.not_added.values())):
        raise refused
    if made(connection):
        before_change()
    connection.execute("PRAGMA foreign_keys=OFF")  # a table that is made anew keeps its children
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_TABLE)
        connection.execute(migrating.TABLE)
        _Change(connection, guard, wanted, extends, migrations).carry_out()
        if connection.execute("PRAGMA foreign_key_check").fetchone():
            raise SchemaRefused("a row would refer to one that is not there")
        connection.execute("DELETE FROM _aouo_schema")
        connection.execute("INSERT INTO _aouo_schema VALUES ('whole', ?)", (digest,))
        failpoint.reached("before a pack's schema commit")
        connection.execute("COMMIT")
        failpoint.reached("after a pack's schema commit")
    except sqlite3.Error as error:
        raise SchemaRefused(_why(guard, error)) from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("PRAGMA foreign_keys=ON")
    return True


@dataclass(frozen=True, slots=True)
class _Change:
    """One change of one database, inside its transaction."""

    connection: sqlite3.Connection
    guard: Guard
    wanted: schema_text.Trial
    extends: schema_text.Extends
    migrations: Sequence[Migration]

    def carry_out(self) -> None:
        """Raises: SchemaRefused: no statement, or no table, leads to what is wanted."""
        waiting = migrating.pending(self.connection, self.migrations)
        if made(self.connection):
            self._migrate(waiting)
            there = made(self.connection)
            found = _differences(_tables(there), _tables(self.wanted.made))
            if found:
                said = [each for of_table in found.values() for each in of_table]
                raise self._refusal("; ".join(said[:_SHOWN]), found, there)
            self._add_columns(there)
            self._make_what_runs(there)
        else:
            for statement in self.wanted.statements:
                schema_text.run(self.connection, self.guard, statement)
            schema_text.extend(self.connection, self.extends)
        migrating.record(self.connection, waiting)

    def _migrate(self, waiting: Iterable[Migration]) -> None:
        ours = _ours(self.connection)
        for migration in waiting:
            migrating.run(self.connection, self.guard, migration)
        if _ours(self.connection) != ours:
            raise SchemaRefused(f"names beginning with {OURS} belong to the runtime")

    def _add_columns(self, there: Sequence[Made]) -> None:
        wanted = _tables(self.wanted.made)
        for name, old in _tables(there).items():
            try:
                _add_columns(self.connection, self.guard, old, wanted[name])
            except (sqlite3.Error, TookTooLong) as error:
                why = _why(self.guard, error)
                problem = f"the table {name} has rows that cannot have a new column: {why}"
                raise self._refusal(problem, [name], there) from error

    def _make_what_runs(self, there: Sequence[Made]) -> None:
        """Make new tables, and the indexes, views and triggers that are new or changed."""
        wanted = {(each.kind, each.name.lower()): each for each in self.wanted.made}
        for old in there:
            new = wanted.get((old.kind, old.name.lower()))
            if old.kind != "table" and (
                new is None or schema_text.normal(new.sql) != schema_text.normal(old.sql)
            ):
                self.connection.execute(f"DROP {old.kind.upper()} IF EXISTS {quoted(old.name)}")
        for each in made(self.connection):
            wanted.pop((each.kind, each.name.lower()))
        for new in wanted.values():
            try:
                with self.guard.allow("schema"):
                    self.connection.execute(new.sql).fetchall()
            except (sqlite3.Error, TookTooLong) as error:
                why = _why(self.guard, error)
                raise SchemaRefused(f"the {new.kind} {new.name}: {why}") from error

    def _refusal(self, problem: str, tables: Iterable[str], there: Sequence[Made]) -> SchemaRefused:
        table, *_ = tables
        file = f"{FOLDER}/{migrating.next_name(self.migrations, table)}"
        written = "\n".join(lines(tables, there, _tables(self.wanted.made)))
        return SchemaRefused(
            problem,
            fix="Only new tables and columns come by themselves; all else is a migration. "
            f"Write into {file} what leads there, such as:\n{written}",
        )


def _add_columns(connection: sqlite3.Connection, guard: Guard, old: Made, new: Made) -> None:
    """Give a table the columns it lacks; where SQLite adds none of the kind, make it anew.

    Raises:
        sqlite3.Error: the rows cannot have one.
        TookTooLong: there are too many of them.
    """
    had = schema_text.parts(old.sql)
    lacking = [text for name, text in schema_text.parts(new.sql).items() if name not in had]
    if not lacking:
        return
    connection.execute("SAVEPOINT columns")
    try:
        for text in lacking:
            with guard.allow("write"):  # each row there is held to a CHECK of the pack
                connection.execute(f"ALTER TABLE {quoted(old.name)} ADD COLUMN {text}")
    except (sqlite3.Error, TookTooLong):  # a default that is computed, a UNIQUE
        connection.execute("ROLLBACK TO columns")
        _make_anew(connection, guard, old, new)
    connection.execute("RELEASE columns")


def _make_anew(connection: sqlite3.Connection, guard: Guard, old: Made, new: Made) -> None:
    """Make a table as it shall be and put its rows back.

    Its triggers and indexes go with the old one. References of other tables to it stay as
    they are, which is what `legacy_alter_table` is for (sqlite.org/lang_altertable.html).
    """
    key = key_names(connection, old.name, old.columns)
    names = ", ".join(dict.fromkeys((*key, *(quoted(column.name) for column in old.columns))))
    connection.execute("PRAGMA legacy_alter_table=ON")
    try:
        connection.execute(f"ALTER TABLE {quoted(old.name)} RENAME TO {_OLD}")
        connection.execute(new.sql)
        with guard.allow("write"):  # defaults are the pack's
            into = f"INSERT INTO {quoted(old.name)} ({names})"
            connection.execute(f"{into} SELECT {names} FROM {_OLD}")
        if "autoincrement" in schema_text.words(new.sql):
            connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (old.name,))
            update = "UPDATE sqlite_sequence SET name = ? WHERE name = ?"
            connection.execute(update, (old.name, _OLD))
        connection.execute(f"DROP TABLE {_OLD}")
    finally:
        connection.execute("PRAGMA legacy_alter_table=OFF")


def _tables(found: Iterable[Made]) -> dict[str, Made]:
    return {each.name.lower(): each for each in found if each.kind == "table"}


def _why(guard: Guard, error: Exception) -> str:
    return guard.refusal or str(error) or "it takes too long"


def _digest(sql: str, extends: schema_text.Extends, migrations: Sequence[Migration]) -> str:
    known = [(migration.name, migration.digest) for migration in migrations]
    added = sorted((table, *one) for table, of in extends.items() for one in of.items())
    return hashlib.sha256(repr((sql, added, known)).encode()).hexdigest()


def _ours(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The runtime's own tables and how they were made."""
    query = "SELECT name, sql FROM sqlite_master WHERE name LIKE '\\_aouo\\_%' ESCAPE '\\'"
    return sorted(connection.execute(query).fetchall())


def _applied(connection: sqlite3.Connection) -> str:
    """The digest of what was applied last, "" = nothing was."""
    if not any(name == "_aouo_schema" for name, _ in _ours(connection)):
        return ""
    query = "SELECT digest FROM _aouo_schema WHERE kind = 'whole'"
    (digest,) = connection.execute(query).fetchone() or ("",)
    return str(digest)
