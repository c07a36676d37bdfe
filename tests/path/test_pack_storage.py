"""What people keep in a pack's database, and who sees it. Source: issue 5, "Storage"."""

from __future__ import annotations

import json
from typing import Any

from tests.path.world import World

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
    assert schema == {
        "schema": [SCHEMA.strip("; \n").replace("IF NOT EXISTS ", "")],
        "rows": {"words": 1},
    }
    assert found == {"rows": [{"meaning": "tree"}], "count": 1}
    assert "only SELECT can be used here" in refused
