"""What an older aouo stored is there after the migrations, and means what it meant.

Source: issue 14; style 1 "Migrations are forward only, each in one transaction".
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from aouo.facts.events import Inbound, Person, Text
from aouo.facts.ids import SessionId
from aouo.facts.work import Scheduled
from aouo.store import jobs, schedules, search
from aouo.store.database import Database, Tx, connect
from aouo.store.opening import migrate
from tests.fakes.old_home import BEFORE, CHAT, JOBS, LONG_AGO, NEWEST, SOON, put_old_database

NOW = "2026-03-02T12:00:00.000+00:00"
MADE_ANEW = {"messages_index", "migrations"}
"""Tables whose rows are not kept as they were."""
BECAME = {"indexed_upto": 0}
"""Columns that a migration sets on purpose."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    put_old_database(tmp_path / "aouo.db")
    return tmp_path / "aouo.db"


@pytest.fixture
async def database(file: Path) -> AsyncGenerator[Database]:
    """The old home's, migrated."""
    database = Database(file)
    await database.open()
    await database.transact(lambda tx: migrate(tx, NOW))
    yield database
    await database.close()


def rows_of(file: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, but for what FTS keeps for itself."""
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        names = [
            row[0]
            for row in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE "
                "'messages_index%' AND name NOT LIKE 'sqlite_stat%' ORDER BY name"
            )
        ]
        return {
            name: [dict(row) for row in connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2")]
            for name in names
        }


async def test_every_row_survives_with_all_that_it_held(file: Path) -> None:
    before = rows_of(file)
    database = Database(file)
    await database.open()
    fresh = await database.transact(lambda tx: migrate(tx, NOW))
    broken = await database.read(lambda tx: list(tx.all("PRAGMA foreign_key_check")))
    await database.close()
    after = rows_of(file)

    assert min(fresh) > NEWEST
    assert broken == []
    for table in before.keys() - MADE_ANEW:
        assert len(after[table]) == len(before[table]), table
        for old, new in zip(before[table], after[table], strict=True):
            kept = {name: BECAME.get(name, value) for name, value in old.items()}
            assert kept == {name: new[name] for name in old}, table


async def test_ids_of_sessions_are_read_as_they_were_written(database: Database) -> None:
    rows = await database.read(lambda tx: tx.all("SELECT id FROM sessions"))

    for row in rows:
        parsed = SessionId.parse(row["id"])
        assert str(parsed) == row["id"]
        assert parsed.is_current


async def test_jobs_in_all_states_can_be_read(database: Database) -> None:
    rows = await database.read(lambda tx: tx.all("SELECT * FROM jobs ORDER BY id"))

    assert [jobs.inbound_of(row).content for row in rows] == [content for _, content, _ in JOBS]
    assert {row["origin"] for row in rows} == {"chat"}


async def test_jobs_that_were_emptied_before_are_marked(file: Path) -> None:
    """Else retention would read those with a turn again each day."""
    body = Inbound(CHAT, Person("1001"), Text("")).dump().replace('"answers":"",', "")  # as it was
    with closing(sqlite3.connect(file)) as old, old:
        old.execute("UPDATE jobs SET body = ? WHERE id = 1", [body])
    with closing(connect(file)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        migrate(Tx(connection), NOW)
        marked = connection.execute("SELECT id FROM jobs WHERE forgotten = 1").fetchall()

    assert [row[0] for row in marked] == [1]


async def test_schedules_come_when_they_were_to_come(database: Database) -> None:
    def read(tx: Tx) -> list[Scheduled]:
        return sorted(schedules.everything(tx), key=lambda row: row.id)

    found = await database.read(read)

    assert [(row.key, row.enabled, row.paused, row.next_due) for row in found] == [
        ("declined", False, "person", ""),
        ("in-group", True, "", SOON),
        ("on", True, "", SOON),
        ("overdue", True, "", LONG_AGO),
        ("proposed", False, "proposed", ""),
    ]
    assert {(row.misfire, row.timeout_s, row.retries, row.name) for row in found} == {
        ("run_once", 0, 0, "")
    }
    assert [row.own_text for row in found] == [False, False, True, False, False]


async def test_what_was_said_before_is_found(database: Database) -> None:
    """The index is made anew: by the search itself, where no turn has done it yet."""
    key = CHAT.session_key("notes")

    def find(tx: Tx, words: str) -> list[str]:
        while search.catch_up(tx, key):
            pass
        (best, *_) = search.wanted(key, words, 5)
        return [hit.text for hit in tx.ask(best)]

    assert await database.transact(lambda tx: find(tx, "baobab")) == ["Standing, by the baobab."]
    assert await database.transact(lambda tx: find(tx, "giraf")) == ["And giraffes?"]
    assert await database.transact(lambda tx: find(tx, "heron")) == []


async def test_forgetting_takes_old_messages_out_of_the_new_index(database: Database) -> None:
    key = CHAT.session_key("notes")

    def forget(tx: Tx) -> list[str]:
        search.catch_up(tx, key)
        tx.run("DELETE FROM messages WHERE text LIKE '%baobab%'")
        return [row[0] for row in tx.all("SELECT words FROM messages_index ORDER BY rowid")]

    assert await database.transact(forget) == [
        "Where do elephants sleep?",
        "And giraffes?",
        "Hardly at all.",
    ]


async def test_versions_of_memory_can_be_undone_and_their_numbers_go_on(
    database: Database,
) -> None:
    def write(tx: Tx) -> int:
        return tx.insert(
            "INSERT INTO memory_versions (pack, owner, file, origin, state, before, after, at) "
            "VALUES ('notes', 'tg_1001', 'MEMORY.md', 'consolidate', 'done', '', '', ?)",
            NOW,
        )

    rows = await database.read(
        lambda tx: tx.all("SELECT id, origin, undoes, sources FROM memory_versions ORDER BY id")
    )
    found = [tuple(row) for row in rows]

    assert found == [(2, "tool", 0, ""), (3, "hand", 0, ""), (4, "undo", 3, "")]
    assert await database.transact(write) == 5


async def test_a_kill_in_the_middle_leaves_what_was_and_the_next_start_migrates(
    file: Path, tmp_path: Path
) -> None:
    """What lies on the disk in the midst of the one transaction is what a kill leaves behind."""
    before, left = rows_of(file), tmp_path / "left"
    left.mkdir()
    with closing(connect(file)) as connection:
        connection.execute("PRAGMA cache_size = 1")  # so that it writes before it commits
        connection.execute("BEGIN IMMEDIATE")
        migrate(Tx(connection), NOW)
        for each in file.parent.glob("aouo.db*"):
            shutil.copy(each, left / each.name)
        written = (left / "aouo.db-wal").stat().st_size
        connection.execute("ROLLBACK")
    unchanged = rows_of(left / file.name)
    database = Database(left / file.name)
    await database.open()
    fresh = await database.transact(lambda tx: migrate(tx, NOW))
    again = await database.transact(lambda tx: migrate(tx, NOW))
    key = await database.read(
        lambda tx: tx.one("SELECT session_key FROM sessions WHERE id = ?", BEFORE)
    )
    await database.close()

    assert written > 0
    assert unchanged == before
    assert (len(fresh) > 3, again) == (True, [])
    assert key is not None
    assert key["session_key"] == CHAT.session_key("notes")
