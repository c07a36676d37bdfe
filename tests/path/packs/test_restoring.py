"""What a pack kept is put back while its bot runs, and a kill leaves the old data or the new.

Source: issue 5, "Lifecycle" and "Hot: no restart".
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from aouo.installer.packs import known
from aouo.packs.data.storage import PackStore
from aouo.packs.load import load_pack
from aouo.packs.shipping.export import FACTS, Known, export_data
from aouo.plumbing.client import NoAnswer
from aouo.store.opening import reading
from tests.path.killing import Run, killed_at
from tests.path.lives import Place
from tests.path.packs.test_installing import SCHEMA, save, shopping
from tests.path.packs.test_installing_by_terminal import aouo, served
from tests.path.packs.test_installing_killed import OWNERS, asked, furnished, listens, shelf
from tests.path.world import World
from tests.sampling import places

__all__ = ["shelf"]  # the fixture
PLACES = 9
"""How many a restore goes through."""


def names(file: Path, column: str = "name") -> list[str]:
    with closing(sqlite3.connect(file)) as opened:
        return [row[0] for row in opened.execute(f"SELECT {column} FROM items ORDER BY id")]


async def test_a_backup_is_put_back_while_the_bot_runs_which_goes_on_with_it(
    world: World, tmp_path: Path
) -> None:
    file, backup = world.home.pack_database("shopping"), tmp_path / "b.backup.aouo"
    async with served(world) as bot:
        await aouo(world, "pack", "install", shopping(tmp_path / "one"), "--yes")
        save(bot, "milk")
        await aouo(world, "pack", "backup", "shopping", "-o", backup)
        save(bot, "soap")
        unasked = await aouo(world, "pack", "restore", backup)
        before = names(file)
        done = await aouo(world, "pack", "restore", backup, "--yes", "--json")
        after = names(file)
        save(bot, "apples")

    assert (unasked[0], before) == (1, ["milk", "soap"])
    assert done[0] == 0
    assert after == ["milk"]
    assert names(file) == ["milk", "apples"]
    assert json.loads(done[1])["before"].endswith("-before-restore.backup.aouo")
    assert list(world.home.data.glob(".*")) == []


async def test_what_a_newer_version_kept_is_not_put_back_where_it_cannot_be_used(
    world: World, tmp_path: Path
) -> None:
    newer = shopping(tmp_path / "two", "2.0.0")
    (newer / "schema.sql").write_text(SCHEMA.replace("name", "title"))
    file, backup = world.home.pack_database("shopping"), tmp_path / "b.backup.aouo"
    async with served(world) as bot:
        await aouo(world, "pack", "install", newer, "--yes")
        save(bot, "milk", "title")
        await aouo(world, "pack", "backup", "shopping", "-o", backup)
        await aouo(world, "pack", "uninstall", "shopping", "--purge", "--yes")
        await aouo(world, "pack", "install", shopping(tmp_path / "one"), "--yes")
        save(bot, "soap")
        code, _, told = await aouo(world, "pack", "restore", backup, "--yes")

    assert "Another version: 2.0.0 kept this, 1.0.0 is installed." in told
    assert code == 3
    assert "shopping 1.0.0 cannot use what 2.0.0 kept" in told
    assert "Install 2.0.0 or a later one first. Nothing has changed." in told
    assert names(file) == ["soap"]


def altered(backup: Path, target: Path, **facts: object) -> Path:
    """The same backup, but it says something else of itself."""
    with zipfile.ZipFile(backup) as source, zipfile.ZipFile(target, "w") as out:
        for name in source.namelist():
            content = source.read(name)
            if name == FACTS:
                content = json.dumps({**json.loads(content), **facts}).encode()
            out.writestr(name, content)
    return target


async def test_a_hostile_backup_changes_nothing_and_keeps_no_bot_from_starting(
    world: World, tmp_path: Path
) -> None:
    file, backup = world.home.pack_database("shopping"), tmp_path / "b.backup.aouo"
    met = {"owner": "tg_1", "state": "done", "turns": 1, "offered": 1, "summary": ""}
    met |= {"began_at": "", "ended_at": ""}
    hostile = {
        "onboarding.0.sessions": {"onboarding": [{**met, "sessions": 10**30}]},
        "version": {"version": "1\x1b[2K"},
        "pack": {"pack": "shopping\nx"},
    }
    async with served(world) as bot:
        await aouo(world, "pack", "install", shopping(tmp_path / "one"), "--yes")
        save(bot, "milk")
        await aouo(world, "pack", "backup", "shopping", "-o", backup)
        save(bot, "soap")
        refused = {
            where: await aouo(
                world, "pack", "restore", altered(backup, tmp_path / f"{n}.aouo", **facts), "--yes"
            )
            for n, (where, facts) in enumerate(hostile.items())
        }
    async with served(world) as bot:
        save(bot, "apples")

    for where, (code, _, told) in refused.items():
        assert (code, "\x1b" in told) == (3, False), told
        assert f"cannot be read: {where}: " in told
    assert names(file) == ["milk", "soap", "apples"]
    assert list(world.home.data.glob(".*")) == []


async def test_schedules_that_are_none_stay_as_they_were_and_the_rest_comes_back(
    world: World, tmp_path: Path
) -> None:
    backup = tmp_path / "b.backup.aouo"
    due = dict.fromkeys(("key", "person", "skill", "prompt", "zone", "paused"), "")
    due |= {"platform": "tg", "origin": "person", "chat_kind": "private", "chat_id": "1"}
    due |= {"text": "every 1h", "since": "2026-03-02T00:00:00+00:00"}
    async with served(world) as bot:
        await aouo(world, "pack", "install", shopping(tmp_path / "one"), "--yes")
        save(bot, "milk")
        await aouo(world, "pack", "backup", "shopping", "-o", backup)
        odd = altered(backup, tmp_path / "1.aouo", schedules=[{**due, "thread_id": {"a": 1}}])
        early = {**due, "thread_id": "", "since": "0001-01-01T00:00:00+14:00"}
        never = altered(backup, tmp_path / "2.aouo", schedules=[early])
        done = [await aouo(world, "pack", "restore", file, "--yes") for file in (odd, never)]

    assert [code for code, _, _ in done] == [0, 0]
    assert "a schedule of the backup is not one of ours" in done[0][2]
    assert "a schedule of the backup is not one of ours" in done[1][2]


async def test_rows_of_another_scope_are_told_before_they_are_put_back(
    world: World, tmp_path: Path
) -> None:
    apart = shopping(tmp_path / "two")
    manifest = (apart / "pack.yml").read_text()
    (apart / "pack.yml").write_text(manifest.replace("{owned", "{scope: person, owned"))
    backup = tmp_path / "b.backup.aouo"
    async with served(world) as bot:
        await aouo(world, "pack", "install", apart, "--yes")
        store = bot.app.packs.stores.open("shopping", "tg_1")
        store.run("save", {"name": "milk"}, call_id="1", session_key="", now="")
        await aouo(world, "pack", "backup", "shopping", "-o", backup)
        same = await aouo(world, "pack", "restore", backup, "--yes")
        await aouo(world, "pack", "uninstall", "shopping", "--purge", "--yes")
        await aouo(world, "pack", "install", shopping(tmp_path / "one"), "--yes")
        unasked = await aouo(world, "pack", "restore", backup)

    assert "It holds rows that" not in same[2]
    assert "It holds rows that each person kept apart." in unasked[2]
    assert "1.0.0 keeps rows for everybody together, and will not see those" in unasked[2]


# Killed


def keep(here: Place, shelf: Path, word: str) -> None:
    """All that the pack keeps says this word: rows, files, what the runtime knows."""
    pack = load_pack(shelf / "one").pack
    assert pack is not None
    for owner in OWNERS:
        file = here.home.pack_database("shopping", owner)
        with closing(PackStore(file, pack.manifest, pack.schema_sql)) as store:
            change = {"where": {"id": 1}, "data": {"name": word}}
            store.run("update", change, call_id=word, session_key="", now="")
        folder = here.home.pack_folder("shopping", owner)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "USER.md").write_text(word)
    with closing(sqlite3.connect(here.home.database)) as opened:
        opened.execute(
            "INSERT INTO onboarding (pack, owner, state, summary, began_at) "
            "VALUES ('shopping', ?, 'done', ?, '') "
            "ON CONFLICT (pack, owner) DO UPDATE SET summary = excluded.summary",
            (OWNERS[0], word),
        )
        opened.commit()


def kept(here: Place) -> list[str]:
    """What each part says."""
    home = here.home
    return [
        *(names(home.pack_database("shopping", owner))[0] for owner in OWNERS),
        *((home.pack_folder("shopping", owner) / "USER.md").read_text() for owner in OWNERS),
        *(row["summary"] for row in here.rows("SELECT summary FROM onboarding")),
    ]


async def _restored(folder: Path, shelf: Path, kill_at: int, port: int) -> Run:
    async with furnished(folder, shelf, port) as here:
        keep(here, shelf, "old")
        backup = folder / "b.backup.aouo"
        with reading(here.home.database) as tx:
            facts = known(tx, "shopping")
        now = datetime(2026, 3, 2, tzinfo=UTC)
        export_data(here.home, "shopping", backup, version="1.0.0", now=now, known=facts)
        keep(here, shelf, "new")
        async with here.alive(kill_at=kill_at, among="pack's data") as life:
            await listens(here)
            with suppress(NoAnswer):
                await asked(here.home, "pack_restore", pack="shopping", file=str(backup))
            life.stop()
            await life.gone.wait()
        meant = (here.home.data / ".restoring-shopping").exists()
        async with here.alive() as life:
            await listens(here)
            life.stop()
            await life.gone.wait()
        found = kept(here)
        wanted = "new" if here.kills and "before a pack's data is to be" in here.kills[0] else "old"
        problems = [f"kept is {found}"] if found != [wanted] * 5 else []
        if left := list(here.home.data.glob(".*")):
            problems.append(f"left is {left}")
        if problems:
            problems.append(f"meant: {meant}; {here.stderr[-3000:]}")
        return Run((kill_at,), tuple(here.kills), tuple(problems))


async def test_killed_anywhere_in_a_restore_all_is_old_or_all_is_new(
    tmp_path: Path, shelf: Path, runner_port: int
) -> None:
    reached: list[str] = []

    async def killed(number: int) -> Run:
        run = await _restored(tmp_path / str(number), shelf, number, runner_port)
        reached.extend(run.kills)
        return run

    numbers = places(range(1, PLACES + 2), 2)
    await killed_at(numbers, killed)

    assert len(reached) == sum(number <= PLACES for number in numbers)


async def test_a_backup_that_says_nothing_of_first_conversations_leaves_them(
    tmp_path: Path, shelf: Path, runner_port: int
) -> None:
    """As one does that an older aouo made."""
    async with furnished(tmp_path, shelf, runner_port) as here:
        keep(here, shelf, "old")
        backup = tmp_path / "b.backup.aouo"
        now = datetime(2026, 3, 2, tzinfo=UTC)
        export_data(
            here.home, "shopping", backup, version="1.0.0", now=now, known=Known(schedules=[])
        )
        keep(here, shelf, "new")
        async with here.alive() as life:
            await listens(here)
            await asked(here.home, "pack_restore", pack="shopping", file=str(backup))
            life.stop()
            await life.gone.wait()

        assert kept(here) == ["old", "old", "old", "old", "new"]
