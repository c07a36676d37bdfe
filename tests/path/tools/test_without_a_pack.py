"""What is changed where no pack answers can be put back as well. Source: issue 31."""

from __future__ import annotations

from tests.fakes.model_server import CallPart
from tests.path.looking import said, settled
from tests.path.world import ADA, World


async def test_memory_without_a_pack_is_put_back(world: World) -> None:
    note = {"target": "memory", "action": "append", "content": "Likes figs."}
    world.model.calls(CallPart("memory", note))
    world.model.say("There.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "keep it")
        await said(world, "There.")
        await settled(bot)
        kept = await bot.rows("SELECT state FROM memory_versions")
        back = await bot.ask("/undo")
        after = await bot.rows("SELECT state FROM memory_versions ORDER BY id")

    assert [row["state"] for row in kept] == ["done"]
    assert back.text == "Put back as it was. It had been: noted: Likes figs."
    assert [row["state"] for row in after] == ["undone", "done"]
