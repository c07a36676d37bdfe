"""Anonymous administrators and channels read why they are not answered. Source: issue 11, 24;
core.telegram.org/bots/api#message (`sender_chat`)."""

from __future__ import annotations

from typing import Any

import pytest

from aouo.emulator import HOUSEHOLD
from tests.fakes.clock import FastClock
from tests.path.looking import answers, eventually, prompts, said, settled
from tests.path.world import ADA, Running, World

US = "@aouo_try_bot"
CHANNEL = -1_000_000_007_777
HOUR_S = 3_601
ANONYMOUS = (
    "I answer people who are on my list, and who writes in the name of the group I cannot see. "
    "Switch off “Remain anonymous” among your administrator rights."
)
AS_CHANNEL = (
    "I answer people who are on my list, and this was written in the name of a channel. "
    "Write it as yourself."
)
ANONYMOUS_BOT = {"id": 1_087_968_824, "is_bot": True, "first_name": "Group"}
CHANNEL_BOT = {"id": 136_817_688, "is_bot": True, "first_name": "Channel"}
TELEGRAM = {"id": 777_000, "is_bot": False, "first_name": "Telegram"}
GROUP = {"id": HOUSEHOLD, "type": "supergroup", "title": "Household", "is_forum": True}
NEWS = {"id": CHANNEL, "type": "channel", "title": "Secret news"}


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock(speed=0.1)
    return clock


async def bring(bot: Running, number: int, text: str, **fields: Any) -> None:
    """A message in the group, as Telegram describes those of chats."""
    entities = [{"type": "mention", "offset": 0, "length": len(US)}] if US in text else []
    message = {
        "message_id": 9_000 + number,
        "date": 1_700_000_000,
        "chat": GROUP,
        "text": text,
        "entities": entities,
        **fields,
    }
    assert bot.app.shared.telegram
    await bot.app.shared.telegram._store([{"update_id": 10**6 + number, "message": message}], 0)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"from": ANONYMOUS_BOT, "sender_chat": GROUP}, ANONYMOUS),
        ({"from": CHANNEL_BOT, "sender_chat": NEWS}, AS_CHANNEL),
    ],
)
async def test_who_writes_as_a_chat_reads_once_an_hour_why_nobody_answers(
    world: World, clock: FastClock, fields: dict[str, Any], line: str
) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        for number, text in enumerate((f"{US} help me", "/help", f"{US} please")):
            await bring(bot, number, text, **fields)
        await said(world, line, HOUSEHOLD)
        await settled(bot)
        once = await answers(world, HOUSEHOLD)
        clock.jump(HOUR_S)
        await bring(bot, 7, f"{US} now?", **fields)
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 3 AND state = 'done'"))
        await settled(bot)
        twice = await answers(world, HOUSEHOLD)
        kept = str(await bot.rows("SELECT * FROM jobs WHERE id > 1"))
        raw = await bot.rows("SELECT body FROM updates WHERE update_id < 2000000")

    assert (once, twice) == ([line], [line, line])
    assert prompts(world) == ["hello"]
    assert "help" not in kept
    assert "Secret" not in kept
    assert {row["body"] for row in raw} == {""}


async def test_an_owner_who_stays_anonymous_reads_why_and_has_no_rights(world: World) -> None:
    """Their own turn goes on, and nothing of theirs is obeyed: Telegram does not say who it is."""
    world.config = {"telegram": {"streaming": "off"}}
    world.model.stall(after_chunks=0, text="the answer")
    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, f"{US} go")
        await world.model.stalled.wait()
        await bot.people.say(ADA, HOUSEHOLD, "/stop", anonymous=True)
        await said(world, ANONYMOUS, HOUSEHOLD)
        await bot.people.say(ADA, HOUSEHOLD, "/use notes", anonymous=True)
        world.model.release.set()
        await bot.people.next_message(HOUSEHOLD, contains="the answer")
        await bot.people.say(ADA, HOUSEHOLD, "/whereami")
        await bot.people.next_message(HOUSEHOLD, contains="Pack:")
        await settled(bot)
        told = await answers(world, HOUSEHOLD)

    assert told.count(ANONYMOUS) == 1
    assert not any("Stopped" in one or "answers here now" in one for one in told)


@pytest.mark.parametrize("groups", ["mention", "all"])
async def test_what_a_channel_posts_to_its_readers_is_none_of_ours(
    world: World, groups: str
) -> None:
    """Telegram puts it into the group where they comment, also where it names the bot."""
    world.config = {"telegram": {"groups": groups}}
    async with world.running() as bot:
        await bot.ask("hello")
        post = {"from": TELEGRAM, "sender_chat": NEWS, "is_automatic_forward": True}
        for number, text in enumerate(("today's news", f"{US} has news", f"/help{US}", "/help")):
            await bring(bot, 10 + number, text, **post)
        await bring(bot, 2, "a word", **{"from": ANONYMOUS_BOT, "sender_chat": GROUP})
        await bot.ask("next")
        jobs = await bot.rows("SELECT person FROM jobs")

    assert {row["person"] for row in jobs} == {str(ADA)}
    assert await answers(world, HOUSEHOLD) == []
