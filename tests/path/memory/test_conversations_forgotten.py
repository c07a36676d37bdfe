"""`retention.messages_days`: what was said long ago goes, whole turns at a time. Issue 11, 29."""

from __future__ import annotations

from tests.fakes.clock import FastClock
from tests.path.looking import prompts, settled
from tests.path.memory.test_compaction import PROVIDER, Model, fill, say
from tests.path.world import World

DAY_S = 86_400.0


def stored(world: World, words: str) -> bool:
    return any(words.encode() in file.read_bytes() for file in world.home.data.rglob("aouo.db*"))


async def test_old_turns_lose_their_words_and_newer_ones_keep_theirs(world: World) -> None:
    world.install("notes")
    clock = world.clock = FastClock()
    world.config = {"retention": {"messages_days": 7, "updates_days": 1}}
    async with world.running() as bot:
        world.model.call("persist", {"action": "save", "data": {"text": "pelican"}})
        world.model.say("Kept, said the heron.")
        await bot.ask("the elephant was here")
        await bot.ask("so was the rhino")
        await settled(bot)
        clock.jump(6 * DAY_S)
        await bot.ask("now the zebra")
        await settled(bot)
        await bot.app.tidying.prune()
        kept = [word for word in ("elephant", "heron", "zebra") if stored(world, word)]
        clock.jump(2 * DAY_S)
        await bot.app.tidying.prune()
        left = [
            word
            for word in ("elephant", "heron", "pelican", "rhino", "zebra")
            if stored(world, word)
        ]
        turns = await bot.rows("SELECT status FROM turns")
        await bot.ask("and again")
        again = world.model.requests[-1]["messages"]
        found = await bot.ask("/sessions")

    assert kept == ["elephant", "heron", "zebra"]
    assert left == ["zebra"]
    assert [row["status"] for row in turns] == ["ack"] * 3
    assert "zebra" in str(again)
    assert "elephant" not in str(again)
    assert "Earlier sessions here" in found.text
    assert prompts(world)[-1] == "and again"


async def test_a_summary_goes_with_the_words_it_stood_for_though_newer_ones_stay(
    world: World,
) -> None:
    world.install("notes")
    clock = world.clock = FastClock()
    world.model.script = model = Model()
    world.config = {
        "retention": {"messages_days": 7},
        "advanced": {"context_window": 5600},
        "provider": PROVIDER,
    }
    async with world.running() as bot:
        await fill(world, bot, model, 5)
        ((first,),) = [row.values() for row in await bot.rows("SELECT id FROM summaries")]
        kept = list[bool]()
        for days in (6, 2):
            clock.jump(days * DAY_S)
            await say(world, bot, model, "zebra")
            await bot.app.tidying.prune()
            kept.append(bool(await bot.rows("SELECT 1 FROM summaries WHERE id = ?", first)))

    assert kept == [True, False]


async def test_nothing_goes_by_default_nor_what_is_not_over(world: World) -> None:
    world.install("notes")
    clock = world.clock = FastClock()
    async with world.running() as bot:
        await bot.ask("the elephant was here")
        await settled(bot)
        clock.jump(900 * DAY_S)
        await bot.app.tidying.prune()

        assert stored(world, "elephant")
