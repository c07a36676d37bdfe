"""A schedule comes due: an isolated turn, whose result enters its conversation between turns.

Source: issue 14 "Isolated turns", design §3.3.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.address import ConversationAddress
from aouo.store import schedules
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.fakes.models.telling import Fails
from tests.path.looking import answers, cut_off, eventually, said, settled
from tests.path.schedules.scheduled import (
    after_tool,
    answering,
    calls_once,
    is_run,
    made,
    run_states,
)
from tests.path.world import ADA, BEN, Running, World, texts


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """The time of the world; it jumps when a test says so."""
    world.clock = clock = FastClock(speed=1)
    return clock


class Nothing(Arguments):
    pass


def waiting(until: asyncio.Event, begun: asyncio.Event) -> Tool:
    """A tool that takes as long as a test wants."""

    async def wait(arguments: Nothing, context: ToolContext, call_id: str) -> str:
        begun.set()
        await until.wait()
        return "done"

    return tool("skill_wait", "Waits.", Nothing, wait, group="memory", timeout_s=None)


def slow_tool(world: World) -> tuple[asyncio.Event, asyncio.Event]:
    """Give the bot `skill_wait`; returns what lets it end, and what tells that it has begun."""
    over, begun = asyncio.Event(), asyncio.Event()
    world.tools = [waiting(over, begun)]
    world.config = {"tools": {"enabled": ["core", "skill_wait"]}}
    return over, begun


def offered(body: Body) -> list[str]:
    return [one["function"]["name"] for one in body["tools"]]


async def ended(bot: Running, *states: str) -> None:
    """Wait until the runs have ended so."""

    async def look() -> bool:
        return await run_states(bot) == list(states)

    await eventually(look)


async def test_a_reminder_comes_when_it_is_due_and_can_be_answered(
    world: World, clock: FastClock
) -> None:
    world.model.say("Water the plants!")
    world.model.say("You are welcome.")
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        shown = await bot.people.next_message(ADA, contains="Water")
        answer = await bot.ask("Thanks, done")
        states = await run_states(bot)

    assert shown.text == "Water the plants!\n\n— ⏰ plants"
    assert answer.text == "You are welcome."
    history = [words_of(m) for m in world.model.requests[-1]["messages"]]
    assert "Water the plants!" in history
    assert states == ["done"]


async def test_without_an_answer_in_a_minute_its_words_come_and_the_answer_follows(
    world: World, clock: FastClock
) -> None:
    """Once, and no answer is lost. Source: issue 27, "Schedules"."""
    over, begun = slow_tool(world)
    world.model.call("skill_wait", {})
    world.model.say("Water the plants!")
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        async with asyncio.timeout(30):
            await begun.wait()
        clock.jump(61)
        late = await bot.people.next_message(ADA, contains="has not answered this yet")
        clock.jump(300)
        over.set()
        await said(world, "Water the plants!\n\n— ⏰ plants")
        await settled(bot)
        told = [text for text in await answers(world) if "has not answered" in text]

    assert late.from_bot
    assert len(told) == 1


async def test_one_that_is_given_up_says_its_own_words(world: World, clock: FastClock) -> None:
    """Whoever is to water the plants reads that, and not only that something broke."""
    world.model.stall(after_chunks=0)
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        await world.model.stalled.wait()
        await cut_off(bot)
    with closing(sqlite3.connect(world.home.database, isolation_level=None)) as connection:
        connection.execute("UPDATE jobs SET deaths = 3")
    async with world.running() as bot:
        told = await bot.people.next_message(ADA, contains="I did not get further with it")
        await settled(bot)
        states = await run_states(bot)

    assert told.text.startswith("Remind me to water the plants\n\n")
    assert len(await answers(world)) == 1
    assert states == ["failed"]


async def test_its_session_is_for_one_run_and_no_route_keeps_it(
    world: World, clock: FastClock
) -> None:
    world.model.script = answering(lambda body: "Water the plants!", lambda body: "Hello, Ada.")
    async with world.running() as bot:
        await bot.ask("Hello")
        await made(bot)
        clock.jump(61)
        await said(world, "Water the plants!\n\n— ⏰ plants")
        await settled(bot)
        (run,) = await bot.rows(
            "SELECT t.session_id FROM turns AS t JOIN jobs AS j "
            "ON j.id = t.job_id WHERE j.origin = 'cron'"
        )
        (route,) = await bot.rows("SELECT session_id FROM conversation_routes")
        listed = await bot.ask("/sessions")

    assert run["session_id"].startswith("cron/")
    assert route["session_id"].startswith("chat/")
    (only,) = listed.buttons
    assert "Hello" in only.text
    asked = next(body for body in world.model.requests if is_run(body))
    assert "Hello" not in str([words_of(m) for m in asked["messages"] if m["role"] == "user"])


async def test_a_long_run_holds_up_nobody(world: World, clock: FastClock) -> None:
    over, begun = slow_tool(world)
    run = calls_once("skill_wait", then="Watered.")
    world.model.script = answering(run, lambda body: "Still here.")
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        await begun.wait()
        answer = await bot.ask("Are you there?")
        over.set()
        await said(world, "Watered.\n\n— ⏰ plants")

    assert answer.text == "Still here."


async def test_a_result_waits_for_the_turn_that_runs(world: World, clock: FastClock) -> None:
    over, begun = slow_tool(world)
    person = calls_once("skill_wait", then="Finished.")
    world.model.script = answering(lambda body: "Water the plants!", person)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Do something long")
        await begun.wait()
        await made(bot)
        clock.jump(61)
        await ended(bot, "done")
        before = texts(await bot.people.messages(ADA))
        over.set()
        await said(world, "Finished.")
        await said(world, "Water the plants!\n\n— ⏰ plants")
        await settled(bot)
        history = await bot.rows(
            "SELECT text FROM messages WHERE visible = 1 "
            "AND session_id LIKE 'chat/%' AND role = 'assistant' ORDER BY id"
        )

    assert not any("Water" in text for text in before)
    assert [row["text"] for row in history][-2:] == ["Finished.", "Water the plants!"]


async def test_a_result_does_not_wait_for_an_answer_to_a_question(
    world: World, clock: FastClock
) -> None:
    """The question may stay open for a day; what was asked and answered stays history."""

    def person(body: Body) -> Reply | str:
        if after_tool(body):
            return "Blue it is."
        if "again" in words_of(body["messages"][-1]):
            return "It was blue."
        question = {"message": "Which colour?", "options": ["red", "blue"]}
        return Says(calls=(CallPart("clarify", question),))

    world.model.script = answering(lambda body: "Water the plants!", person)
    async with world.running() as bot:
        await made(bot)
        await bot.people.say(ADA, ADA, "Paint it")
        shown = await bot.people.next_message(ADA, contains="Which colour?")
        clock.jump(61)
        await said(world, "Water the plants!\n\n— ⏰ plants")
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[1].data)
        await said(world, "Blue it is.")
        await settled(bot)
        await bot.ask("Tell me again")

    history = [words_of(m) for m in world.model.requests[-1]["messages"]]
    assert history[-4:-1] == ["Blue it is.", *history[-3:-1]]
    assert history[-2] == "Water the plants!"
    assert "blue" in history


async def test_a_result_that_waits_behind_a_turn_bypasses_its_question(
    world: World, clock: FastClock
) -> None:
    over, begun = slow_tool(world)
    question = {"message": "Which colour?", "options": ["red", "blue"]}

    def person(body: Body) -> Reply | str:
        calls = [m for m in body["messages"] if m["role"] == "tool"]
        return Says(calls=(CallPart("clarify", question) if calls else CallPart("skill_wait", {}),))

    world.model.script = answering(lambda body: "Water the plants!", person)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Paint it")
        await begun.wait()
        await made(bot)
        clock.jump(61)
        await ended(bot, "done")
        over.set()
        await bot.people.next_message(ADA, contains="Which colour?")
        await said(world, "Water the plants!\n\n— ⏰ plants")


async def test_a_silent_run_says_nothing(world: World, clock: FastClock) -> None:
    world.model.script = answering(lambda body: "[SILENT]", lambda body: "Hello.")
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        await ended(bot, "silent")
        await bot.ask("Hello")
        await settled(bot)
        shown = texts(await bot.people.messages(ADA))
        rows = await bot.rows("SELECT 1 FROM jobs WHERE origin = 'cron'")

    assert shown == ["Hello."]
    assert len(rows) == 1  # the run, and no report


async def test_whoever_asks_for_a_run_now_is_told_that_there_was_nothing_to_tell(
    world: World, clock: FastClock
) -> None:
    world.model.script = answering(lambda body: "[SILENT]", lambda body: "Hello.")
    async with world.running() as bot:
        await made(bot, in_s=3600)
        await bot.ask("/cron run plants")
        await said(world, "There was nothing to tell.\n\n— ⏰ plants")
        await ended(bot, "silent")


async def test_what_a_run_sends_goes_out_with_its_result(world: World, clock: FastClock) -> None:
    quiz = {"type": "keyboard", "text": "der Baum?", "buttons": [["tree|a", "beam|b"]]}
    run = calls_once("msg", then="Good luck!", **quiz)
    world.model.script = answering(run, lambda body: "Right!")
    async with world.running() as bot:
        await made(bot, name="quiz")
        clock.jump(61)
        card = await bot.people.next_message(ADA, contains="der Baum?")
        await said(world, "Good luck!\n\n— ⏰ quiz")
        await bot.people.tap(ADA, ADA, card.id, card.buttons[0].data)
        await said(world, "Right!")

    result = words_of(world.model.requests[1]["messages"][-1])
    assert '"ok": true' in result
    assert "together with your answer" in result


async def test_a_run_only_with_messages_needs_no_words(world: World, clock: FastClock) -> None:
    run = calls_once("msg", then="[SILENT]", type="text", text="Word of the day: Baum")
    world.model.script = answering(run, lambda body: "Tree.")
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        await said(world, "Word of the day: Baum\n\n— ⏰ plants")
        await settled(bot)
        answer = await bot.ask("What does it mean?")
        states = await run_states(bot)

    assert (answer.text, states) == ("Tree.", ["done"])


async def test_a_run_that_answers_what_it_has_sent_says_it_once(
    world: World, clock: FastClock
) -> None:
    card = {"type": "keyboard", "text": "Water the *plants*?", "buttons": [["Done|done"]]}
    run = calls_once("msg", then="Water the  plants?", **card)
    world.model.script = answering(run, lambda body: "Good.")
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        await said(world, "Water the plants?\n\n— ⏰ plants")
        await settled(bot)
        await bot.ask("Thanks")
        shown = await answers(world)
        kept = await bot.rows("SELECT text FROM messages WHERE text = 'Water the  plants?'")

    assert shown == ["Water the plants?\n\n— ⏰ plants", "Good."]
    assert kept


async def test_a_run_is_offered_nothing_that_asks(world: World, clock: FastClock) -> None:
    world.model.script = answering(lambda body: "Water!", lambda body: "Hello.")
    async with world.running() as bot:
        await bot.ask("Hello")
        await made(bot)
        clock.jump(61)
        await said(world, "Water!\n\n— ⏰ plants")

    chat, run = world.model.requests[:2]
    assert "clarify" in offered(chat)
    assert "clarify" not in offered(run)


@pytest.mark.parametrize("status", [401, 500])
async def test_the_words_come_at_the_minute_when_their_model_fails_at_once(
    world: World, clock: FastClock, status: int
) -> None:
    """Each time they are due, with one line on why. Source: issue 43, design §3.8."""
    world.model.script = answering(lambda body: Fails(status, "broken"), lambda body: "Hello.")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "max_retries": 0}
    async with world.running() as bot:
        await made(bot, text="every 1h", in_s=3600)
        for count in (1, 2):
            clock.jump(3601)
            await ended(bot, *["failed"] * count)
            await settled(bot)
        shown = texts(await bot.people.messages(ADA))

    assert len(shown) == 2
    for told in shown:
        words, why = told.split("\n\n")[:2]
        assert words == "Remind me to water the plants"
        assert why.startswith("(I did not get further with it: ")
        assert "Try again" not in why  # nobody asked


async def test_a_run_that_is_tried_again_within_a_minute_says_its_words_once(
    world: World, clock: FastClock
) -> None:
    world.model.script = answering(lambda body: Fails(500, "broken"), lambda body: "Hello.")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "max_retries": 0}
    async with world.running() as bot:
        await made(bot, text="every 1h", in_s=3600, retries=1)
        clock.jump(3601)
        await ended(bot, "failed")
        before = texts(await bot.people.messages(ADA))
        clock.jump(61)
        told = await bot.people.next_message(ADA, contains="water the plants")
        await settled(bot)
        tries = await bot.rows("SELECT tries, retry_at FROM schedule_runs")

    assert before == []
    assert told.text.endswith("— ⏰ plants")
    assert tries == [{"tries": 2, "retry_at": None}]


async def test_words_whose_model_is_tried_for_longer_come_at_once_and_the_answer_follows(
    world: World, clock: FastClock
) -> None:
    world.model.reply(Fails(500, "broken"))
    world.model.reply(Fails(500, "broken"))
    world.model.say("Water the plants!")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "max_retries": 0}
    async with world.running() as bot:
        await made(bot, retries=2)
        clock.jump(61)
        await ended(bot, "failed")
        clock.jump(61)
        await bot.people.next_message(ADA, contains="has not answered this yet")
        clock.jump(121)
        await said(world, "Water the plants!\n\n— ⏰ plants")
        await settled(bot)

    assert len(await answers(world)) == 2


async def test_a_skill_without_words_that_fails_is_tried_again_and_told_once(
    world: World, clock: FastClock
) -> None:
    world.model.script = answering(lambda body: Fails(500, "broken"), lambda body: "Hello.")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "max_retries": 0}
    async with world.running() as bot:
        await made(bot, text="every 1h", in_s=3600, retries=1, prompt="")
        clock.jump(3601)
        await ended(bot, "failed")
        before = texts(await bot.people.messages(ADA))
        clock.jump(61)
        first = await bot.people.next_message(ADA, contains="did not work")
        assert "Try again" not in first.text  # nobody asked, and it was tried again
        clock.jump(3600)
        await ended(bot, "failed", "failed")
        clock.jump(61)

        async def twice() -> bool:
            rows = await bot.rows("SELECT tries, retry_at FROM schedule_runs ORDER BY due_at")
            return [tuple(row.values()) for row in rows] == [(2, None), (2, None)]

        await eventually(twice)
        await settled(bot)
        shown = texts(await bot.people.messages(ADA))

    assert before == []
    assert shown == [first.text]
    assert first.text.endswith("— ⏰ plants")


async def test_whoever_asks_for_a_run_now_is_told_each_time_it_fails(
    world: World, clock: FastClock
) -> None:
    world.model.script = answering(lambda body: Fails(500, "broken"), lambda body: "Hello.")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "max_retries": 0}
    async with world.running() as bot:
        await made(bot, text="every 1h", in_s=3600, retries=3)
        for count in (1, 2):
            clock.jump(3)
            await bot.ask("/cron run plants")
            await ended(bot, *["failed"] * count)
            await settled(bot)
        shown = texts(await bot.people.messages(ADA))
        to_come = await bot.rows("SELECT 1 FROM schedule_runs WHERE retry_at IS NOT NULL")

    assert len([text for text in shown if "did not work" in text]) == 2
    assert to_come == []  # they can ask again


async def test_a_stop_in_the_conversation_drops_no_result(world: World, clock: FastClock) -> None:
    _, begun = slow_tool(world)
    wait = Says(calls=(CallPart("skill_wait", {}),))
    world.model.script = answering(lambda body: "Water the plants!", lambda body: wait)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Do something long")
        await begun.wait()
        await made(bot)
        clock.jump(61)
        await ended(bot, "done")
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Water the plants!\n\n— ⏰ plants")


async def test_a_due_time_that_was_missed_is_met_late(world: World, clock: FastClock) -> None:
    world.model.say("Water the plants!")
    async with world.running() as bot:
        await made(bot)
    clock.jump(7200)
    async with world.running() as bot:
        await said(world, "Water the plants!\n\n— ⏰ plants")
        (row,) = await bot.rows("SELECT enabled, paused FROM schedules")

    asked = words_of(world.model.requests[0]["messages"][-1])
    assert "[this was due " in asked
    assert row == {"enabled": 0, "paused": "over"}


async def test_missed_times_can_be_one_run_or_none(world: World, clock: FastClock) -> None:
    world.model.script = answering(lambda body: "[SILENT]", lambda body: "Hello.")
    async with world.running() as bot:
        hourly: dict[str, Any] = {"text": "every 1h", "in_s": 3600}
        one = await made(bot, **hourly, misfire="coalesce")
        none = await made(bot, **hourly, misfire="skip")
    clock.jump(timedelta(hours=5, minutes=30).total_seconds())
    async with world.running() as bot:
        await eventually(lambda: bot.rows("SELECT 1 FROM schedule_runs WHERE state = 'silent'"))
        rows = await bot.rows("SELECT schedule_id, state, missed FROM schedule_runs")

    found = {row["schedule_id"]: (row["state"], row["missed"]) for row in rows}
    assert found == {one.id: ("silent", 4), none.id: ("missed", 4)}
    assert "stands for the 5 times" in words_of(world.model.requests[0]["messages"][-1])


async def test_a_schedule_that_no_parser_takes_is_told_and_off(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        await made(bot, text="when the cows come home")
        await made(bot, zone="Mars/Olympus", name="rover")
        clock.jump(61)
        await bot.people.next_message(ADA, contains="cows")
        await bot.people.next_message(ADA, contains="Mars/Olympus")
        rows = await bot.rows("SELECT paused FROM schedules")

    assert [row["paused"] for row in rows] == ["unreadable", "unreadable"]
    assert world.model.requests == []


async def test_what_was_for_once_leaves_the_list_and_the_count(
    world: World, clock: FastClock
) -> None:
    world.model.script = answering(lambda body: "Water!", lambda body: "Hello.")
    async with world.running() as bot:
        row = await made(bot)
        clock.jump(61)
        await said(world, "Water!\n\n— ⏰ plants")
        await ended(bot, "done")
        listed = await bot.ask("/cron")
        history = await bot.ask(f"/cron history {row.id}")
        database = bot.app.shared.database
        counted = await database.read(lambda tx: schedules.count_made(tx, row.address))
        gone = [await database.transact(lambda tx: schedules.prune(tx, "2027")) for _ in range(3)]
        rows = await bot.rows("SELECT 1 FROM schedules UNION ALL SELECT 1 FROM schedule_runs")

    assert listed.text.startswith("There are no schedules here.")
    assert "plants" in history.text
    assert (counted, gone, rows) == (0, [1, 1, 0], [])


async def test_who_has_a_reminder_that_a_restore_switched_off_reads_so_and_can_switch_it_on(
    world: World, clock: FastClock
) -> None:
    """Once, with its own time in their list. Source: issue 43, class W."""
    world.install("remind")
    async with world.running() as bot:
        await made(bot, say="Tea", in_s=9_000)
        address = ConversationAddress("tg", str(BEN))
        theirs = await made(bot, say="Bins", in_s=9_000, address=address, person=str(BEN))
        at = datetime.fromisoformat(theirs.since) + timedelta(minutes=1)
    with closing(sqlite3.connect(world.home.database, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE schedules SET enabled = 0, paused = 'proposed', next_due = NULL, text = ? "
            "WHERE person = ?",  # as `aouo restore` does
            (at.isoformat(), str(BEN)),
        )
    async with world.running() as bot:
        told = await bot.people.next_message(BEN, contains="A backup was restored")
        listed = await bot.ask("/cron", user=BEN)
        page = await bot.ask("my reminders", user=BEN)
    async with world.running() as bot:
        await bot.people.tap(BEN, BEN, told.id, told.buttons[0].data)
        await settled(bot)
        rows = await bot.rows("SELECT enabled, paused FROM schedules")
        notices = await bot.rows("SELECT 1 FROM deliveries WHERE key LIKE 'restored:%'")

    assert "off since a backup was restored" in listed.text
    assert f"{at:%H:%M} (off)" in page.text
    assert [tuple(row.values()) for row in rows] == [(1, ""), (1, "")]
    assert len(notices) == 1
