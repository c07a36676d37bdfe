"""What people keep in a pack's database, and who sees it. Source: issue 5, "Storage"."""

from __future__ import annotations

import json
from typing import Any

from aouo.emulator import FAMILY
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
    found = [m["content"] for m in world.model.requests[-1]["messages"] if m["role"] == "tool"]
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
