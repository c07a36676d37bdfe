"""Reads a database file from outside the process that owns it; never writes, never checkpoints."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

from aouo.facts.errors import SetupError
from aouo.store.database import Tx
from aouo.store.opening import check_tables
from aouo.store.snapshots import Snapshot, Snapshots


@contextmanager
def reading(file: Path) -> Generator[Tx]:
    """Yield one consistent snapshot of an existing file, also while the bot runs.

    Raises:
        SetupError: the file cannot be read, or has the tables of another schema.
    """
    try:
        with closing(
            sqlite3.connect(
                f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=5
            )
        ) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA query_only=ON")
            connection.execute("BEGIN")
            tx = Tx(connection)
            if tx.one("SELECT 1 FROM sqlite_schema") is None:
                raise _unreadable(file, "it is empty")
            check_tables(tx)
            yield tx
    except sqlite3.Error as error:
        raise _unreadable(file, error) from error


@asynccontextmanager
async def read_beside(file: Path, snapshots: Snapshots) -> AsyncGenerator[Snapshot]:
    """Yield one of the file's snapshots, read beside the event loop, while no bot runs.

    Raises:
        SetupError: the file cannot be read.
    """
    try:
        async with snapshots.open() as snapshot:
            yield snapshot
    except sqlite3.Error as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, why: object) -> SetupError:
    return SetupError(f"{file} cannot be read: {why}.", fix="Start the bot once.")
