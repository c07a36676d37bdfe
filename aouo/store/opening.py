"""Opens the runtime's database, migrates it, and closes it at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from aouo.facts.ports import Clock, stamp
from aouo.store.database import Database
from aouo.store.migrate import migrate


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
