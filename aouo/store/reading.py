"""Reads a database file from outside the process that owns it; never writes, never checkpoints."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from aouo.facts.errors import SetupError
from aouo.store.database import Tx


@contextmanager
def reading(file: Path) -> Generator[Tx]:
    """Yield one consistent snapshot of an existing file, also while the bot runs.

    Raises:
        SetupError: the file cannot be read, or an older aouo wrote it.
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
            yield Tx(connection)
    except sqlite3.Error as error:
        raise SetupError(
            f"{file} cannot be read: {error}.",
            fix="Start the bot once, which brings it up to date.",
        ) from error
