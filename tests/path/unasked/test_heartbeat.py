"""The heartbeat: off by default, silent where nothing is to be told, bounded. Source: issue 14."""

from __future__ import annotations

import asyncio

import pytest

from aouo.facts.address import GENERAL
from aouo.facts.people import AT_HOME
from aouo.schedules.heartbeat import _is_ok, _to_do
from aouo.store import search
from aouo.store.opening import reading
from tests.fakes.clock import FastClock
from tests.fakes.models.telling import CallPart, Fails, Says
from tests.path.dashboard.chatting import WebChat
from tests.path.dashboard.looking import dashboard
from tests.path.looking import eventually, settled
from tests.path.reloading.following import ask_for
from tests.path.world import ADA, WAIT_S, Running, World, texts

HALF_AN_HOUR_S = 30 * 60 + 1
NOTES = "# Heartbeat\n\n- Tell me when the pump is late\n"


@pytest.fixture(autouse=True)
async def beating(world: World) -> FastClock:
    """It is Monday, 12:16 UTC; the heartbeat is on, and there are notes."""
    world.config = {"cron": {"timezone": "UTC"}, "heartbeat": {"enabled": True}}
    world.home.heartbeat.write_text(NOTES)
    world.clock = clock = FastClock(speed=1)
    return clock


async def begun(bot: Running) -> str:
    """When it was due last, once it counts and Telegram's library is there."""

    async def look() -> str:
        if not await bot.people.calls("getUpdates"):
            return ""
        rows = await bot.rows("SELECT at FROM ticks WHERE name = 'heartbeat'")
        return rows[0]["at"] if rows else ""

    return await eventually(look)


async def next_tick(bot: Running, clock: FastClock, seconds: float = HALF_AN_HOUR_S) -> None:
    """Let one tick come, with all that it begins."""
    before = await begun(bot)
    clock.jump(seconds)

    async def look() -> bool:
        return await begun(bot) != before

    await eventually(look)
    await settled(bot)


async def states(bot: Running) -> list[str]:
    rows = await bot.rows("SELECT state FROM ticks WHERE name = 'heartbeat'")
    return [row["state"] for row in rows]


@pytest.mark.parametrize("owner", [[], [ADA]])
async def test_without_telegram_it_comes_to_the_page(
    world: World, beating: FastClock, owner: list[int]
) -> None:
    world.config["telegram"] = {"enabled": False, "allowed_user_ids": owner}
    world.model.say("The pump is late.")
    async with dashboard(world) as page:
        await eventually(lambda: states(page.bot))
        beating.jump(HALF_AN_HOUR_S)
        chat = WebChat(page, GENERAL)

        async def told() -> list[tuple[str, str]]:
            return await chat.texts()

        said = await eventually(told)
        await settled(page.bot)
        usage = await page.bot.rows("SELECT DISTINCT person FROM usage_events")

    assert said == [("bot", "The pump is late.\n\n— ⏰ Heartbeat")]
    assert usage == [{"person": str(ADA) if owner else AT_HOME}]


async def test_an_answer_that_all_is_well_is_sent_to_nobody(
    world: World, beating: FastClock
) -> None:
    world.model.say("**HEARTBEAT_OK**")
    async with world.running() as bot:
        await next_tick(bot, beating)

        assert await states(bot) == ["silent"]
        assert await bot.rows("SELECT id FROM deliveries") == []
    (request,) = world.model.requests
    assert "Tell me when the pump is late" in request["messages"][-1]["content"]


async def test_a_look_is_among_the_sessions_only_when_asked_for(
    world: World, beating: FastClock
) -> None:
    """Found by hand: looks filled the list, and no conversation was left in it."""
    world.model.say("Hello.")
    world.model.say("HEARTBEAT_OK")
    async with world.running() as bot:
        await bot.ask("hi")
        await next_tick(bot, beating)
    with reading(world.home.database) as tx:
        found = [
            [one.id.partition("/")[0] for one in search.stored_sessions(tx, 9, runs=runs)]
            for runs in (False, True)
        ]

    assert found == [["chat"], ["heartbeat", "chat"]]


async def test_anything_else_reaches_the_owner_and_can_be_answered(
    world: World, beating: FastClock
) -> None:
    world.model.say("The pump is late.")
    world.model.say("It is number two.")
    async with world.running() as bot:
        await begun(bot)
        beating.jump(HALF_AN_HOUR_S)
        told = await bot.people.next_message(ADA, contains="pump")
        answer = await bot.ask("Which one?")

    assert told.text == "The pump is late.\n\n— ⏰ Heartbeat"
    assert answer.text == "It is number two."
    assert "The pump is late." in str(world.model.requests[-1]["messages"])
    assert "Tell me when" not in str(world.model.requests[-1]["messages"])


async def test_the_owner_can_answer_it_with_the_pack_at_hand(
    world: World, beating: FastClock
) -> None:
    world.install("notes")
    async with world.running() as bot:
        await bot.ask("Hello")
        await begun(bot)
        world.model.say("The pump is late.")
        beating.jump(HALF_AN_HOUR_S)
        await bot.people.next_message(ADA, contains="pump")
        await bot.ask("Which one?")

    assert "The pump is late." in str(world.model.requests[-1]["messages"])


