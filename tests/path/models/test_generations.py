"""Other settings are one swap away: new work goes by them, a turn that runs keeps its own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aouo.app.build_generation import build_generation
from aouo.config.settings import Settings
from aouo.words.conversations import refused
from tests.fakes.model_server import CallPart, Says, words_of
from tests.path.going_out.test_streaming import ALSO_SLOW, waiting_tool
from tests.path.looking import answers, said
from tests.path.memory.test_memory import pack
from tests.path.world import ADA, BEN, WAIT_S, Running, World

SECRET = "the-key-of-tomorrow-3141"
REFUSED = refused(str(ADA), asks_id=False, asked=True).text


async def swap(bot: Running, world: World, **sections: dict[str, Any]) -> None:
    """Let new work begin by the configuration with these keys changed."""
    tree = json.loads(world.home.config.read_text())
    for name, section in sections.items():
        tree[name] = tree.get(name, {}) | section
    refreshing = bot.app.refreshing
    settings = Settings.model_validate(tree)
    await refreshing.swap(lambda: build_generation(settings, bot.app.shared))


def answer(body: dict[str, Any]) -> Says:
    """The model calls a tool that waits, or says who it is and what it heard."""
    heard = words_of(body["messages"][-1])
    if heard == "take your time":
        return Says(calls=(CallPart("skill_slow", {}),))
    secret = f", {SECRET}" if body["model"] == "newer" else ""
    return Says(f"{body['model']} heard: {heard}{secret}")


async def test_memory_of_older_times_is_the_new_owners(world: World) -> None:
    """Files that name nobody lie in the folder of a shared pack until it is used."""
    folder = pack(world, "diary", "shared")
    async with world.running() as bot:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "MEMORY.md").write_text("from before\n")
        await swap(bot, world, telegram={"allowed_user_ids": [BEN], "owner_id": BEN})
        bens = bot.app.shared.stores.private("diary", f"tg_{BEN}")

    assert (bens / "MEMORY.md").read_text() == "from before\n"


async def test_new_work_goes_by_new_settings_and_a_turn_that_runs_keeps_its_own(
    world: World,
) -> None:
    begun, release = asyncio.Event(), asyncio.Event()
    world.tools = [waiting_tool(begun, release)]
    world.config = ALSO_SLOW | {"telegram": {"allowed_user_ids": [ADA], "streaming": "off"}}
    world.model.script = answer
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "take your time")
        async with asyncio.timeout(WAIT_S):
            await begun.wait()
        at_ben = {"allowed_user_ids": [BEN], "owner_id": BEN}
        service = {"fake": {"base_url": world.model.base_url, "api_key": SECRET}}
        await swap(bot, world, telegram=at_ben, provider={"model": "newer"}, providers=service)
        new = await bot.ask("hello", user=BEN)
        report = await bot.ask("/usage", user=BEN)
        await swap(bot, world, telegram=at_ben, advanced={"daily_tokens_max": 1})
        capped = await bot.ask("hello again", user=BEN)
        await bot.people.say(ADA, ADA, "am I let in?")
        await said(world, REFUSED)
        release.set()
        await said(world, "scripted heard: slow result")
        leaked = await bot.rows("SELECT 1 FROM deliveries WHERE body LIKE ?", f"%{SECRET}%")

    told = await answers(world)
    assert (new.text, leaked) == ("newer heard: hello, [redacted]", [])
    assert "Everybody, with everything:" in report.text  # the owner alone reads that
    assert capped.text.startswith("The daily limit is reached: 30 of 1 tokens.")
    assert {*told} == {REFUSED, "scripted heard: slow result"}  # a status line may come first
