"""What people keep in a pack's database, and who sees it. Source: issue 5, "Storage"."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from aouo.cli.main import aouo
from aouo.emulator import FAMILY
from tests.fakes.model_server import words_of
from tests.path.world import ADA, BEN, World

PACK = """\
name: lab
version: 1.0.0
display_name: Lab
schema: {owned_tables: [words], scope: person}
permissions: {tools: [core, db]}
"""
SCHEMA = "CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY, meaning TEXT NOT NULL);\n"


def lab(world: World, *, manifest: str = PACK, schema: str = SCHEMA) -> World:
    folder = world.home.packs / "lab"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pack.yml").write_text(manifest)
    (folder / "schema.sql").write_text(schema)
    return world


def results(world: World) -> list[Any]:
    found = [words_of(m) for m in world.model.requests[-1]["messages"] if m["role"] == "tool"]
    return [json.loads(text) if text.startswith("{") else text for text in found]


async def test_db_shows_the_schema_and_reads_rows_and_changes_nothing(world: World) -> None:
    lab(world)
    keep = {"action": "save", "data": {"word": "Baum", "meaning": "tree"}}
    world.model.call("persist", keep)
    world.model.call("db", {})
    world.model.call("db", {"sql": "SELECT meaning FROM words WHERE word = ?", "params": ["Baum"]})
    world.model.call("db", {"sql": "DELETE FROM words"})
    world.model.say("Done.")
    async with world.running() as bot:
        assert (await bot.ask("look around")).text == "Done."

    _, schema, found, refused = results(world)
    made = "CREATE TABLE words (word TEXT PRIMARY KEY, meaning TEXT NOT NULL)"
    assert schema == {"schema": [made], "rows": {"words": 1}}
    assert found == {"rows": [{"meaning": "tree"}], "count": 1}
    assert "only SELECT can be used here" in refused


async def test_each_person_and_each_group_keeps_rows_of_their_own(world: World) -> None:
    """Isolation: memory and data belong to the person, in groups to the conversation."""
    lab(world)
    for word in ("Ada", "Ben", "Group"):
        world.model.call("persist", {"action": "save", "data": {"word": word, "meaning": "x"}})
        world.model.call("db", {"sql": "SELECT word FROM words"})
        world.model.say(f"Kept {word}.")
    async with world.running() as bot:
        await bot.ask("keep it", user=ADA)
        ada = results(world)
        await bot.ask("keep it", user=BEN)
        ben = results(world)
        await bot.ask("@aouo_try_bot keep it", user=ADA, chat=FAMILY)
        group = results(world)

    assert [found[-1]["rows"] for found in (ada, ben, group)] == [
        [{"word": "Ada"}],
        [{"word": "Ben"}],
        [{"word": "Group"}],
    ]
    files = sorted(file.name for file in (world.home.store / "lab").glob("*.db"))
    assert len(files) == 3


async def test_a_pack_that_was_edited_keeps_its_rows_and_a_wrong_edit_is_told(
    world: World,
) -> None:
    """Additive changes come by themselves; others wait for a migration, and nothing is lost."""
    lab(world)
    keep = {"action": "save", "data": {"word": "Baum", "meaning": "tree"}}
    world.model.call("persist", keep)
    world.model.say("Kept.")
    async with world.running() as bot:
        await bot.ask("Baum is a tree")

    lab(world, schema=SCHEMA.replace("NOT NULL", "NOT NULL, level INTEGER NOT NULL DEFAULT 0"))
    world.model.call("db", {"sql": "SELECT * FROM words"})
    world.model.say("One word.")
    async with world.running() as bot:
        await bot.ask("what do I have?")
    assert results(world)[-1]["rows"] == [{"word": "Baum", "meaning": "tree", "level": 0}]
    (backup,) = (world.home.backups / "lab").glob("*.db")
    assert backup.stat().st_mode & 0o777 == 0o600

    renamed = "CREATE TABLE IF NOT EXISTS words (term TEXT PRIMARY KEY, meaning TEXT NOT NULL);\n"
    lab(world, schema=renamed)
    world.model.call("persist", {"action": "recent"})
    world.model.say("The pack has to be mended.")
    async with world.running() as bot:
        await bot.ask("and now?")
    told = results(world)[-1]
    assert "the column words.word is gone" in told
    assert "whoever runs this bot has to mend the pack; their rows are safe" in told

    migrations = world.home.packs / "lab" / "migrations"
    migrations.mkdir()
    (migrations / "0001_term.sql").write_text(
        "ALTER TABLE words RENAME COLUMN word TO term; ALTER TABLE words DROP COLUMN level;"
    )
    world.model.call("persist", {"action": "recent"})
    world.model.say("There it is.")
    async with world.running() as bot:
        await bot.ask("and now?")
    assert results(world)[-1]["rows"] == [{"term": "Baum", "meaning": "tree"}]


async def doctor(world: World) -> list[str]:
    """What `aouo doctor` warns of about the pack."""
    arguments = ["--home", str(world.home.path), "doctor", "--fast", "--json"]
    done = await asyncio.to_thread(CliRunner().invoke, aouo, arguments)
    checks = json.loads(done.output)["checks"]
    return [check["detail"] for check in checks if check["name"] == "pack lab"]


@pytest.mark.parametrize("scope", ["person", "shared"])
async def test_rows_that_another_scope_leaves_unseen_are_told_and_come_back(
    world: World, scope: str
) -> None:
    """They stay where they are; log and doctor name the place until they are seen again."""
    other = "shared" if scope == "person" else "person"
    first, second = (PACK.replace("scope: person", f"scope: {name}") for name in (scope, other))
    read = {"sql": "SELECT word FROM words"}
    world.model.call("persist", {"action": "save", "data": {"word": "Baum", "meaning": "tree"}})
    for text in ("Kept.", "None.", "There."):
        world.model.call("db", read)
        world.model.say(text)
    told: list[list[str]] = []
    found: list[Any] = []
    for manifest in (first, second, first):
        with capture_logs() as logs:
            async with lab(world, manifest=manifest).running() as bot:
                await bot.ask("look")
        told.append([line["problem"] for line in logs if line["event"] == "pack_warning"])
        found.append(results(world)[-1]["rows"])
        assert await doctor(world) == told[-1]

    place = world.home.pack_database("lab") if scope == "shared" else world.home.store / "lab"
    assert found == [[{"word": "Baum"}], [], [{"word": "Baum"}]]
    assert (told[0], told[2]) == ([], [])
    (warning,) = told[1]
    assert warning.startswith("pack.yml: schema.scope: rows that ")
    assert f"are not seen any more; they stay in {place} until" in warning
    assert f"scope: {scope} shows them again" in warning


async def test_of_a_misspelt_action_only_the_action_is_said_to_be_wrong(world: World) -> None:
    """The columns beside it are as they should be."""
    lab(world)
    world.model.call("persist", {"action": "Save", "word": "Baum", "meaning": "tree"})
    world.model.say("Done.")
    async with world.running() as bot:
        await bot.ask("keep it")

    (told,) = results(world)
    assert told.startswith("Wrong arguments for persist: action: Input should be 'save'")
    assert "word" not in told
