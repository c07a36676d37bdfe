"""`scripts/try --show`: a scripted model plays, through the real agent, what a model does."""

from __future__ import annotations

from aouo.emulator.show import playing
from aouo.packs.authoring import TEMPLATES_FOLDER, validate
from tests.path.buttons.test_menus import tap
from tests.path.looking import settled
from tests.path.world import ADA, World


async def test_a_minute_without_a_key_shows_all_of_it(world: World) -> None:
    (world.home.packs / "show").symlink_to(TEMPLATES_FOLDER / "show")
    async with playing() as served:
        world.config = {**served, "security": {"fence_mode": "ask"}}
        async with world.running() as bot:
            first = await bot.ask("hi")
            await bot.ask("go on")
            await tap(bot, await bot.ask("and then"), "Tea")
            await bot.people.next_message(ADA, contains="then I want something")
            await tap(bot, await bot.ask("more"), "Allow once")
            await bot.people.next_message(ADA, contains="then I make a file")
            await settled(bot)
            file = await bot.ask("the file")
            await bot.people.next_message(ADA, contains="That was all")
            await settled(bot)
            rows = await bot.rows("SELECT tool FROM audit WHERE stage = 'EXECUTED' ORDER BY id")
            messages = await bot.people.messages(ADA)

    assert "scripted model" in first.text
    assert "document" in file.raw
    assert [row["tool"] for row in rows] == [
        *("persist", "clarify", "read_file", "write_file", "msg"),
    ]
    assert messages[-1].text.startswith("That was all.")


def test_its_pack_is_sound() -> None:
    assert validate(TEMPLATES_FOLDER / "show") == ()
