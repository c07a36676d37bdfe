"""A turn that nobody watches does no harm, says what it did not do, and one tap does just that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from aouo.emulator import ChatMessage
from tests.attacks.errands import SERVER, Butler, Call, butler
from tests.attacks.test_asking import MAIL, tap
from tests.attacks.test_coming_back import KEPT, READS, TOLD
from tests.fakes.clock import FastClock
from tests.path.looking import said, settled
from tests.path.world import ADA, World

REPORT = "Two mails, one to answer."
NOT_MADE = "did not make these calls"


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.clock = clock = FastClock()
    return clock


async def by_itself(bot: Butler, clock: FastClock, calls: Sequence[Call]) -> ChatMessage:
    """Let the errand run by itself tomorrow; return its report."""
    for name, given in calls:
        bot.world.model.call(f"mcp__{SERVER}__{name}", dict(given))
    bot.world.model.say(REPORT)
    clock.jump(86_400)
    return await bot.bot.people.next_message(ADA, contains=REPORT)


async def test_what_it_was_refused_is_named_and_a_tap_makes_exactly_that_call_once(
    world: World, tmp_path: Path, clock: FastClock
) -> None:
    async with butler(world, tmp_path, TOLD) as bot:
        await bot.bot.ask('/cron add "every day at 9:00" See to my mail')
        await by_itself(bot, clock, [READS, MAIL])
        shown = await bot.bot.people.next_message(ADA, contains=NOT_MADE)
        before = await bot.carried_out(MAIL)
        await tap(bot, shown, "Make call 1")
        await said(world, "done")
        made = await bot.carried_out(MAIL)
        await tap(bot, shown, "Make call 1")
        await settled(bot.bot)
        once = await bot.carried_out(MAIL)

    assert (before, made, once) == (0, 1, 1)
    assert "1. mcp__errands__send_mail" in shown.text
    assert "ben@home.example" in shown.text


async def test_the_button_is_good_for_a_day(world: World, tmp_path: Path, clock: FastClock) -> None:
    async with butler(world, tmp_path, TOLD) as bot:
        await bot.bot.ask('/cron add "today at 23:59" See to my mail')
        await by_itself(bot, clock, [READS, MAIL])
        shown = await bot.bot.people.next_message(ADA, contains=NOT_MADE)
        clock.jump(90_000)
        await tap(bot, shown, "Make call 1")
        await settled(bot.bot)
        made = await bot.carried_out(MAIL)

    assert made == 0


async def test_a_rule_binds_where_nobody_watches(
    world: World, tmp_path: Path, clock: FastClock
) -> None:
    async with butler(world, tmp_path, TOLD) as bot:
        await bot.run("See to my mail.", [READS, MAIL], {"send_mail": "always"})
        await bot.bot.ask('/cron add "every day at 9:00" See to my mail')
        told = await by_itself(bot, clock, [READS, MAIL])
        made = await bot.carried_out(MAIL)

    assert made == 2
    assert "✓ send mail: ben@home.example" in told.text
    assert [one.text for one in told.buttons] == ["Undo …"]


async def test_what_a_fooled_turn_scheduled_comes_back_between_marks(
    world: World, tmp_path: Path, clock: FastClock
) -> None:
    """Also without another look at a stranger's words."""
    later: Call = ("cron", {"action": "create", "prompt": KEPT, "schedule": "every day at 9:00"})
    async with butler(world, tmp_path, TOLD) as bot:
        await bot.run("See to my mail.", [READS, later])
        await by_itself(bot, clock, [MAIL, ("pay", {"account": "DE1", "amount": 1})])
        requests = str(world.model.requests[-1]["messages"])
        made = await bot.carried_out(MAIL)

    assert 'untrusted source=\\"mcp:errands' in requests or 'untrusted source="mcp:err' in requests
    assert made == 0
