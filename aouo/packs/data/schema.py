"""Applies a pack's `schema.sql` so that no row is lost.

With `schema_guard`, `schema_trial`, `migrations`, `seeds` and `persist`, the one place outside
`store/` that runs SQL: it is the pack's.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aouo.packs.data import migrations as migrating
from aouo.packs.data import seeds as seeding
from aouo.packs.data.columns import Column, tables
from aouo.packs.data.growing import add_columns
from aouo.packs.data.migrations import Migration
from aouo.packs.data.opening import open_database
from aouo.packs.data.schema_guard import (
    SCHEMA_S,
    TRIAL_S,
    Guard,
    SchemaRefused,
    TookTooLong,
    quoted,
)
from aouo.packs.data.schema_judge import check_heads
from aouo.packs.data.schema_text import Statement, split
from aouo.packs.data.seeds import Seeds
from aouo.packs.data.shape import Shape, derived, differences, shapes
from aouo.plumbing import failpoint

Extends = Mapping[str, Mapping[str, str]]

TRIAL_PAGES = 8192
_TABLE = (
    "CREATE TABLE IF NOT EXISTS _aouo_schema"
    "(kind TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (kind, digest)) STRICT"
)


@dataclass(frozen=True, slots=True)
class Made:
    """What a schema makes in an empty database."""

    tables: Mapping[str, tuple[Column, ...]]
    shapes: Mapping[str, Shape]
    derived: Mapping[tuple[str, str], str]

    @property
    def order(self) -> dict[str, list[str]]:
        """The columns of each table as its CREATE has them."""
        return {
            name.lower(): [column.name.lower() for column in found]
            for name, found in self.tables.items()
        }


def _try(statements: Sequence[Statement], extends: Extends) -> Made:
    check_heads(statements)
    with contextlib.closing(open_database(":memory:", max_pages=TRIAL_PAGES)) as connection:
        guard = Guard(connection, total_s=TRIAL_S)
        seeds = Seeds(connection, guard, grown=False)
        run(connection, guard, statements, seeds, None)
        extend(connection, extends)
        made = Made(tables(connection), shapes(connection), derived(connection))
        run(connection, guard, statements, seeds, made.tables)
        return made


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

    A content that was applied before changes nothing. Otherwise all of it is one transaction:
    pending migrations run, columns that a CREATE TABLE gained are added, statements that ran
    before are left out, triggers, views and indexes are made anew where they changed, and each
    first row is given once. Whatever else differs from the schema then is refused. A database
    without tables of the pack takes the schema as it is. `before_change` is called when rows
    might be touched, to back them up.

    Raises:
        SchemaRefused: the database stays as it was.
    """
    whole = _digest(sql, extends, migrations)
    if _recorded(connection, "whole") == {whole}:
        return False
    statements = split(sql)
    wanted = _try(statements, extends)
    grown = bool(tables(connection))
    if grown:
        before_change()
    change = _Change(connection, guard, wanted, statements, extends, migrations, grown)
    connection.execute("PRAGMA foreign_keys=OFF")  # a table that is made anew keeps its children
    try:
        connection.execute("BEGIN IMMEDIATE")
        change.carry_out(whole)
        failpoint.reached("before a pack's schema commit")
        connection.execute("COMMIT")
        failpoint.reached("after a pack's schema commit")
    except sqlite3.Error as error:
        raise SchemaRefused(guard.refusal or str(error)) from error
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
    wanted: Made
    statements: Sequence[Statement]
    extends: Extends
    migrations: Sequence[Migration]
    grown: bool

    def carry_out(self, whole: str) -> None:
        connection = self.connection
        for table in (_TABLE, migrating.TABLE, seeding.TABLE):
            connection.execute(table)
        ours = _ours(connection)
        self._migrate()
        if _ours(connection) != ours:
            raise SchemaRefused("names beginning with _aouo_ belong to the runtime")
        self._add_columns()
        self._drop_derived()
        self._run_fresh()
        extend(connection, self.extends)
        self._compare()
        if connection.execute("PRAGMA foreign_key_check").fetchone():
            raise SchemaRefused("a row would refer to one that is not there")
        records = [("whole", whole), *(("statement", item.digest) for item in self.statements)]
        connection.execute("DELETE FROM _aouo_schema WHERE kind IN ('whole', 'statement')")
        connection.executemany("INSERT OR IGNORE INTO _aouo_schema VALUES (?, ?)", records)

    def _migrate(self) -> None:
        waiting = migrating.pending(self.connection, self.migrations)
        for migration in waiting if self.grown else ():
            migrating.run(self.connection, self.guard, migration)
        migrating.record(self.connection, waiting)

    def _add_columns(self) -> None:
        lax = add_columns(self.connection, self.guard, self.wanted.shapes)
        eased = [("eased", name) for name in lax]
        self.connection.executemany("INSERT OR IGNORE INTO _aouo_schema VALUES (?, ?)", eased)

    def _drop_derived(self) -> None:
        """Drop triggers, views and indexes that the schema makes in another way, or not at all."""
        for (kind, name), made in derived(self.connection).items():
            if self.wanted.derived.get((kind, name)) != made:
                self.connection.execute(f"DROP {kind.upper()} IF EXISTS {quoted(name)}")

    def _run_fresh(self) -> None:
        order = self.wanted.order
        seeds = Seeds(self.connection, self.guard, grown=self.grown, order=order)
        seeds.recall()
        done = _recorded(self.connection, "statement")
        again = ("CREATE VIEW", "CREATE TRIGGER", "CREATE INDEX")
        fresh = [item for item in self.statements if item.digest not in done or item.head in again]
        run(self.connection, self.guard, fresh, seeds, tables(self.connection))
        seeds.record()

    def _compare(self) -> None:
        eased = {
            (table, column)
            for digest in _recorded(self.connection, "eased")
            for table, _, column in [digest.partition(".")]
        }
        found = sorted(differences(shapes(self.connection), self.wanted.shapes, eased))
        if found:
            name = migrating.next_name(self.migrations)
            raise SchemaRefused(
                f"{'; '.join(found[:5])}. Only new tables and columns come by themselves: "
                f"write SQL that brings the old tables there into {migrating.FOLDER}/{name}"
            )


