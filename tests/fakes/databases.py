"""A runtime's database with today's tables, made once in a process and copied from then on."""

from __future__ import annotations

from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from aouo.store.database import Tx, connect
from aouo.store.opening import make_tables


def put_database(file: Path) -> None:
    """A home that has been started before; to make its tables anew costs more than a turn."""
    file.write_bytes(_with_tables())
    file.chmod(0o600)


@cache
def _with_tables() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "aouo.db"
        with closing(connect(file)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            make_tables(Tx(connection))
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()
