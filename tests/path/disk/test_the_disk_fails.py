"""A database that is locked, full, damaged or cut, while the bot runs and as it starts.

Source: issue 30, number 13. Real files and real locks; what fills a disk here is a limit on the
file, and a start on a full disk has a small file system of its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from aouo.facts.errors import SetupError
from aouo.plumbing.client import answers as asked
from aouo.store.database import Database, copy_of
from aouo.store.opening import keep_copy
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.guard.sandbox.places import HERE
from tests.path.dashboard.looking import dashboard
from tests.path.looking import answers, eventually, prompts, said, settled
from tests.path.world import ADA, ROOT, World


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock()
    return clock


@contextmanager
def locked(world: World) -> Generator[None]:
    """Another program writes, and does not end."""
    with closing(sqlite3.connect(world.home.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def full(world: World) -> Generator[None]:
    """The file cannot grow: SQLite says what it says of a full disk."""
    assert world.bot
    connection = world.bot.app.shared.database._writer._connection
    assert connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={pages}")
    with closing(sqlite3.connect(world.home.database, isolation_level=None)) as other:
        other.execute("CREATE TABLE filler (x)")  # what was free is used up
        other.execute(f"PRAGMA max_page_count={pages + 2}")
        with suppress(sqlite3.OperationalError):
            while True:
                other.execute("INSERT INTO filler VALUES (zeroblob(1000))")
    yield
    connection.execute("PRAGMA max_page_count=1000000")


Fault: TypeAlias = Callable[[World], AbstractContextManager[None]]
FAULTS: list[Fault] = [locked, full]


async def _told(world: World, words: str) -> bool:
    return any(words in text for text in await answers(world))


async def unwell(world: World) -> None:
    """Wait until the bot's health says that it is not, and why."""

    async def look() -> bool:
        reasons = (await anext(asked(world.home, "health")))["health"]["reasons"]
        return any("cannot be written" in reason for reason in reasons)

    await eventually(look)


@pytest.mark.parametrize("fault", FAULTS)
async def test_what_is_said_meanwhile_is_answered_once_when_it_is_over(
    world: World, fault: Fault
) -> None:
    long = [f"{word} {'plums ' * 600}".strip() for word in ("one", "two")]
    async with world.running() as bot:
        await bot.ask("before")
        await settled(bot)
        with fault(world):
            for text in long:
                await world.people.say(ADA, ADA, text)
            told = await eventually(partial(_told, world, "so I can write nothing down"))
            await unwell(world)
        await said(world, long[1])
        await eventually(partial(_told, world, "I can write again."))
        await settled(bot)

    assert told
    assert prompts(world) == ["before", *long]
    assert [text for text in await answers(world) if text in long] == long


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_turn_at_work_ends_as_if_nothing_had_been(world: World, fault: Fault) -> None:
    world.model.reply(Says("slowly but surely", chunks=3, stall_after=1))
    async with world.running() as bot:
        await world.people.say(ADA, ADA, "what of plums?")
        await world.model.stalled.wait()
        with fault(world):
            world.model.release.set()
            await unwell(world)
        await said(world, "slowly but surely")
        await settled(bot)

    assert prompts(world) == ["what of plums?"]


