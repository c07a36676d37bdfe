"""Opens the runtime's database: for its own process, and read-only from outside it.

Before 0.1.0 the schema is edited in place: a database says by which one it was made, and one of
another schema is refused.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import cache
from importlib import resources
from pathlib import Path

from aouo.facts.errors import SetupError
from aouo.store.database import Database, Tx
from aouo.store.snapshots import Snapshot, Snapshots


@asynccontextmanager
async def opened(file: Path) -> AsyncGenerator[Database]:
    """Yield the database in `file` with its tables; the caller holds the lock of its home.

    Raises:
        SetupError: it cannot be used.
    """
    database = Database(file)
    try:
        await database.open()
        await database.transact(make_tables, durable=True)
        yield database
    finally:
        await database.close()


def make_tables(tx: Tx) -> None:
    """Make the tables in a new database, inside the caller's one transaction.

    Raises:
        SetupError: the tables of another schema are there.
    """
    text, number = _schema()
    if tx.schema == 0 and tx.one("SELECT 1 FROM sqlite_schema") is None:
        tx.script(text)
        tx.schema = number
    _check_tables(tx)


def _check_tables(tx: Tx) -> None:
    """Check that the database has the tables of this program's schema.

    Raises:
        SetupError: it has others.
    """
    if tx.schema != _schema()[1]:
        raise SetupError(
            "data/aouo.db has the tables of another aouo, and before 0.1.0 nothing is carried "
            "over: move the folder data away, or start with a new home (--home)."
        )


@cache
def _schema() -> tuple[str, int]:
    """Return the schema's text and the number that stands for it: another one for other tables."""
    text = (resources.files("aouo.store") / "schema.sql").read_text(encoding="utf-8")
    said = re.sub(r"--.*|\s+", " ", text)
    digest = hashlib.sha256(" ".join(said.split()).encode()).digest()
    return text, int.from_bytes(digest[:4]) % 2**31 or 1


def schema_number() -> int:
    """Return the number that this program's tables have in a database."""
    return _schema()[1]


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
            _check_tables(tx)
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