def _digest(sql: str, extends: Extends, migrations: Sequence[Migration]) -> str:
    known = [(migration.name, migration.digest) for migration in migrations]
    return hashlib.sha256(repr((sql, sorted(_flat(extends)), known)).encode()).hexdigest()


def _flat(extends: Extends) -> Iterator[tuple[str, str, str]]:
    for table, added in extends.items():
        for column, kind in added.items():
            yield table, column, kind


def _ours(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The runtime's own tables and how they were made."""
    query = "SELECT name, sql FROM sqlite_master WHERE name LIKE '\\_aouo\\_%' ESCAPE '\\'"
    return sorted((str(name), str(sql)) for name, sql in connection.execute(query).fetchall())


def _recorded(connection: sqlite3.Connection, kind: str) -> set[str]:
    query = "SELECT 1 FROM sqlite_master WHERE name = '_aouo_schema'"
    if connection.execute(query).fetchone() is None:
        return set()
    rows = connection.execute("SELECT digest FROM _aouo_schema WHERE kind = ?", (kind,))
    return {str(digest) for (digest,) in rows}


def run(
    connection: sqlite3.Connection,
    guard: Guard,
    statements: Sequence[Statement],
    seeds: Seeds,
    protected: Mapping[str, object] | None,
) -> None:
    """Run statements of a schema.

    `protected`: tables that are there and keep their rows; None = as written, nothing is.

    Raises:
        SchemaRefused: the first that does not run, or tries what it may not.
    """
    for statement in statements:
        try:
            if statement.head in ("INSERT", "REPLACE"):
                seeds.plant(statement)
                continue
            plain = statement.head == "CREATE TABLE" and not statement.is_virtual
            mode = "table" if plain else "schema"
            with guard.allow(mode, protected=protected or ()):
                made = statement.sql if protected is None else statement.unless_there
                connection.execute(made).fetchall()
        except TookTooLong as error:
            raise SchemaRefused(f"ran longer than {SCHEMA_S:.0f} s", statement.line) from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            said = guard.refusal or str(error)
            if said.endswith("already exists"):
                said = f"{said}: it is made twice here; take one away"
            raise SchemaRefused(said, statement.line) from error


def extend(connection: sqlite3.Connection, extends: Extends) -> None:
    """Add the manifest's `extends_columns`, whose text the manifest has checked.

    Raises:
        SchemaRefused: there is no such table, or SQLite takes no such column.
    """
    made = tables(connection)
    for table, column, kind in _flat(extends):
        if table not in made:
            raise SchemaRefused(f"extends_columns names {table}, a table that schema.sql lacks")
        if column.lower() not in {item.name.lower() for item in made[table]}:
            try:
                connection.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN {column} {kind}")
            except sqlite3.Error as error:
                raise SchemaRefused(f"extends_columns {table}.{column}: {error}") from error
