"""A change that came from the journal names the words behind each line, as `/memory` does."""

from __future__ import annotations

from aouo.facts.records import Cause
from tests.fakes.clock import FastClock
from tests.path.dashboard.looking import dashboard
from tests.path.memory.test_consolidation import consolidated, edit, edits, noted_line
from tests.path.memory.test_memory import pack
from tests.path.world import ADA, World

MEMORY = f"/api/packs/diary/memory/tg_{ADA}"


async def test_a_line_from_the_journal_has_the_message_behind_it(world: World) -> None:
    world.clock = FastClock()
    pack(world, "diary", "person")
    world.config["memory"] = {"journal": True, "consolidate": {"enabled": True, "every": "24h"}}
    async with dashboard(world) as shown:
        said = await noted_line(world, shown.bot, "I have moved to Bremen", "lives in Bremen")
        guessed = await noted_line(world, shown.bot, "Rain again", "likes no rain", "inferred")
        edits(
            world, edit("add", [said], "lives in Bremen"), edit("add", [guessed], "likes no rain")
        )
        await consolidated(world, shown.bot)
        _, facts = await shown.get(MEMORY)
        (change,) = facts["changes"]
        _, told = await shown.get(f"{MEMORY}/versions/{change['id']}")

    assert change["origin"] == told["origin"] == "consolidate"
    assert told["words"] == ""
    assert told["sources"] == [
        {"line": "- lives in Bremen", "basis": "said", "words": "I have moved to Bremen"},
        {"line": "- likes no rain", "basis": "inferred", "words": "Rain again"},
    ]


async def test_a_file_that_was_emptied_in_the_chat_is_told_apart_from_an_edit(
    world: World,
) -> None:
    pack(world, "diary", "person")
    async with dashboard(world) as shown:
        keeping = shown.bot.app.shared.keeping
        _, facts = await shown.get(MEMORY)
        version = facts["files"][0]["version"]
        await shown.send("POST", f"{MEMORY}/files/USER.md", {"text": "- Ada", "version": version})
        await keeping.empty(
            "diary", f"tg_{ADA}", "user", Cause("hand", person=str(ADA)), call_id="empty"
        )
        _, facts = await shown.get(MEMORY)

    assert [(one["origin"], one["by_page"], one["bytes_after"]) for one in facts["changes"]] == [
        ("hand", False, 0),
        ("hand", True, 6),
    ]
