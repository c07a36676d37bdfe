"""Whoever is not on the list any more is answered nothing that was begun before. Issue 11, 25."""

from __future__ import annotations

import errno
import json

import pytest
from structlog.testing import capture_logs

from aouo.config.file import _LAST_GOOD
from aouo.emulator import FAMILY
from aouo.store import jobs
from tests.fakes.model_server import CallPart, Says
from tests.path.looking import answers, cut_off, eventually, prompts, settled
from tests.path.memory.test_off_the_record_leaves_nothing import SECRET, forgotten
from tests.path.reloading.following import ask_for, reload, save
from tests.path.schedules.scheduled import made
from tests.path.world import ADA, BEN, World


@pytest.fixture(autouse=True)
def owner_is_ben(world: World) -> None:
    world.install("notes")
    world.config = {"telegram": {"allowed_user_ids": [BEN, ADA]}}


def take_off_ada(world: World) -> None:
    world.config = {"telegram": {"allowed_user_ids": [BEN]}}


async def test_an_open_turn_is_not_finished_and_what_waits_is_dropped(world: World) -> None:
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="word")
        await bot.people.say(ADA, ADA, "and this")
        await bot.people.say(ADA, FAMILY, "@aouo_try_bot and that")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 3"))
        await cut_off(bot)
    before, asked = await answers(world), len(prompts(world))
    take_off_ada(world)
    with capture_logs() as logs:
        async with world.running() as bot:
            await bot.ask("hello", user=BEN)
            await settled(bot)
            jobs = await bot.rows("SELECT state FROM jobs WHERE person = ?", str(ADA))
            turns = await bot.rows("SELECT status FROM turns ORDER BY id LIMIT 1")

    assert await answers(world) == before
    assert prompts(world)[asked:] == ["hello"]
    assert {row["state"] for row in jobs} <= {"dropped", "done"}
    assert "dropped" in {row["state"] for row in jobs}
    assert turns == [{"status": "aborted"}]
    told = [line for line in logs if line["event"] == "person_taken_off"]
    assert [one["person"] for one in told] == [str(ADA)]


async def test_whoever_is_taken_off_while_the_bot_runs_is_answered_nothing_more(
    world: World,
) -> None:
    """A saved configuration counts at once, also for what is at work and what waits behind it."""
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="word")
        await bot.people.say(ADA, ADA, "and this")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 2"))
        asked = len(prompts(world))
        save(world, telegram={"allowed_user_ids": [BEN]})
        await reload(world)
        world.model.release.set()
        await bot.ask("hello", user=BEN)
        await settled(bot)
        jobs = await bot.rows("SELECT state FROM jobs WHERE person = ? ORDER BY id", str(ADA))
        turns = await bot.rows("SELECT status FROM turns ORDER BY id LIMIT 1")
        unsent = await bot.rows("SELECT 1 FROM deliveries WHERE state IN ('queued', 'sending')")

    assert prompts(world)[asked:] == ["hello"]
    assert [row["state"] for row in jobs] == ["done", "dropped"]
    assert (turns, unsent) == ([{"status": "aborted"}], [])


async def test_what_they_said_off_the_record_and_waits_is_erased_with_what_is_at_work(
    world: World,
) -> None:
    """It is left in no file of the home, however it is dropped. Design §3.5."""
    world.model.stall(2, f"Slowly {SECRET} but surely")
    async with world.running() as bot:
        await bot.ask("/otr")
        await bot.people.say(ADA, ADA, f"think of {SECRET}")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, f"and of {SECRET} again")
        await bot.people.say(ADA, ADA, f"/use {SECRET}")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 4"))
        save(world, telegram={"allowed_user_ids": [BEN]})
        await reload(world)
        await settled(bot)

        assert await forgotten(world)


async def test_what_they_said_off_the_record_is_erased_at_a_start_and_so_are_its_files(
    world: World,
) -> None:
    world.model.stall(2, "Slowly but surely")
    async with world.running() as bot:
        await bot.ask("/otr")
        file = SECRET.encode()
        await bot.people.send_file(ADA, ADA, "document", file, name="a.txt", caption=SECRET)
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, f"and of {SECRET} again")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 3"))
        await cut_off(bot)
    before = await answers(world)
    take_off_ada(world)
    async with world.running() as bot:
        await settled(bot)

        assert await forgotten(world)
    assert await answers(world) == before


async def test_a_question_of_whoever_is_taken_off_while_the_bot_runs_is_closed(
    world: World,
) -> None:
    world.model.calls(CallPart("clarify", {"message": "Which?", "options": ["A", "B"]}))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="Which?")
        save(world, telegram={"allowed_user_ids": [BEN]})
        await reload(world)
        await bot.ask("hello", user=BEN)
        await settled(bot)
        gates = await bot.rows("SELECT state FROM gates")
        jobs = await bot.rows("SELECT state FROM jobs WHERE person = ?", str(ADA))

    assert gates == [{"state": "closed"}]
    assert jobs == [{"state": "done"}]


async def test_a_part_of_what_is_theirs_that_cannot_be_ended_keeps_no_other_part(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner reads which, and the next reload tries it again."""

    def breaks(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async with world.running() as bot:
        await bot.ask("hello")
        await made(bot)
        await settled(bot)
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE jobs SET state = 'parked' WHERE id = 1")
        )
        with monkeypatch.context() as broken, capture_logs() as logs:
            broken.setattr(jobs, "of_others", breaks)
            save(world, telegram={"allowed_user_ids": [BEN]})
            await reload(world)
            note = await bot.people.next_message(BEN, contains="could not end this")
            status = (await ask_for(world, "status"))["unfinished"]
        paused = await bot.rows("SELECT enabled, paused FROM schedules")
        good = (world.home.path / _LAST_GOOD).read_text()
        save(world, ui={"show_tool_calls": False})
        await reload(world)
        after = (await ask_for(world, "status"))["unfinished"]
        rows = await bot.rows("SELECT state FROM jobs WHERE id = 1")

    assert note.text.splitlines() == [
        "I took up config.json, and could not end this:",
        "• Dropping what waits of people taken off the list: Input/output error. "
        "Mend what it says; each start tries again, such as `aouo restart`.",
    ]
    assert {line["what"] for line in logs if line["event"] == "not_taken_up"} == {
        "Dropping what waits of people taken off the list"
    }
    assert len(status) == 1
    assert (paused, json.loads(good)["telegram"]["allowed_user_ids"]) == (
        [{"enabled": 0, "paused": "unlisted"}],
        [BEN],
    )
    assert (after, rows) == ([], [{"state": "dropped"}])


async def test_an_open_question_is_not_answered_any_more(world: World) -> None:
    world.model.calls(CallPart("clarify", {"message": "Which?", "options": ["A", "B"]}))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="Which?")
    before = await answers(world)
    take_off_ada(world)
    async with world.running() as bot:
        await bot.ask("hello", user=BEN)
        await settled(bot)
        gates = await bot.rows("SELECT state FROM gates")

    assert await answers(world) == before
    assert gates == [{"state": "closed"}]


async def test_what_was_still_to_be_sent_to_them_is_not(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE deliveries SET state = 'queued', message_id = 0")
        )
    before = await answers(world)
    take_off_ada(world)
    async with world.running() as bot:
        await bot.ask("hello", user=BEN)
        await settled(bot)
        kept = await bot.rows("SELECT state FROM deliveries WHERE chat_id = ?", str(ADA))

    assert await answers(world) == before
    assert kept == [{"state": "dropped"}]
