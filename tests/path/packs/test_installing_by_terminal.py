"""Packs are changed from a terminal while their bot runs: at once, and nothing restarts.

Source: contract, "Command line"; issue 5, "Hot: no restart".
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile

from aouo.app.local.conversing import take_up_edits
from tests.path.packs.test_installing import SCHEMA, save, shopping
from tests.path.world import ROOT, WAIT_S, Running, World
from tests.verb_process import begin


@asynccontextmanager
async def served(world: World) -> AsyncGenerator[Running]:
    """As `aouo start` does: the home is locked while the bot runs."""
    with world.home.lock():
        async with world.running() as bot:
            yield bot


async def aouo(world: World, *words: str | Path) -> tuple[int, str, str]:
    """Run a verb as a process of its own: its exit code, stdout and stderr."""
    with TemporaryFile() as out, TemporaryFile() as err:
        process = begin(
            (f"--home={world.home.path}", *map(str, words)),
            stdout=out.fileno(),
            stderr=err.fileno(),
        )
        try:
            await asyncio.to_thread(process.join, 3 * WAIT_S)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        printed = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    assert process.exitcode is not None
    return process.exitcode, *printed


async def test_a_pack_is_installed_upgraded_and_removed_while_the_bot_runs(
    world: World, tmp_path: Path
) -> None:
    async with served(world) as bot:
        unanswered = await aouo(world, "pack", "install", shopping(tmp_path / "one"))
        left = list(world.home.packs.iterdir())
        done = await aouo(world, "pack", "install", tmp_path / "one", "--yes")
        told = await bot.ask("/pack")
        save(bot, "milk")

        other = shopping(tmp_path / "two", "1.1.0", "[msg, persist, web]")
        asked = await aouo(world, "pack", "upgrade", "shopping", other, "--json")
        wider = await aouo(world, "pack", "upgrade", "shopping", other, "--json", "--yes")
        same = await aouo(world, "pack", "upgrade", "shopping")
        broken = shopping(tmp_path / "three", "1.2.0", "[msg, ")
        refused = await aouo(world, "pack", "upgrade", "shopping", broken, "--yes")
        version = bot.app.generations.library.packs["shopping"].manifest.version
        gone = await aouo(world, "pack", "uninstall", "shopping", "--purge", "--yes")
        after = bot.app.generations.library.names
        unknown = await aouo(world, "pack", "uninstall", "shopping", "--yes")

    assert unanswered[0] == 2
    assert "say it with --yes" in unanswered[2]
    assert left == []
    assert (done[0], done[1].splitlines()[-1]) == (0, "shopping is installed, version 1.0.0.")
    assert [button.text for button in told.buttons] == ["Shopping"]
    assert (asked[0], json.loads(asked[1])["done"]) == (1, False)
    assert (wider[0], json.loads(wider[1])["done"]) == (0, True)
    assert same[:2] == (0, "shopping 1.1.0 is installed already; there is nothing to do.\n")
    assert (refused[0], "pack.yml" in refused[2], version) == (3, True, "1.1.0")
    assert (gone[0], after) == (0, ())
    assert list(world.home.store.glob("shopping*")) == []
    assert unknown[0] == 3


async def test_a_running_bot_takes_a_linked_pack_at_once_and_its_edits_when_it_is_told(
    world: World, tmp_path: Path
) -> None:
    folder = shopping(tmp_path / "shopping")
    manifest = (folder / "pack.yml").read_text()
    async with served(world) as bot:
        linked = await aouo(world, "pack", "link", folder)
        told = await bot.ask("/list")
        (folder / "pack.yml").write_text(manifest.replace("1.0.0", "1.1.0"))
        edited = await aouo(world, "reload")
        version = bot.app.generations.library.packs["shopping"].manifest.version
        (folder / "pack.yml").write_text("name: shopping\nversion: [\n")
        broken = await aouo(world, "reload")
        goes_on = await bot.ask("/list")
        status = await aouo(world, "status")
        (folder / "pack.yml").write_text(manifest.replace("1.0.0", "1.2.0"))
        mended = await aouo(world, "reload", "--json")

    assert linked[0] == 0
    assert linked[1].endswith("The running bot has it.\n")
    assert told.text == goes_on.text
    assert edited[0] == 0
    assert edited[1] == "config.json was in force already.\nReloaded: shopping.\n"
    assert version == "1.1.0"
    assert broken[0] == 1
    assert "shopping does not load (goes on as it was): pack.yml:" in broken[2]
    assert "broken" in status[1]
    nothing = {"changed": [], "after_restart": [], "problems": []}
    assert json.loads(mended[1]) == {
        "packs": ["shopping"],
        "changed": ["shopping"],
        "broken": {},
        "config": nothing,
    }


async def test_what_changed_in_the_folder_while_the_bot_runs_is_told_where_one_looks(
    world: World, tmp_path: Path
) -> None:
    world.install("notes")
    linked = shopping(tmp_path / "shopping")
    (world.home.packs / "shopping").symlink_to(linked)
    async with served(world):
        quiet = await aouo(world, "pack", "list")
        shutil.copytree(ROOT / "packs" / "vocab", world.home.packs / "vocab")
        (linked / "rules-additions.md").write_text("Speak of the edit.")
        (world.home.packs / "notes").unlink()
        listed = await aouo(world, "pack", "list")
        facts = json.loads((await aouo(world, "status", "--json"))[1])
        status = await aouo(world, "status")
        doctor = await aouo(world, "doctor", "--fast")
        await aouo(world, "reload")
        after = await aouo(world, "pack", "list", "--json")

    assert "aouo reload" not in quiet[1]
    for said in (listed[1], status[1], doctor[1]):
        assert re.search(r"vocab\W+.*in the folder, not loaded yet", said), said
        assert "Run `aouo reload`." in said
    assert facts["unread_packs"] == {
        "notes": "not in the folder any more; the bot goes on with it",
        "shopping": "changed in the folder; the bot goes on with what it read before",
        "vocab": "in the folder, not loaded yet",
    }
    assert json.loads(after[1])["unread"] == {}


async def test_a_folder_whose_name_is_no_text_keeps_no_verb_from_answering(world: World) -> None:
    folder = world.home.packs / os.fsdecode(b"b\xff")
    async with served(world):
        folder.mkdir()
        (folder / "pack.yml").write_text("name: zz\n")
        code, out, _ = await aouo(world, "reload")
        status = await aouo(world, "status")

    assert (code, status[0]) == (1, 0)
    assert "No pack has changed." in out


async def test_reload_without_a_bot_says_so(world: World) -> None:
    code, _, err = await aouo(world, "reload")

    assert (code, err) == (
        1,
        f"aouo is not running at {world.home.path}. Start it with `aouo start`.\n",
    )


async def test_a_verb_that_works_on_the_home_keeps_another_one_out(world: World) -> None:
    with world.home.lock():
        code, _, err = await aouo(world, "pack", "install", "notes", "--yes")

    assert code == 1
    assert "holds" in err
    assert "Try again in a moment." in err


# Edits of a pack that is being written (`aouo dev`)


class Ticks:
    """A clock that goes on by one look when it is told."""

    def __init__(self) -> None:
        self._tick = asyncio.Event()
        self.asleep = asyncio.Event()

    def monotonic_s(self) -> float:
        return 0.0

    def now(self) -> datetime:
        return datetime(2026, 3, 2, 12, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        del seconds
        self.asleep.set()
        await self._tick.wait()
        self._tick.clear()

    async def look(self) -> None:
        """Let one look happen, and wait until it is over."""
        async with asyncio.timeout(WAIT_S):
            await self.asleep.wait()
            self.asleep.clear()
            self._tick.set()
            await self.asleep.wait()


async def test_edits_count_within_a_look_and_what_does_not_load_goes_on_as_it_was(
    world: World, tmp_path: Path
) -> None:
    folder = shopping(tmp_path / "shopping")
    manifest, told, clock = (folder / "pack.yml").read_text(), list[str](), Ticks()
    (world.home.packs / "shopping").symlink_to(folder)
    async with world.running() as bot, asyncio.TaskGroup() as group:
        save(bot, "milk")
        watching = group.create_task(
            take_up_edits(
                [folder],
                clock=clock,
                check=bot.app.packs.stores.check,
                refresh=bot.app.packs.refresh,
                tell=told.append,
            )
        )
        await clock.look()
        (folder / "rules-additions.md").write_text("Speak of the edit.")
        await clock.look()
        await bot.ask("hello")
        (folder / "pack.yml").write_text("name: shopping\nversion: [\n")
        await clock.look()
        await clock.look()
        await bot.ask("hello again")
        (folder / "pack.yml").write_text(manifest.replace("1.0.0", "1.1.0"))
        (folder / "schema.sql").write_text(SCHEMA.replace("name", "title"))
        await clock.look()
        (folder / "schema.sql").write_text(SCHEMA)
        await clock.look()
        watching.cancel()

    assert told[0] == "reloaded shopping 1.0.0"
    assert told[1].startswith("shopping goes on as it was: pack.yml:")
    assert told[2].startswith("shopping goes on as it was: The database of shopping")
    assert "migrations/0001_" in told[2]
    assert told[3:] == ["reloaded shopping 1.1.0"]
    systems = [str(body["messages"][0]["content"]) for body in world.model.requests]
    assert len(systems) == 2
    assert all("Speak of the edit." in system for system in systems)