@pytest.mark.parametrize("notes", [None, "", " \n", "# Only a heading\n<!-- and\na comment -->\n"])
async def test_without_notes_no_model_is_asked(
    world: World, beating: FastClock, notes: str | None
) -> None:
    world.home.heartbeat.unlink()
    if notes is not None:
        world.home.heartbeat.write_text(notes)
    async with world.running() as bot:
        await next_tick(bot, beating)

        assert await bot.rows("SELECT id FROM jobs") == []
    assert world.model.requests == []


async def test_it_is_off_by_default(world: World, beating: FastClock) -> None:
    del world.config["heartbeat"]
    async with world.running() as bot:
        beating.jump(HALF_AN_HOUR_S)
        await bot.ask("Hello")

        assert await bot.rows("SELECT name FROM ticks WHERE name = 'heartbeat'") == []


async def test_a_tick_while_the_one_before_still_runs_is_left_out(
    world: World, beating: FastClock, capsys: pytest.CaptureFixture[str]
) -> None:
    world.config["heartbeat"] |= {"every": "1m"}
    world.model.stall()
    async with world.running() as bot:
        await begun(bot)
        beating.jump(61)
        async with asyncio.timeout(WAIT_S):
            await world.model.stalled.wait()
        before = await begun(bot)
        beating.jump(61)

        async def again() -> bool:
            return await begun(bot) != before

        await eventually(again)
        assert len(await bot.rows("SELECT id FROM jobs WHERE origin = 'heartbeat'")) == 1
        world.model.release.set()
    assert "previous tick still running" in capsys.readouterr().out


async def test_it_does_not_look_in_quiet_hours_and_does_right_after(
    world: World, beating: FastClock
) -> None:
    world.config["heartbeat"] |= {"quiet_hours": "12:30-14:00"}
    world.model.say("HEARTBEAT_OK")
    async with world.running() as bot:
        first = await begun(bot)
        beating.jump(HALF_AN_HOUR_S)  # 12:46
        beating.jump(HALF_AN_HOUR_S)  # 13:17
        await bot.app.shared.clock.sleep(0.1)
        assert await begun(bot) == first
        quiet = await ask_for(world, "status")
        beating.jump(HALF_AN_HOUR_S + 14 * 60)

        async def awake() -> bool:
            return await begun(bot) != first

        await eventually(awake)
        assert (await begun(bot))[11:16] == "14:00"
        await settled(bot)
        assert await states(bot) == ["silent"]
        awake_again = await ask_for(world, "status")
    assert quiet["heartbeat"] == "on, every 30m, but in quiet hours now"
    assert awake_again["heartbeat"] == "on, every 30m"


async def test_the_days_cap_ends_it_and_the_owner_is_told_once(
    world: World, beating: FastClock
) -> None:
    world.config["heartbeat"] |= {"daily_tokens_max": 600}
    world.model.say("HEARTBEAT_OK", usage=(500, 0, 100))
    async with world.running() as bot:
        for _ in range(3):
            await next_tick(bot, beating)

        told = texts(await bot.people.messages(ADA))
        assert len(world.model.requests) == 1
    assert [text[:43] for text in told] == ["My heartbeat has used its 600 tokens of tod"]


async def test_a_look_that_takes_more_than_is_left_ends_with_the_cap_by_its_name(
    world: World, beating: FastClock
) -> None:
    world.config["heartbeat"] |= {"daily_tokens_max": 600}
    world.model.reply(Says(calls=(CallPart("memory", {}),), usage=(500, 0, 200)))
    async with world.running() as bot:
        await begun(bot)
        beating.jump(HALF_AN_HOUR_S)
        told = await bot.people.next_message(ADA, contains="600")

    assert "the owner raises heartbeat.daily_tokens_max." in told.text


async def test_a_failure_is_told_once_however_often_it_comes_again(
    world: World, beating: FastClock
) -> None:
    world.model.refused["/chat/completions"] = Fails(401)
    async with world.running() as bot:
        for _ in range(2):
            await next_tick(bot, beating)

        assert await states(bot) == ["failed"]
        assert len(texts(await bot.people.messages(ADA))) == 1


async def test_a_restart_does_not_begin_the_interval_anew(world: World, beating: FastClock) -> None:
    world.model.say("HEARTBEAT_OK")
    async with world.running() as bot:
        first = await begun(bot)
        beating.jump(20 * 60)
    async with world.running() as bot:
        assert await begun(bot) == first
        await next_tick(bot, beating, 11 * 60)
        assert await states(bot) == ["silent"]


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        ("HEARTBEAT_OK", True),
        ("heartbeat_ok.", True),
        ("`HEARTBEAT_OK` ✅", True),
        ("HEARTBEAT\\_OK", True),
        ("  ", True),
        ("HEARTBEAT_OK, but the pump is late", False),
        ("All is well", False),
    ],
)
def test_only_the_token_alone_says_that_all_is_well(text: str, ok: bool) -> None:
    assert _is_ok(text) is ok


def test_a_line_that_only_begins_like_a_heading_is_a_note() -> None:
    assert _to_do("#1 call the plumber") == "#1 call the plumber"
