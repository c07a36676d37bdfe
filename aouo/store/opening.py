"""Opens the runtime's database, migrates it, and closes it at the end."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from aouo.facts.errors import SetupError
from aouo.facts.ports import Clock, stamp
from aouo.store.database import Database, Tx


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
    files = migrations()
    if unknown := applied.keys() - {file.name for file in files}:
        raise SetupError(
            f"data/aouo.db was written by a newer aouo ({max(unknown)}).",
            fix="Install that version or newer.",
        )
    fresh: list[str] = []
    for file in files:
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


def migrations() -> list[Traversable]:
    """Return the files of all migrations in their order."""
    folder = resources.files("aouo.store") / "migrations"
    files = (file for file in folder.iterdir() if file.name.endswith(".sql"))
    return sorted(files, key=lambda file: file.name)
