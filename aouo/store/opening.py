"""Opens the runtime's database, makes its tables, and closes it at the end.

Before 0.1.0 the schema is edited in place: a database says by which one it was made, and one of
another schema is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from importlib import resources
from pathlib import Path

from aouo.facts.errors import SetupError
from aouo.store.database import Database, Tx


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
    check_tables(tx)


def check_tables(tx: Tx) -> None:
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
