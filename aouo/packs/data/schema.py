"""Brings a pack's database to its `schema.sql`, so that no row is lost.

With the other modules of this folder the one place outside `store/` that runs SQL: it is the
pack's.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from aouo.packs.data import migrations as migrating
from aouo.packs.data.columns import Made, made
from aouo.packs.data.differences import differences, lines
from aouo.packs.data.migrations import FOLDER, Migration
from aouo.packs.data.row_keys import key_names
from aouo.packs.data.schema_guard import OURS, Guard, SchemaRefused, TookTooLong, quoted
from aouo.packs.data.schema_text import normal, parts, words
from aouo.packs.data.schema_trial import Extends, Trial, extend, run, trial
from aouo.plumbing import failpoint

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
    extends: Extends,
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
    wanted = trial(sql, extends)
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
    wanted: Trial
    extends: Extends
    migrations: Sequence[Migration]

    def carry_out(self) -> None:
        """Raises: SchemaRefused: no statement, or no table, leads to what is wanted."""
        waiting = migrating.pending(self.connection, self.migrations)
        if made(self.connection):
            self._migrate(waiting)
            there = made(self.connection)
            found = differences(_tables(there), _tables(self.wanted.made))
            if found:
                said = [each for of_table in found.values() for each in of_table]
                raise self._refusal("; ".join(said[:_SHOWN]), found, there)
            self._add_columns(there)
            self._make_what_runs(there)
        else:
            for statement in self.wanted.statements:
                run(self.connection, self.guard, statement)
            extend(self.connection, self.extends)
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
            if old.kind != "table" and (new is None or normal(new.sql) != normal(old.sql)):
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
    had = parts(old.sql)
    lacking = [text for name, text in parts(new.sql).items() if name not in had]
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
        if "autoincrement" in words(new.sql):
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


def _digest(sql: str, extends: Extends, migrations: Sequence[Migration]) -> str:
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
