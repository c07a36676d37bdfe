"""Opens the runtime's database: to be migrated and used, or to be read while nobody does that."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from aouo.facts.errors import SetupError
from aouo.facts.ports import Clock, stamp
from aouo.store.database import Database, Tx
from aouo.store.snapshots import Query, Snapshot, Snapshots

_APPLIED = Query("SELECT name FROM migrations", (), lambda rows: {str(row["name"]) for row in rows})


@asynccontextmanager
async def opened(file: Path, clock: Clock) -> AsyncGenerator[Database]:
    """Yield the migrated database in `file`; the caller holds the lock of its home.

    Raises:
        SetupError: it cannot be used.
    """
    database = Database(file)
    try:
        await database.open()
        await database.transact(lambda tx: migrate(tx, stamp(clock)), durable=True)
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def read_at_rest(snapshots: Snapshots) -> AsyncGenerator[Snapshot]:
    """Yield a snapshot of a database that is left as it is.

    Raises:
        SetupError: it cannot be read, or is of an older or a newer version than this program.
    """
    async with AsyncExitStack() as stack:
        try:
            snapshot = await stack.enter_async_context(snapshots.open())
            applied = await snapshot.ask(_APPLIED)
        except sqlite3.DatabaseError as error:
            raise SetupError(f"data/aouo.db cannot be read: {error}.") from error
        _refuse_newer(applied)
        if applied != _names():
            raise SetupError(
                "data/aouo.db was written by an older aouo.",
                fix="Start the bot once, which brings it up to date.",
            )
        yield snapshot


def statements(script: str) -> Iterator[str]:
    """Split a script into its statements, as SQLite itself sees their ends."""
    gathered = ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            yield gathered.strip()
            gathered = ""
    if gathered.strip():
        yield gathered.strip()


def migrate(tx: Tx, now: str) -> list[str]:
    """Apply what is missing, inside the caller's one transaction; return the names applied.

    Raises:
        SetupError: the database is newer than this program, or an applied file was edited.
    """
    tx.run(
        "CREATE TABLE IF NOT EXISTS migrations("
        "name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT"
    )
    applied = {row["name"]: row["sha256"] for row in tx.all("SELECT * FROM migrations")}
    _refuse_newer(applied.keys())
    fresh: list[str] = []
    for file in _scripts():
        text = file.read_text(encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        if file.name in applied:
            if applied[file.name] != digest:
                raise SetupError(f"migration {file.name} was edited after it was applied.")
            continue
        tx.script(list(statements(text)))
        tx.run("INSERT INTO migrations VALUES (?, ?, ?)", file.name, digest, now)
        fresh.append(file.name)
    return fresh


def _refuse_newer(applied: Collection[str]) -> None:
    """Check that all migrations are known. Raises `SetupError` if one is not."""
    if unknown := set(applied) - _names():
        raise SetupError(
            f"data/aouo.db was written by a newer aouo ({max(unknown)}).",
            fix="Install that version or newer.",
        )


def _scripts() -> list[Traversable]:
    """Return the files of all migrations in their order."""
    folder = resources.files("aouo.store") / "migrations"
    files = (file for file in folder.iterdir() if file.name.endswith(".sql"))
    return sorted(files, key=lambda file: file.name)


def _names() -> set[str]:
    return {file.name for file in _scripts()}
