"""Several texts as one message, one turn at a time, and /stop. Source: design §3.1.5, §3.3."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from structlog.testing import capture_logs

from aouo.emulator import FAMILY, HOUSEHOLD
from aouo.facts.events import TurnSettled
from aouo.store.database import Tx
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says, words_of
from tests.path.looking import answers, cut_off, eventually, prompts, said, settled
from tests.path.world import ADA, BEN, Running, World

WINDOW_S = 60
LONG = "This is long enough that its writer has surely said it all, so nobody waits. " * 2


@pytest.fixture
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock()
    return clock


@pytest.fixture
async def bursts(world: World, clock: FastClock) -> FastClock:
    world.config = {"telegram": {"message_batch_ms": WINDOW_S * 1000}}
    return clock


async def gathered(bot: Running, *wanted: str) -> None:
    """Wait until exactly these texts are being gathered."""

    async def look() -> bool:
        rows = await bot.rows("SELECT body FROM jobs WHERE state = 'gathering' ORDER BY id")
        return [json.loads(row["body"])["content"]["text"] for row in rows] == list(wanted)

    await eventually(look)


# Bursts


async def test_short_texts_of_one_person_become_one_message(
    world: World, bursts: FastClock
) -> None:
    async with world.running() as bot:
        with capture_logs() as logs:
            await bot.people.say(ADA, ADA, "one")
            await bot.people.say(ADA, ADA, "two")
            await gathered(bot, "one\ntwo")
            bursts.jump(WINDOW_S)
            await said(world, "one\ntwo")

    assert prompts(world) == ["one\ntwo"]
    assert "burst_flushed" in [line["event"] for line in logs]


async def test_each_text_restarts_the_window(world: World, bursts: FastClock) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await gathered(bot, "one")
        bursts.jump(WINDOW_S * 0.8)
        await bot.people.say(ADA, ADA, "two")
        await gathered(bot, "one\ntwo")
        bursts.jump(WINDOW_S * 0.8)
        await gathered(bot, "one\ntwo")
        bursts.jump(WINDOW_S * 0.3)
        await said(world, "one\ntwo")


async def test_a_backlog_is_gathered_by_when_it_was_written(
    world: World, bursts: FastClock
) -> None:
    """It comes all at once after a downtime; hours lie between its messages. Issue 11, 25."""
    queue = world.emulator.world.updates
    for number, (text, at_s) in enumerate(
        (("one", 0), ("two", 7_200), ("three", 7_201), ("four", 7_300))
    ):
        queue.push("message", _of_ada(900 + number, text, 1_700_000_000 + at_s))
    async with world.running() as bot:
        await gathered(bot, "four")
        bursts.jump(WINDOW_S)
        await said(world, "four")
        await settled(bot)

    assert prompts(world) == ["one", "two\nthree", "four"]


async def test_what_the_seconds_leave_open_is_joined(world: World) -> None:
    """Telegram tells whole seconds: up to one more may lie between two messages than it seems."""
    world.config["telegram"] = {"message_batch_ms": 250}
    world.clock = clock = FastClock(speed=0.01)
    queue = world.emulator.world.updates
    for number, (text, at_s) in enumerate((("one", 0), ("two", 1), ("three", 3))):
        queue.push("message", _of_ada(900 + number, text, 1_700_000_000 + at_s))
    async with world.running() as bot:
        await gathered(bot, "three")
        clock.jump(1)
        await said(world, "three")
        await settled(bot)

    assert prompts(world) == ["one\ntwo", "three"]


def _of_ada(message_id: int, text: str, date: int) -> dict[str, object]:
    user = {"id": ADA, "is_bot": False, "first_name": "Ada"}
    chat = {"id": ADA, "type": "private", "first_name": "Ada"}
    return {"message_id": message_id, "date": date, "chat": chat, "from": user, "text": text}


async def test_two_people_and_two_places_are_never_joined(world: World, bursts: FastClock) -> None:
    world.config["telegram"]["groups"] = "all"
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, "a")
        await bot.people.say(BEN, FAMILY, "b")
        await bot.people.say(ADA, HOUSEHOLD, "c", thread=2)
        await bot.people.say(ADA, HOUSEHOLD, "d", thread=3)
        await gathered(bot, "a", "b", "c", "d")
        bursts.jump(WINDOW_S)
        await settled(bot)

    assert sorted(prompts(world)) == ["a", "b", "c", "d"]


async def test_a_long_text_ends_its_burst_at_once(world: World, bursts: FastClock) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await bot.people.say(ADA, ADA, LONG.strip())
        await said(world, f"one\n{LONG.strip()}")


async def test_a_paste_that_the_client_split_waits_one_window(
    world: World, bursts: FastClock
) -> None:
    """Telegram's client cuts at 4,096 units: the rest comes as the next message."""
    first, rest = "x" * 4_096, "y" * 50
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, first)
        await gathered(bot, first)
        await bot.people.say(ADA, ADA, rest)
        await gathered(bot, f"{first}\n{rest}")
        bursts.jump(WINDOW_S)
        await settled(bot)

    assert prompts(world) == [f"{first}\n{rest}"]


