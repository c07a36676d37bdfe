"""The pack remind shows what the runtime says, and changes it. Source: issue 28."""

from __future__ import annotations

import pytest

from aouo.emulator import FAMILY
from tests.fakes.clock import FastClock
from tests.path.buttons.test_menus import tap
from tests.path.looking import eventually, said, settled
from tests.path.world import ADA, BEN, Running, World


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("remind", "notes")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}
    world.clock = clock = FastClock(speed=1)
    return clock


async def came(bot: Running, after: int = 0) -> None:
    """Wait for the reminder, which has buttons to answer it by."""

    async def look() -> bool:
        found = await bot.people.messages(ADA)
        labels = [button.text for one in found if one.id > after for button in one.buttons]
        return "✓ Done" in labels

    await eventually(look)
    await settled(bot)


async def test_one_that_came_is_late_until_it_is_ticked_off(world: World, clock: FastClock) -> None:
    async with world.running() as bot:
        await bot.ask("remind me in 10 minutes to look at the tea")
        assert "Look at the tea" in (await bot.ask("my reminders")).text
        clock.jump(601)
        await came(bot)
        late = await bot.ask("what is late?")
        assert "• Look at the tea" in late.text
        assert (await bot.ask("done")).text.startswith("✓ Look at the tea")
        assert "Nothing is late." in (await bot.ask("what is late?")).text
        await bot.ask("/undo")
        assert "• Look at the tea" in (await bot.ask("what is late?")).text


async def test_one_that_came_is_put_off_and_comes_again(world: World, clock: FastClock) -> None:
    async with world.running() as bot:
        await bot.ask("remind me in 10 minutes to look at the tea")
        clock.jump(601)
        await came(bot)
        put_off = await bot.ask("snooze 10 minutes")
        assert put_off.text.startswith("⏰ Look at the tea")
        assert "Nothing is late." in (await bot.ask("what is late?")).text
        clock.jump(601)
        await came(bot, after=put_off.id)


async def test_one_is_removed_by_a_word_of_it_and_brought_back(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("remind me every Monday at 9 to water the plants")
        gone = await bot.ask("cancel my plants reminder")
        assert gone.text.startswith("Removed: Water the plants")
        assert "Nothing is planned" in (await bot.ask("my reminders")).text
        await tap(bot, gone, "Undo")
        await said(world, "Put back as it was.\n\n— remind")
        assert "Water the plants" in (await bot.ask("my reminders")).text


async def test_in_a_group_the_list_is_everybodys(world: World) -> None:
    async with world.running() as bot:
        name = (await world.people.act("state"))["bot"]["username"]
        await bot.ask(f"/use@{name} remind", chat=FAMILY)
        await bot.ask(f"@{name} remind me tomorrow at 8 to buy bread", chat=FAMILY)
        seen = await bot.ask(f"@{name} my reminders", chat=FAMILY, user=BEN)
        private = await bot.ask("my reminders", user=BEN)

    assert "Buy bread" in seen.text
    assert "Nothing is planned" in private.text
