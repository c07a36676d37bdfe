"""`retention`: what came in, what was sent and what was put on it goes after its days."""

from __future__ import annotations

import pytest

from tests.fakes.clock import FastClock
from tests.path.coming_in.test_edits import offered
from tests.path.coming_in.test_reactions import kept
from tests.path.looking import answers, prompts, said, settled
from tests.path.world import ADA, Running, World

DAY_S = 86_400.0
OLD = "This button is from an earlier time and does nothing any more."


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock()
    return clock


async def updates(bot: Running) -> int:
    (row,) = await bot.rows("SELECT count(*) AS n FROM updates")
    return row["n"]


async def test_updates_are_deleted_when_they_are_old_enough(world: World, clock: FastClock) -> None:
    world.config = {"retention": {"updates_days": 2, "deliveries_days": 0}}
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
        clock.jump(DAY_S)
        await bot.app.tidying.prune()
        after_one_day = await updates(bot)
        clock.jump(1.5 * DAY_S)
        await bot.app.tidying.prune()
        after_three = await updates(bot)

    assert (after_one_day, after_three) == (1, 0)


async def test_a_message_is_answered_anew_only_while_its_edit_is_kept(
    world: World, clock: FastClock
) -> None:
    """Then the button of the offer is an old one."""
    world.config = {"retention": {"updates_days": 2, "deliveries_days": 0}}
    async with world.running() as bot:
        first = await bot.people.say(ADA, ADA, "hello")
        await said(world, "hello")
        await settled(bot)
        await bot.people.edit(ADA, ADA, first.id, "good morning")
        offer = await offered(world)
        await settled(bot)
        clock.jump(3 * DAY_S)
        await bot.app.tidying.prune()
        late = await bot.people.tap(ADA, ADA, offer.id, offer.buttons[0].data)
        await settled(bot)

    assert late == {"text": OLD, "show_alert": True}
    assert prompts(world) == ["hello"]


async def test_an_edit_of_a_message_long_past_offers_nothing(
    world: World, clock: FastClock
) -> None:
    """Which messages were asked goes with the updates."""
    world.config = {"retention": {"updates_days": 2, "deliveries_days": 0}}
    async with world.running() as bot:
        first = await bot.people.say(ADA, ADA, "hello")
        await said(world, "hello")
        await settled(bot)
        clock.jump(3 * DAY_S)
        await bot.app.tidying.prune()
        await bot.people.edit(ADA, ADA, first.id, "good morning")
        await bot.ask("good night")
        await settled(bot)

    assert await answers(world) == ["hello", "good night"]


async def test_a_reaction_that_nobody_was_told_of_goes_with_the_deliveries(
    world: World, clock: FastClock
) -> None:
    world.config = {"retention": {"updates_days": 0, "deliveries_days": 2}}
    async with world.running() as bot:
        answer = await bot.ask("Shall I bring cake?")
        await bot.people.react(ADA, ADA, answer.id, "👍")
        await kept(bot, 1)
        clock.jump(DAY_S)
        await bot.app.tidying.prune()
        after_one_day = await kept(bot, 1)
        clock.jump(1.5 * DAY_S)
        await bot.app.tidying.prune()
        after_three = await kept(bot, 1)
        await bot.ask("And tea?")

    assert ([row["emoji"] for row in after_one_day], after_three) == (["👍"], [])
    assert prompts(world)[-1] == "And tea?"


async def test_with_zero_days_all_of_it_stays(world: World, clock: FastClock) -> None:
    world.config = {"retention": {"updates_days": 0, "deliveries_days": 0}}
    async with world.running() as bot:
        first = await bot.people.say(ADA, ADA, "hello")
        answer = await said(world, "hello")
        await bot.people.react(ADA, ADA, answer.id, "👍")
        reactions = await kept(bot, 1)
        clock.jump(900 * DAY_S)
        await bot.app.tidying.prune()
        stayed = await updates(bot), await kept(bot, 1)
        await bot.people.edit(ADA, ADA, first.id, "good morning")
        await offered(world)
        await settled(bot)

    assert stayed == (2, reactions)