async def test_a_command_flushes_what_was_gathered_and_then_goes_alone(
    world: World, bursts: FastClock
) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await bot.people.say(ADA, ADA, "/new")
        await bot.people.say(ADA, ADA, "two")
        await said(world, "one")
        await gathered(bot, "two")
        bursts.jump(WINDOW_S)
        await said(world, "two")

    kept = ("one", "Started a fresh session.", "two")  # on a busy machine a line says what waits
    heard = [text for text in await answers(world) if text.startswith(kept)]
    assert [text.partition(".")[0] for text in heard] == ["one", "Started a fresh session", "two"]
    told = [words_of(m) for m in world.model.requests[1]["messages"] if m["role"] == "user"]
    assert "one" not in told


async def test_an_open_burst_survives_a_restart(world: World, bursts: FastClock) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await gathered(bot, "one")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "two")
        await gathered(bot, "one\ntwo")
        bursts.jump(WINDOW_S)
        await said(world, "one\ntwo")


async def test_without_a_window_every_text_is_a_message(world: World, clock: FastClock) -> None:
    """contract: `message_batch_ms` 0 = off."""
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await bot.people.say(ADA, ADA, "two")
        await said(world, "two")

    assert prompts(world) == ["one", "two"]


# Lanes


async def test_text_that_arrives_while_a_turn_runs_waits(world: World, clock: FastClock) -> None:
    world.model.stall(after_chunks=0, text="the first")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "two")
        await bot.ask("hello", user=BEN)
        assert prompts(world) == ["one", "hello"]
        world.model.release.set()
        await said(world, "two")

    assert await answers(world) == ["the first", "two"]


async def test_two_topics_of_one_forum_are_answered_at_the_same_time(
    world: World, clock: FastClock
) -> None:
    world.install("vocab")
    world.model.stall(after_chunks=0, text="slowly")
    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, "one", thread=2)
        await world.model.stalled.wait()
        answer = await bot.ask("two", chat=HOUSEHOLD, thread=3)
        world.model.release.set()
        await said(world, "slowly", HOUSEHOLD, 2)

    assert answer.text == "two"


async def test_an_update_that_comes_twice_is_answered_once(world: World, clock: FastClock) -> None:
    """Telegram delivers again what it did not see confirmed."""
    async with world.running() as bot:
        await bot.people.fault("duplicate_update")
        with capture_logs() as logs:
            await bot.ask("one")
            await bot.ask("two")
            await settled(bot)

    assert prompts(world) == ["one", "two"]
    assert "update_duplicate" in [line["event"] for line in logs]


async def test_commands_that_only_read_are_answered_while_a_turn_runs(
    world: World, clock: FastClock
) -> None:
    world.model.stall(after_chunks=0)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        for command in ("/whereami", "/id", "/help"):
            await bot.ask(command)
        world.model.release.set()


# /stop


async def test_stop_cancels_the_model_call_and_drops_what_waits(
    world: World, clock: FastClock
) -> None:
    """The connection to the model closes: nothing goes on behind it."""
    world.model.stall(after_chunks=0)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "two")
        await bot.people.say(ADA, ADA, "three")
        stopped = await bot.ask("/stop")
        await world.model.closed_by_client.wait()
        await settled(bot)
        turns = await bot.rows("SELECT status, reason FROM turns")
        answer = await bot.ask("four")

    assert stopped.text == "Stopped. 2 messages that waited will not be answered."
    assert turns == [
        {
            "status": "aborted",
            "reason": "[This turn was stopped (the person stopped it).]",
        }
    ]
    assert (answer.text, prompts(world)) == ("four", ["go", "four"])


async def test_stop_right_behind_a_text_stops_it(world: World, clock: FastClock) -> None:
    """Both may come in one getUpdates; whoever is first, the text is not answered later."""
    world.model.reply(*[Says("no", stall_after=0) for _ in range(5)])
    async with world.running() as bot:
        for number in range(5):
            await bot.people.say(ADA, ADA, f"go {number}")
            await bot.ask("/stop")
            await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")
        words = await answers(world)

    assert {row["status"] for row in turns} <= {"aborted"}
    assert not any("Nothing is running" in text for text in words)


