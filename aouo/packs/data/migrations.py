"""Runs a pack's `migrations/NNNN_name.sql` once each, in order: what adding columns cannot do."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aouo.packs.data.schema_guard import MIGRATION_S, Guard, SchemaRefused, TookTooLong
from aouo.packs.data.schema_text import split
from aouo.packs.format.inside import NotInside, read_inside
from aouo.packs.format.problems import Problem

FOLDER = "migrations"
_MAX_FILES = 200
TABLE = (
    "CREATE TABLE IF NOT EXISTS _aouo_migrations"
    "(name TEXT PRIMARY KEY, digest TEXT NOT NULL) STRICT"
)
_NAME = re.compile(r"[0-9]{4}_[A-Za-z0-9_-]{1,60}\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: its name below `migrations/`, and its SQL."""

    name: str
    sql: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def file(self) -> str:
        return f"{FOLDER}/{self.name}"


def read_migrations(folder: Path) -> tuple[tuple[Migration, ...], tuple[Problem, ...]]:
    """Read those of the pack in `folder`, in order, and say what is wrong with them."""
    root = folder / FOLDER
    if root.is_symlink():
        return (), (Problem(FOLDER, 0, "", "links are not followed"),)
    found: list[Migration] = []
    problems: list[Problem] = []
    names = sorted(child.name for child in root.iterdir()) if root.is_dir() else []
    for name in [name for name in names if name.endswith(".sql")][: _MAX_FILES + 1]:
        try:
            migration = Migration(name, read_inside(folder, f"{FOLDER}/{name}"))
        except (NotInside, FileNotFoundError) as error:
            problems.append(Problem(f"{FOLDER}/{name}", 0, "", str(error)))
            continue
        wrong = tuple(_wrong(migration, found))
        problems += [Problem(migration.file, each.line, "", each.problem) for each in wrong]
        if not wrong:
            found.append(migration)
    return tuple(found), tuple(problems)


def _wrong(migration: Migration, before: Sequence[Migration]) -> Iterator[SchemaRefused]:
    """Yield all that is wrong with one that comes after others."""
    if not _NAME.fullmatch(migration.name):
        yield SchemaRefused("is not named as NNNN_name.sql, such as 0001_rename_due.sql")
    if before and before[-1].name[:4] == migration.name[:4]:
        yield SchemaRefused(f"has the number of {before[-1].name}: give it the next one")
    if len(before) >= _MAX_FILES:
        yield SchemaRefused(f"there are more than {_MAX_FILES} migrations")
    try:
        statements = split(migration.sql)
    except SchemaRefused as refused:
        yield refused
        return
    for statement in statements:
        try:
            statement.check(in_migration=True)
        except SchemaRefused as refused:
            yield refused


def pending(
    connection: sqlite3.Connection, migrations: Sequence[Migration]
) -> tuple[Migration, ...]:
    """Return those that did not run on this database, which has `TABLE`.

    Raises:
        SchemaRefused: one that ran was edited or is gone, or one comes too late.
    """
    rows = connection.execute("SELECT name, digest FROM _aouo_migrations").fetchall()
    done = {str(name): str(digest) for name, digest in rows}
    if gone := sorted(done.keys() - {migration.name for migration in migrations}):
        raise SchemaRefused(
            f"the database has {FOLDER}/{gone[-1]} behind it, which this version of the pack "
            "does not know: install that version or a newer one"
        )
    newest = max(done, default="")
    for migration in migrations:
        if migration.name in done and done[migration.name] != migration.digest:
            raise SchemaRefused(
                f"{migration.file} was edited after it ran: undo that, and write the change "
                f"into {FOLDER}/{next_name(migrations)}"
            )
        if migration.name not in done and migration.name < newest:
            raise SchemaRefused(
                f"{migration.file} comes before {newest}, which has run: "
                f"name it {next_name(migrations)}"
            )
    return tuple(migration for migration in migrations if migration.name not in done)


def run(connection: sqlite3.Connection, guard: Guard, migration: Migration) -> None:
    """Run one inside the caller's transaction, with foreign keys off.

    Raises:
        SchemaRefused: names its file and line.
    """
    for statement in split(migration.sql):
        where = f"{migration.file}:{statement.line}"
        try:
            statement.check(in_migration=True)
            with guard.allow("migration"):
                connection.execute(statement.sql).fetchall()
        except SchemaRefused as error:
            raise SchemaRefused(f"{where}: {error.problem}") from error
        except TookTooLong as error:
            raise SchemaRefused(f"{where}: ran longer than {MIGRATION_S:.0f} s") from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise SchemaRefused(f"{where}: {guard.refusal or error}") from error


def record(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Note that they need not run on this database any more."""
    rows = [(migration.name, migration.digest) for migration in migrations]
    connection.executemany("INSERT INTO _aouo_migrations VALUES (?, ?)", rows)


def next_name(migrations: Sequence[Migration], about: str = "name") -> str:
    """The name to give to the next one."""
    number = max((int(migration.name[:4]) for migration in migrations), default=0) + 1
    name = f"{number:04}_{about}.sql"
    return name if _NAME.fullmatch(name) else f"{number:04}_name.sql"
