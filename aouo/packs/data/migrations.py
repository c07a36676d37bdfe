"""Runs a pack's migrations once each, in order; copies and puts back its databases."""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aouo.facts.errors import PackError
from aouo.packs.data.schema_guard import MIGRATION_S, Guard, SchemaRefused, TookTooLong
from aouo.packs.data.schema_text import split
from aouo.packs.format.folder import NotInside, read_inside
from aouo.packs.format.problems import Problem

_KEPT = 5
_STAMP = "%Y%m%dT%H%M%S%fZ"
_STAMP_CHARS = 22


def back_up(connection: sqlite3.Connection, folder: Path, tenant: str, now: datetime) -> Path:
    """Copy an open database to `<folder>/<utc stamp>[-<tenant>].db` and return that file.

    `tenant` "" = everybody's. Of each the newest `KEPT` stay. The file is whole or not there. Where
    the newest holds the same, that one is returned: a change that fails again and again pushes none
    out.

    Raises:
        PackError: the copy cannot be written.
    """
    file = _free_name(folder, tenant, now)
    draft = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        with contextlib.closing(sqlite3.connect(draft)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE").fetchall()  # one file, without a log beside
        _synced(draft)
        if newest := _newest_if_the_same(folder, tenant, draft):
            draft.unlink()
            return newest
        draft.replace(file)
        _synced(folder)
    except (OSError, sqlite3.Error) as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise PackError(f"No backup can be written into {folder}: {error}.") from error
    for old in backups(folder, tenant)[:-_KEPT]:
        old.unlink(missing_ok=True)
    return file


def backups(folder: Path, tenant: str) -> list[Path]:
    """Return a tenant's backups of a pack, the oldest first; "" = of the shared database."""
    end = f"-{tenant}.db" if tenant else ".db"
    files = folder.glob(f"[0-9]*Z{end}") if folder.is_dir() else ()
    return sorted(file for file in files if file.name[_STAMP_CHARS:] == end)


def restore_database(backup: Path, target: Path) -> None:
    """Make the database at `target` what `backup` holds, all of it or nothing.

    Close what has `target` open first: it would go on with what it knows of the old one.

    Raises:
        PackError: one of them cannot be used; the target is as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.close(os.open(target, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        source_uri = f"{backup.absolute().as_uri()}?mode=ro"
        with (
            contextlib.closing(sqlite3.connect(source_uri, uri=True)) as source,
            contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy,
        ):
            copy.execute("PRAGMA synchronous=FULL").fetchall()
            source.backup(copy)  # one transaction of the target
    except (OSError, sqlite3.Error) as error:
        raise PackError(f"{backup.name} cannot be put back: {error}.") from error


def _newest_if_the_same(folder: Path, tenant: str, draft: Path) -> Path | None:
    newest = backups(folder, tenant)[-1:]
    return next((file for file in newest if filecmp.cmp(file, draft, shallow=False)), None)


def _free_name(folder: Path, tenant: str, now: datetime) -> Path:
    moment = now.astimezone(UTC)
    while True:
        stamped = moment.strftime(_STAMP)
        file = folder / (f"{stamped}-{tenant}.db" if tenant else f"{stamped}.db")
        if not file.exists():
            return file
        moment += timedelta(microseconds=1)


def _synced(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