async def test_stop_marks_what_was_shown_of_an_answer_as_cut_short(
    world: World, clock: FastClock
) -> None:
    world.model.reply(Says("word " * 100, chunks=5, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        live = await bot.people.next_message(ADA, contains="word")
        await bot.people.say(ADA, ADA, "/stop")
        await settled(bot)
        shown = [m.text for m in await bot.people.messages(ADA) if m.id == live.id]

    assert [text[:4] + text[-1] for text in shown] == ["word…"]


async def test_a_burst_that_is_open_is_dropped_by_stop_too(world: World, bursts: FastClock) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await gathered(bot, "one")
        stopped = await bot.ask("/stop")
        bursts.jump(WINDOW_S)
        await settled(bot)

    assert stopped.text == "1 message that waited will not be answered."
    assert prompts(world) == []


async def test_what_is_said_behind_a_stop_is_answered(world: World, clock: FastClock) -> None:
    """All of it comes in one getUpdates, as after a time without a network."""
    for text in ("before", "/stop", "behind"):
        await world.people.say(ADA, ADA, text)
    async with world.running() as bot:
        await said(world, "behind")
        await settled(bot)

    told = await answers(world)
    assert prompts(world)[-1] == "behind"
    assert ("before" in told) == ("Nothing is running here." in told)


async def test_a_burst_behind_a_stop_is_not_dropped_with_the_one_before(
    world: World, bursts: FastClock
) -> None:
    for text in ("before", "/stop", "behind"):
        await world.people.say(ADA, ADA, text)
    async with world.running() as bot:
        await gathered(bot, "behind")
        bursts.jump(WINDOW_S)
        await said(world, "behind")
        await settled(bot)

    assert prompts(world) == ["behind"]


async def test_stop_in_a_group_leaves_what_others_asked(world: World, clock: FastClock) -> None:
    world.config = {"telegram": {"groups": "all"}}
    world.model.stall(after_chunks=0)
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, "go")
        await world.model.stalled.wait()
        await bot.people.say(BEN, FAMILY, "from Ben")
        await bot.people.say(ADA, FAMILY, "from Ada")
        await bot.people.say(ADA, FAMILY, "/stop")
        await said(world, "from Ben", FAMILY)

    assert prompts(world) == ["go", "from Ben"]


# What goes wrong in a lane


async def test_a_turn_that_takes_too_long_is_stopped_said_and_the_lane_goes_on(
    world: World, clock: FastClock
) -> None:
    world.config = {"advanced": {"turn_timeout_s": 1}}
    world.model.stall(after_chunks=0)
    async with world.running() as bot:
        first = await bot.people.say(ADA, ADA, "go")
        await bot.people.say(ADA, ADA, "next")
        told = await bot.people.next_message(ADA, after=first.id, contains="too long")
        await world.model.closed_by_client.wait()
        await said(world, "next")
        turns = await bot.rows("SELECT status FROM turns ORDER BY id")

    assert told.text.startswith("This took too long, so I stopped it.")
    assert [row["status"] for row in turns] == ["aborted", "ack"]


async def test_a_message_that_ended_the_process_three_times_is_set_aside(
    world: World, clock: FastClock
) -> None:
    """A claim that was never settled is a crash; `deaths` counts them."""
    async with world.running() as bot:
        await bot.ask("hello")
    async with world.running() as bot:

        def crash(tx: Tx) -> None:
            tx.run(
                "UPDATE jobs SET state = 'running', deaths = 3 "
                "WHERE id = (SELECT max(id) FROM jobs)"
            )
            tx.run("UPDATE turns SET status = 'open'")

        await bot.app.shared.database.transact(crash)
    with capture_logs() as logs:
        async with world.running() as bot:
            told = await bot.people.next_message(ADA, contains="three times")
            answer = await bot.ask("next")
            jobs = await bot.rows("SELECT state FROM jobs ORDER BY id")
            turns = await bot.rows("SELECT status FROM turns ORDER BY id")

    assert told.text.startswith("I stopped working three times while I was answering this")
    assert answer.text == "next"
    assert [row["state"] for row in jobs] == ["aside", "done"]
    assert [row["status"] for row in turns] == ["aborted", "ack"]
    assert "job_set_aside" in [line["event"] for line in logs]


@pytest.mark.parametrize(
    ("person", "chat", "where"),
    [(BEN, BEN, "their private chat"), (BEN, FAMILY, f"the chat {FAMILY}")],
)
async def test_the_owner_is_told_of_a_message_that_is_set_aside_and_not_what_it_said(
    world: World, clock: FastClock, person: int, chat: int, where: str
) -> None:
    world.config = {"telegram": {"groups": "all"}}
    await broken_down(world, person, chat)
    async with world.running() as bot:
        await bot.people.next_message(chat, contains="three times")
        told = await bot.people.next_message(ADA, contains="three times")
        await settled(bot)
        turns = await bot.rows("SELECT id FROM turns")

    assert told.text == (
        "A message was being answered three times when I stopped working, so I put it aside and "
        "told its sender: "
        f"Ben, id {BEN}, in {where}. To see what happened there: aouo trace {turns[0]['id']}"
    )
    assert len(await answers(world, ADA)) == 1


async def test_the_owner_is_told_once_of_their_own(world: World, clock: FastClock) -> None:
    await broken_down(world, ADA, ADA)
    async with world.running() as bot:
        await bot.people.next_message(ADA, contains="three times")
        await settled(bot)

    assert len(await answers(world, ADA)) == 1


async def broken_down(world: World, person: int, chat: int) -> None:
    """A message on which the process ended three times."""
    world.model.stall(after_chunks=0)
    async with world.running() as bot:
        await bot.people.say(person, chat, "the secret wedding")
        await world.model.stalled.wait()
        await cut_off(bot)
    with closing(sqlite3.connect(world.home.database, isolation_level=None)) as connection:
        connection.execute("UPDATE jobs SET deaths = 3")


async def test_nothing_of_a_message_that_is_set_aside_stays_as_if_it_were_an_answer(
    world: World, clock: FastClock
) -> None:
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="word")

        async def is_live() -> bool:
            return bool(await bot.rows("SELECT 1 FROM deliveries WHERE state = 'live'"))

        await eventually(is_live)
        await cut_off(bot)
    with closing(sqlite3.connect(world.home.database, isolation_level=None)) as connection:
        connection.execute("UPDATE jobs SET deaths = 3")
    async with world.running() as bot:
        told = await bot.people.next_message(ADA, contains="three times")
        await settled(bot)

    assert await answers(world) == [told.text]


