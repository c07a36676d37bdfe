"""Whatever a former process left: the next one starts, answers, and tells the owner.

Source: issue 11, a begun purge ended every later start with exit 1.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from aouo.config.sections import Retention
from aouo.flow.chores.retention import Tidying
from aouo.installer.unfinished import unfinished
from aouo.plumbing.client import ask
from aouo.store.database import Database
from tests.fakes.clock import FastClock
from tests.path.world import ADA, World

NOW = "2026-01-01T00:00:00.000Z"
Rows: TypeAlias = Callable[[sqlite3.Connection], Any]
BROKEN = ["", "no json", "null", "[]", '{"content": {"kind": "Nonsense"}}', "[" * 100_000]


@pytest.fixture(autouse=True)
def notes(world: World) -> None:
    world.install("notes")


async def left(world: World, *rows: Rows) -> None:
    """A home in which Ada was answered once, and which was left like this."""
    async with world.running() as bot:
        await bot.ask("before")
    with closing(sqlite3.connect(world.home.database)) as connection, connection:
        for write in rows:
            write(connection)


async def told(world: World, *wanted: str) -> dict[str, Any]:
    """Start, see that a person is answered and the owner told; gives the status."""
    async with world.running() as bot:
        for text in wanted:
            await bot.people.next_message(ADA, contains=text)
        await world.people.say(ADA, ADA, "are you there?")
        await bot.people.next_message(ADA, contains="are you there?")
        status = await bot.runtime.status()
        json.dumps(status)
        return status


def begun(kind: str, *, purge: int = 0) -> Rows:
    return lambda connection: connection.execute(
        "INSERT INTO pack_changes (id, pack, kind, state, version, digest, source, person, "
        "created_at, purge) VALUES ('c1', 'scribe', ?, 'begun', '1', 'd', '', 'owner', ?, ?)",
        (kind, NOW, purge),
    )


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), RecursionError("deep")])
async def test_a_begun_purge_that_fails_is_told_and_ended_by_a_later_start(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(path: Path) -> None:
        raise error

    await left(world, begun("remove", purge=1))
    with monkeypatch.context() as patch:
        patch.setattr("aouo.packs.stores.remove", fail)
        status = await told(world, "Removing scribe and all that it keeps")
        found = unfinished(world.home)
    again = await told(world)

    assert len(status["unfinished"]) == len(found) == 1
    assert "aouo restart" in status["unfinished"][0]
    assert (again["unfinished"], unfinished(world.home)) == ([], [])


async def test_a_begun_upgrade_whose_files_are_gone_is_undone_and_told(world: World) -> None:
    await left(world, begun("upgrade"))
    status = await told(world, "Upgrading scribe: The files of scribe are not those")

    assert "is as it was" in status["unfinished"][0]
    assert unfinished(world.home) == []


@pytest.mark.parametrize("body", BROKEN)
@pytest.mark.parametrize("state", ["ready", "running", "gathering"])
async def test_a_job_that_cannot_be_read_is_put_aside_and_its_person_told(
    world: World, body: str, state: str
) -> None:
    world.clock = FastClock()
    await left(
        world,
        lambda connection: connection.execute(
            "INSERT INTO jobs (lane, platform, chat_id, thread_id, user_id, person, body, state, "
            "due_at, created_at, album) SELECT lane, platform, chat_id, thread_id, user_id, "
            "person, ?, ?, ?, created_at, '' FROM jobs LIMIT 1",
            (body, state, NOW),
        ),
    )
    await told(world, "I cannot read what you sent me here")


@pytest.mark.parametrize("body", BROKEN[1:])
@pytest.mark.parametrize("state", ["queued", "sending"])
async def test_a_message_out_that_cannot_be_read_is_given_up(
    world: World, body: str, state: str
) -> None:
    await left(
        world,
        lambda connection: connection.execute(
            "UPDATE deliveries SET state = ?, body = ? WHERE id = 1", (state, body)
        ),
    )
    await told(world)


async def test_a_message_out_for_a_channel_that_is_not_there_waits(world: World) -> None:
    await left(
        world,
        lambda connection: connection.execute(
            "UPDATE deliveries SET state = 'queued', platform = 'pigeon' WHERE id = 1"
        ),
    )
    await told(world)


@pytest.mark.parametrize("table", ["tool_calls", "turns"])
async def test_an_open_turn_that_cannot_be_taken_up_is_put_aside(world: World, table: str) -> None:
    def reopen(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE jobs SET state = 'running', settled_at = ''")
        connection.execute("UPDATE turns SET status = 'open'")
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        broken = [name for name in names if name in ("arguments", "result", "meter")]
        for name in broken:
            connection.execute(f"UPDATE {table} SET {name} = '[broken'")

    await left(world, reopen)
    await told(world)


async def test_what_was_said_off_the_record_is_erased_though_it_cannot_be_read_or_removed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise OSError(1, "Operation not permitted", str(path))

    def reopen(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE conversation_routes SET off_record = 1")
        connection.execute("UPDATE jobs SET state = 'parked', body = 'no json'")

    await left(world, reopen)
    _keep(world.home.media / "tg_1001" / "1_0_photo.jpg", "x")
    monkeypatch.setattr("aouo.flow.media.removed", fail)
    status = await told(world, "files that were sent off the record")

    assert len(status["unfinished"]) == 1


async def test_a_folder_where_the_control_socket_belongs_is_no_hindrance(world: World) -> None:
    await left(world)
    _keep(world.home.control_socket / "deep" / "er.txt", "x")
    async with world.running():
        assert await asyncio.to_thread(ask, world.home, "status")


async def test_the_bot_runs_where_no_control_socket_can_be(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise OSError(1, "Operation not permitted", str(path))

    await left(world)
    monkeypatch.setattr("aouo.plumbing.control.remove", fail)
    await told(world, "Listening to aouo status")


async def test_a_session_that_cannot_be_read_gets_no_title_and_ends_nothing(world: World) -> None:
    world.clock = FastClock()
    await left(
        world,
        lambda connection: connection.execute("UPDATE sessions SET titling = 'wanted', title = ''"),
        lambda connection: connection.execute("UPDATE messages SET calls = '[broken'"),
    )
    async with world.running() as bot:
        await bot.app.titles.give()
        rows = await bot.rows("SELECT title, titling FROM sessions")

    assert rows == [{"title": "", "titling": ""}]


class Over(BaseException):
    """The end of a test."""


async def test_what_cannot_be_pruned_is_tried_again_the_next_day(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tries = iter([RecursionError("deep"), OSError(5, "Input/output error"), Over()])

    async def fail(self: Tidying) -> None:
        raise next(tries)

    monkeypatch.setattr(Tidying, "prune", fail)
    database, clock = Database(tmp_path / "aouo.db"), FastClock(speed=1e9)
    with pytest.raises(Over):
        await Tidying(database=database, clock=clock, folder=tmp_path, days=Retention).run()


async def test_a_damaged_database_of_a_pack_ends_nothing(world: World) -> None:
    await left(world)
    _keep(world.home.pack_database("notes", f"tg_{ADA}"), "no database at all" * 1_000)
    _keep(world.home.pack_database("notes"), "no database at all" * 1_000)
    await told(world)


def _keep(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
