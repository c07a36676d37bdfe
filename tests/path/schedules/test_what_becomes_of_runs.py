"""What becomes of a run whose person, pack or conversation is not what it was. Issue 14."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from aouo.emulator import FAMILY, HOUSEHOLD, NOTES
from aouo.facts.address import ConversationAddress
from aouo.facts.ports import iso
from aouo.store import jobs, schedules
from aouo.store.database import Tx
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Says
from tests.path.looking import answers, cut_off, eventually, said, settled
from tests.path.reloading.following import reload, save
from tests.path.schedules.scheduled import answering, made, reminder, run_states
from tests.path.world import ADA, BEN, Running, World
from tests.sampling import count

WATER = "Water the plants!"


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """The time of the world; it jumps when a test says so."""
    world.clock = clock = FastClock(speed=1)
    return clock


def stalling(world: World) -> None:
    """Runs wait for the test, people do not."""
    world.model.script = answering(
        lambda _: Says(WATER, chunks=2, stall_after=0), lambda _: "Still here."
    )


async def test_of_a_person_taken_off_the_list_no_run_goes_on_and_none_begins(
    world: World, clock: FastClock
) -> None:
    world.config = {"telegram": {"allowed_user_ids": [BEN, ADA]}}
    show = Says(calls=(CallPart("msg", {"type": "text", "text": "Look."}),))
    world.model.script = answering(
        lambda body: Says(WATER, stall_after=0) if "Look" in str(body) else show,
        lambda _: "Still here.",
    )
    async with world.running() as bot:
        await made(bot, text="* * * * *")
        clock.jump(61)
        await world.model.stalled.wait()
        await cut_off(bot)
    world.model.release.set()
    world.config = {"telegram": {"allowed_user_ids": [BEN]}}
    async with world.running() as bot:
        first = await run_states(bot)
        await bot.ask("Hello", user=BEN)
        clock.jump(125)
        await eventually(lambda: bot.rows("SELECT 1 FROM schedules WHERE paused = 'unlisted'"))
        await settled(bot)
        states, parts = await run_states(bot), await bot.rows("SELECT * FROM report_parts")

    assert first == states == ["stopped"]
    assert parts == []
    assert await answers(world) == []


async def test_of_a_person_off_the_list_nothing_is_run_now_or_switched_on(world: World) -> None:
    """It would promise what never comes. The owner reads whose it is, and what helps."""
    world.config = {"telegram": {"allowed_user_ids": [ADA, BEN], "groups": "all"}}
    async with world.running() as bot:
        await bot.ask("/cron add --name Bins every day at 9 Bins out", user=BEN, chat=HOUSEHOLD)
        save(world, telegram={"allowed_user_ids": [ADA], "groups": "all"})
        await reload(world)
        await eventually(lambda: bot.rows("SELECT 1 FROM schedules WHERE paused = 'unlisted'"))
        ran = await bot.ask("/cron run Bins", chat=HOUSEHOLD)
        on = await bot.ask("/cron on Bins", chat=HOUSEHOLD)
        listed = await bot.ask("/cron", chat=HOUSEHOLD)
        rows = await bot.rows("SELECT enabled FROM schedules")
        runs = await bot.rows("SELECT 1 FROM schedule_runs")
        save(world, telegram={"allowed_user_ids": [ADA, BEN], "groups": "all"})
        await reload(world)
        back = await bot.ask("/cron on Bins", chat=HOUSEHOLD)

    why = (
        f"“Bins” cannot run: it is for {BEN}, who is not on my list (telegram.allowed_user_ids); "
        "with them on it again it can, or make it anew for somebody else."
    )
    assert (ran.text, on.text) == (why, why)
    assert "off: the person it is for was taken off my list" in listed.text
    assert (rows, runs) == ([{"enabled": 0}], [])
    assert "every day at 09:00: on, next" in back.text


async def test_a_pack_that_is_gone_is_told_once_and_the_schedule_stays(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        await made(bot, text="* * * * *", pack="garden")
        clock.jump(61)
        await bot.people.next_message(ADA)
        await eventually(lambda: bot.rows("SELECT 1 FROM schedule_runs WHERE state = 'failed'"))
        clock.jump(61)
        await eventually(lambda: two_failed(bot))
        await settled(bot)
        rows = await bot.rows("SELECT enabled FROM schedules")

    shown = await answers(world)
    assert len(shown) == 1
    assert "garden" in shown[0]
    assert rows == [{"enabled": 1}]


async def two_failed(bot: Running) -> bool:
    return (await run_states(bot)).count("failed") == 2


async def test_a_result_comes_though_its_conversation_has_another_pack_by_then(
    world: World, clock: FastClock
) -> None:
    world.install("notes", "vocab")
    stalling(world)
    async with world.running() as bot:
        await bot.ask("/use notes")
        await made(bot, pack="notes")
        clock.jump(61)
        await world.model.stalled.wait()
        await bot.ask("/use vocab")
        world.model.release.set()
        await said(world, f"{WATER}\n\n— notes · ⏰ plants")
        await settled(bot)
        rows = await bot.rows(
            "SELECT s.session_key FROM messages AS m JOIN sessions AS s ON s.id = m.session_id "
            "WHERE m.visible AND m.text = ? AND m.session_id LIKE 'chat/%'",
            WATER,
        )

    assert rows == [{"session_key": f"tg:{ADA}:pack:notes"}]


async def test_a_run_is_on_the_record_where_the_conversation_is_not(
    world: World, clock: FastClock
) -> None:
    """And a restart in the middle erases nothing of it."""
    stalling(world)
    async with world.running() as bot:
        await bot.ask("/otr")
        await made(bot)
        clock.jump(61)
        await world.model.stalled.wait()
        await cut_off(bot)
    world.model.release.set()
    world.model.stalled.clear()
    world.model.script = answering(lambda _: WATER, lambda _: "Still here.")
    async with world.running() as bot:
        await said(world, f"{WATER}\n\n— ⏰ plants")
        await settled(bot)
        kept = await bot.rows("SELECT text FROM messages WHERE visible AND text = ?", WATER)
        turns = await bot.rows("SELECT off_record FROM turns")

    assert len(kept) == 2
    assert {row["off_record"] for row in turns} == {0}
    assert len(await answers(world)) == 2  # nothing of what it has erased


async def test_a_result_follows_a_group_that_moves_while_the_run_is_at_work(
    world: World, clock: FastClock
) -> None:
    stalling(world)
    group = ConversationAddress("tg", str(FAMILY))
    async with world.running() as bot:
        await bot.ask("@aouo_try_bot hello", chat=FAMILY)
        await made(bot, address=group, chat_kind="group", text="* * * * *")
        clock.jump(61)
        await world.model.stalled.wait()
        new = await bot.people.upgrade(ADA, FAMILY)
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE outcome = 'moved'"))
        world.model.release.set()
        shown = await bot.people.next_message(new, contains="Water")
        await settled(bot)
        rows = await bot.rows("SELECT chat_id FROM schedules")

    assert shown.text == f"{WATER}\n\n— ⏰ plants"
    assert rows == [{"chat_id": str(new)}]


async def test_a_repeating_schedule_rests_while_its_topic_is_closed(
    world: World, clock: FastClock
) -> None:
    world.model.script = answering(lambda _: WATER, lambda _: "Still here.")
    topic = ConversationAddress("tg", str(HOUSEHOLD), str(NOTES))
    async with world.running() as bot:
        await bot.ask("@aouo_try_bot hello", chat=HOUSEHOLD, thread=NOTES)
        await bot.people.topic_closed(ADA, HOUSEHOLD, NOTES)
        await eventually(lambda: bot.rows("SELECT 1 FROM conversation_routes WHERE paused <> ''"))
        await made(bot, address=topic, chat_kind="forum", text="* * * * *")
        clock.jump(61)
        await eventually(lambda: bot.rows("SELECT 1 FROM schedule_runs WHERE state = 'missed'"))
        before = await answers(world, HOUSEHOLD, NOTES)
        await bot.people.topic_closed(ADA, HOUSEHOLD, NOTES, closed=False)
        await eventually(lambda: bot.rows("SELECT 1 FROM conversation_routes WHERE paused = ''"))
        clock.jump(61)
        await said(world, f"{WATER}\n\n— ⏰ plants", HOUSEHOLD, NOTES)

    assert not any("⏰" in text for text in before)


async def test_ten_thousand_that_are_due_at_once_hold_up_no_conversation(
    world: World, clock: FastClock
) -> None:
    """They run one after the other; whoever writes meanwhile is answered at once."""
    due = count(10_000, 2_000)
    world.model.script = answering(
        lambda _: Says(WATER, chunks=2, stall_after=0), lambda _: "Still here."
    )
    with capture_logs():
        async with world.running() as bot:
            now = clock.now()
            rows = [reminder(now, prompt=f"Number {number}") for number in range(due)]

            def write(tx: Tx) -> None:
                for row in rows:
                    schedules.add(tx, row, iso(now))

            await bot.app.shared.database.transact(write)
            clock.jump(61)
            await world.model.stalled.wait()
            answer = await bot.ask("Are you there?")
            tasks = len(asyncio.all_tasks())

            async def all_filed() -> bool:
                found = await bot.rows("SELECT count(*) AS n FROM schedule_runs")
                return found == [{"n": due}]

            await eventually(all_filed)
            again = await bot.ask("And now?")
            more_tasks = len(asyncio.all_tasks()) - tasks
            await cut_off(bot)
        world.model.release.set()

    assert (answer.text, again.text) == ("Still here.", "Still here.")
    assert more_tasks < 20


async def test_one_that_was_stopped_as_the_process_ended_is_stopped_in_its_history(
    world: World, clock: FastClock
) -> None:
    stalling(world)
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        await world.model.stalled.wait()
        (job,) = await bot.rows("SELECT id FROM jobs WHERE state = 'running'")
        await cut_off(bot)
        await bot.app.shared.database.transact(lambda tx: jobs.stop(tx, job["id"]))
    world.model.release.set()
    async with world.running() as bot:
        await settled(bot)
        states = await run_states(bot)
        (row,) = await bot.rows("SELECT enabled, paused FROM schedules")

    assert states == ["stopped"]
    assert dict(row) == {"enabled": 0, "paused": "over"}
