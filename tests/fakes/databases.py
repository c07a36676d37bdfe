"""A runtime's database with today's tables, made once in a process and copied from then on."""

from __future__ import annotations

from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from aouo.store.database import Tx, connect
from aouo.store.opening import migrate


def put_database(file: Path) -> None:
    """A home that has been started before; to make its tables anew costs more than a turn."""
    file.write_bytes(_migrated())
    file.chmod(0o600)


@cache
def _migrated() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "aouo.db"
        with closing(connect(file)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            migrate(Tx(connection), "2026-03-02T12:00:00.000+00:00")
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()