async def test_a_turn_says_in_one_log_line_what_it_cost(world: World, clock: FastClock) -> None:
    """contract: `turn_done` is the canonical line."""
    async with world.running() as bot:
        with capture_logs() as logs:
            events, leave = bot.app.shared.bus.subscribe()
            await bot.ask("hello")
            while not isinstance(await events.get(), TurnSettled):
                pass
            leave()

    [line] = [line for line in logs if line["event"] == "turn_done"]
    assert {key: line[key] for key in ("pack", "origin", "status", "dispatches", "tool_calls")} == {
        "pack": "notes",
        "origin": "chat",
        "status": "ack",
        "dispatches": 1,
        "tool_calls": 0,
    }
    assert (line["input_tokens"], line["output_tokens"], line["deliveries"]) == (10, 5, 1)
    assert line["duration_ms"] >= line["provider_ms"] >= 0


async def test_a_command_behind_a_running_answer_says_that_it_waits_and_is_then_obeyed(
    world: World,
) -> None:
    """One line, within a second; what only looks does not wait, and plain words say nothing."""
    world.install("notes")
    world.model.stall(after_chunks=0, text="the answer")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "long work")
        await world.model.stalled.wait()
        for text in ("/new", "/usage", "and words"):
            await bot.people.say(ADA, ADA, text)
        waits = await said(
            world, "/new waits until I have answered what came before it; /stop ends both."
        )
        await bot.people.next_message(ADA, contains="7 days")
        world.model.release.set()
        await bot.people.next_message(ADA, contains="Started a fresh session.")
        await said(world, "and words")
        await settled(bot)
        shown = await answers(world)

    assert sum("waits" in text for text in shown) == 1
    assert shown.index(waits.text) < shown.index("and words")


async def test_who_cannot_stop_what_runs_is_not_told_to(world: World) -> None:
    world.install("notes")
    world.config = {"telegram": {"groups": "all"}}
    world.model.stall(after_chunks=0, text="the answer")
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, "long work")
        await world.model.stalled.wait()
        await bot.people.say(BEN, FAMILY, "/new")
        await said(world, "/new waits until I have answered what came before it.", FAMILY)
        world.model.release.set()
        await said(world, "the answer", FAMILY)


async def test_a_command_that_begins_at_once_says_nothing_of_waiting(
    world: World,
) -> None:
    world.install("notes")
    world.clock = clock = FastClock()
    async with world.running() as bot:
        await bot.ask("/new")
        clock.jump(10)
        await settled(bot)

    assert not any("waits" in text for text in await answers(world))