async def test_a_reminder_that_came_due_meanwhile_comes_once(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        await bot.ask("remind me in 10 minutes to call mum")
        await settled(bot)
        before = await answers(world)
        with locked(world):
            clock.jump(660)
            await unwell(world)
        await eventually(lambda: _more(world, before))
        await settled(bot)
        come = (await answers(world))[len(before) :]

    assert sum("call mum" in text.lower() for text in come) == 1
    assert prompts(world) == []


async def _more(world: World, before: list[str]) -> bool:
    return any("call mum" in text.lower() for text in (await answers(world))[len(before) :])


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_page_shows_what_there_is_and_says_what_is_wrong(
    world: World, fault: Fault
) -> None:
    text = ("plums " * 600).strip()
    async with dashboard(world) as page:
        await page.bot.ask("before")
        await settled(page.bot)
        with fault(world):
            await world.people.say(ADA, ADA, text)
            await unwell(world)
            status, health = await page.get("/healthz")
            turns, _ = await page.get("/api/turns")
        await said(world, text)

    assert (status, turns) == (503, 200)
    assert "cannot be written" in health["reasons"][0]


async def test_a_bot_that_waits_for_its_disk_can_be_stopped(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("before")
        with locked(world):
            await world.people.say(ADA, ADA, "one")
            await unwell(world)
            bot.runtime.stop()
            await bot.runtime.ended.wait()
    async with world.running():
        await said(world, "one")


async def test_a_start_waits_for_a_lock(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("before")

    async def start() -> None:
        async with world.running():
            await said(world, "one")

    async with asyncio.TaskGroup() as group:
        with locked(world):
            starting = group.create_task(start())
            await world.people.say(ADA, ADA, "one")
            done, _ = await asyncio.wait([starting], timeout=1)

    assert done == set()


@pytest.mark.parametrize("name", ["data", "data/store", "media", "logs"])
async def test_a_home_whose_folders_are_links_lives_as_any_other(
    world: World, tmp_path: Path, name: str
) -> None:
    place, disk = world.home.path / name, tmp_path / "disk"
    shutil.copytree(place, disk)
    shutil.rmtree(place)
    place.symlink_to(disk)
    for text in ("one", "two"):
        async with world.running() as bot:
            answer = await bot.ask(text)
            assert answer.text == text
    assert place.is_symlink()


async def test_a_lock_of_a_moment_is_told_to_nobody(world: World) -> None:
    async with world.running() as bot:
        with locked(world):
            pass
        await bot.ask("one")

    assert await answers(world) == ["one"]


async def test_there_is_a_copy_of_the_day_that_is_whole(world: World, clock: FastClock) -> None:
    async def copied() -> bool:
        return await asyncio.to_thread(copy_of(world.home.database).exists)

    async with world.running() as bot:
        await bot.ask("one")
        clock.jump(3_700)
        await eventually(copied)

    with closing(sqlite3.connect(copy_of(world.home.database))) as copy:
        assert copy.execute("SELECT count(*) FROM jobs").fetchone() == (1,)
    assert copy_of(world.home.database).stat().st_mode & 0o777 == 0o600


async def test_what_is_forgotten_is_in_no_copy(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("one")
        assert await asyncio.to_thread(keep_copy, world.home.database)
        await bot.app.shared.database.transact(lambda tx: tx.forget())
        await settled(bot)

        assert not copy_of(world.home.database).exists()


def _damage(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(b"\xff" * (file.stat().st_size - 8192))


def _cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("CREATE TABLE songs (name TEXT)")


def _no_database(file: Path) -> None:
    file.write_text("Dear diary, today I was no database.\n" * 400)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def started(home: Path, *before: str) -> tuple[int, str]:
    """Start a bot in a process of its own; return its exit code and what it says."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "aouo", "--home", str(home), "start"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={key: value for key, value in os.environ.items() if not key.startswith("AOUO_")},
    )
    return done.returncode, done.stderr.strip()


@pytest.fixture
async def lived(world: World) -> World:
    """A home in which something was said, and of which there is a copy."""
    async with world.running() as bot:
        await bot.ask("one")
    await asyncio.to_thread(keep_copy, world.home.database)
    return world


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        (_damage, "is damaged"),
        (_cut, "is damaged"),
        (_no_database, "is damaged"),
        (_foreign, "has the tables of another aouo"),
        (_folder, "is no file"),
    ],
)
async def test_a_start_on_what_is_no_database_ends_with_one_sentence(
    lived: World, break_it: Callable[[Path], None], why: str
) -> None:
    copy = copy_of(lived.home.database)
    break_it(lived.home.database)

    code, told = await asyncio.to_thread(started, lived.home.path)

    assert code == 3
    assert why in told.splitlines()[-1]
    assert "Traceback" not in told
    assert copy.exists()
    if why == "is damaged":
        assert copy.name in told


@pytest.mark.parametrize("name", ["data", "logs", "run", "media", "logs/aouo.log"])
async def test_a_start_where_something_else_stands_ends_with_one_sentence(
    lived: World, name: str
) -> None:
    place = lived.home.path / name
    if place.is_dir():
        shutil.rmtree(place)
        place.write_text("no folder")
    else:
        place.unlink(missing_ok=True)
        place.mkdir(parents=True)

    code, told = await asyncio.to_thread(started, lived.home.path)

    assert code == 3
    assert str(place) in told
    assert "Traceback" not in told


@pytest.mark.skipif(not HERE, reason="nothing on this machine has small file systems")
@pytest.mark.parametrize(
    ("mount", "why"),
    [(("--size", "1048576", "--tmpfs"), "disk"), (("--ro-bind",), "ead-only")],
)
async def test_a_start_on_a_disk_without_room_ends_with_one_sentence(
    lived: World, tmp_path: Path, mount: tuple[str, ...], why: str
) -> None:
    home = lived.home.path
    if mount[-1] == "--tmpfs":
        seed = tmp_path / "seed"
        shutil.copytree(home, seed, symlinks=True)
        fill = f"cp -r {seed}/. {home}; dd if=/dev/zero of={home}/filler bs=4k 2>/dev/null; "
        inside = ("bwrap", "--dev-bind", "/", "/", *mount, str(home))
        code, told = await asyncio.to_thread(
            started, home, *inside, "sh", "-c", f'{fill} exec "$@"', "sh"
        )
    else:
        inside = ("bwrap", "--dev-bind", "/", "/", *mount, str(home), str(home))
        code, told = await asyncio.to_thread(started, home, *inside)

    assert code == 3
    assert why in told.splitlines()[-1]
    assert "Traceback" not in told


async def test_a_damaged_database_ends_a_bot_with_the_sentence(lived: World) -> None:
    database = Database(lived.home.database)
    await database.open(patient=True)
    try:
        _damage(lived.home.database)
        with pytest.raises(SetupError, match="is damaged"):
            await database.transact(lambda tx: tx.all("SELECT * FROM jobs, turns, messages"))
    finally:
        await database.close()
