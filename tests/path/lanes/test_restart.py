"""A graceful stop and a new start: nothing is lost, nothing is said twice. Source: design §3.5.

Kills at every commit are in `kills/test_kill_table.py`; here a life ends in order or is cut off by
its own state in the database.
"""

from __future__ import annotations

import asyncio

import pytest

from aouo.agent.tools.registry import Arguments, ToolContext, tool
from aouo.store.database import Tx
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.path.looking import answers, cut_off, eventually, prompts, said, settled
from tests.path.world import ADA, BEN, World


class Nothing(Arguments):
    pass


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock()
    return clock


async def test_messages_that_came_while_it_was_down_are_answered_in_order(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("first")
    for text in ("one", "two", "three"):
        await world.people.say(ADA, ADA, text)
    async with world.running():
        await said(world, "three")

    assert prompts(world) == ["first", "one", "two", "three"]
    assert await answers(world) == ["first", "one", "two", "three"]


async def test_a_restart_repeats_nothing(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
    for _ in range(2):
        async with world.running() as bot:
            await settled(bot)

    assert (prompts(world), await answers(world)) == (["hello"], ["hello"])


async def test_a_stop_lets_running_turns_finish(world: World) -> None:
    world.model.reply(Says("slowly but surely", chunks=3, stall_after=1))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        bot.runtime.stop()
        world.model.release.set()

    assert await answers(world) == ["slowly but surely"]


async def test_a_turn_that_was_cut_off_is_taken_up_said_once_and_keeps_its_message(
    world: World,
) -> None:
    """The live message of the former life becomes the answer; "restarted" is said once."""
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        live = await bot.people.next_message(ADA, contains="word")

        async def is_live() -> bool:
            return bool(await bot.rows("SELECT 1 FROM deliveries WHERE state = 'live'"))

        assert await is_live() or await bot.people.until(is_live)
        await cut_off(bot)
    world.model.say("the whole answer")
    async with world.running() as bot:
        final = await said(world, "the whole answer")
        await settled(bot)
        turns = await bot.rows("SELECT status, resumes FROM turns")

    assert final.id == live.id
    assert turns == [{"status": "ack", "resumes": 1}]
    assert await answers(world) == ["the whole answer"]  # the line that told of it is gone


async def test_a_turn_whose_pack_is_gone_asks_again_and_never_falls_through(world: World) -> None:
    """A conversation stays with its pack until a person moves it: design 3.2."""
    world.install("vocab")
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.ask("/use notes")
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        await cut_off(bot)
    (world.home.packs / "notes").unlink()
    world.model.say("from vocab")
    async with world.running() as bot:
        picker = await said(
            world,
            "The pack “notes” is not installed any more. Which one shall answer here? "
            "It waits, and so does what you write until you choose; one tap answers all of it.",
        )
        await bot.people.tap(ADA, ADA, picker.id, "pack:vocab")
        await said(world, "from vocab")
        await settled(bot)
        turns = await bot.rows("SELECT pack, status FROM turns ORDER BY id")

    assert turns == [{"pack": "notes", "status": "aborted"}, {"pack": "vocab", "status": "ack"}]


async def test_what_was_queued_and_never_sent_is_sent_by_the_next_life(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)

        def unsend(tx: Tx) -> None:
            tx.run("UPDATE deliveries SET state = 'queued', message_id = 0")

        await bot.app.shared.database.transact(unsend)
    async with world.running() as bot:
        await settled(bot)

    assert await answers(world) == ["hello", "hello"]


async def test_what_was_being_sent_may_have_arrived_and_is_only_offered(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE deliveries SET state='sending'")
        )
    async with world.running() as bot:
        await bot.people.next_message(ADA, contains="may not have arrived")
        await settled(bot)
    async with world.running() as bot:
        await settled(bot)

    assert len(await answers(world)) == 2


async def test_the_line_that_tells_of_a_doubt_is_not_lost_either(world: World) -> None:
    """The network eats the answer, and then the line that tells of it."""
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault("drop_before", method="sendMessage", times=2)
        await bot.people.say(ADA, ADA, "hello")
        told = await bot.people.next_message(ADA, contains="may not have arrived")
        await bot.people.tap(ADA, ADA, told.id, told.buttons[0].data)
        await said(world, "hello")
        await settled(bot)

    assert await answers(world) == [told.text, "hello"]


async def test_two_conversations_go_on_where_they_were(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("I am Ada")
        await bot.ask("I am Ben", user=BEN)
    async with world.running() as bot:
        await bot.ask("who?")
        await bot.ask("who?", user=BEN)

    ada, ben = (str(body["messages"]) for body in world.model.requests[2:])
    assert ("I am Ada" in ada, "I am Ben" in ada) == (True, False)
    assert ("I am Ada" in ben, "I am Ben" in ben) == (False, True)


async def test_a_stop_ends_a_turn_that_no_lane_has_taken_up_again(world: World) -> None:
    """It comes in before the lane's first claim; here the lane waits for something else."""
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        live = await bot.people.next_message(ADA, contains="word")
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE state = 'live'"))
        await cut_off(bot)
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'ready'"))
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE jobs SET state = 'parked'")
        )
    async with world.running() as bot:
        await bot.ask("/stop")
        await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")
        shown = [one.id for one in await bot.people.messages(ADA)]

    assert turns == [{"status": "aborted"}]
    assert live.id not in shown


async def test_a_stop_takes_away_what_two_lives_were_showing(world: World) -> None:
    """A status line, a message below it, the beginning of an answer; then the process ends."""
    release = asyncio.Event()

    async def run(wish: Arguments, context: ToolContext, call_id: str) -> str:
        await release.wait()
        return "done"

    world.tools = [tool("skill_slow", "Takes its time.", Nothing, run, group="memory")]
    world.config = {"tools": {"enabled": ["core", "memory"]}}
    world.model.call("skill_slow")
    world.model.call("msg", {"type": "text", "text": "between"})
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    live = "SELECT 1 FROM deliveries WHERE state = 'live'"
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="skill_slow")
        release.set()
        await bot.people.next_message(ADA, contains="word")
        await eventually(lambda: bot.rows(f"{live} LIMIT 1 OFFSET 1"))
        await cut_off(bot)
    world.model.stall(after_chunks=0)
    async with world.running() as bot:
        await said(world, "I was restarted while answering; continuing.")
        await bot.ask("/stop")
        await settled(bot)

    assert await answers(world) == [
        "between",
        "I was restarted while answering; continuing.",
        "Stopped.",
    ]


async def test_a_message_that_is_being_read_does_not_shrink_when_its_turn_is_taken_up(
    world: World,
) -> None:
    """What stood there stays until the new words are more, or all."""
    world.model.reply(Says("first " * 60, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        live = await bot.people.next_message(ADA, contains="first " * 30)
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE state = 'live'"))
        await cut_off(bot)
    whole = "again " * 119 + "end"
    world.model.reply(Says(whole, chunks=40, stall_after=(0, 4, 30)))
    async with world.running() as bot:
        for words in ("Thinking…", "Thinking…", "again"):
            await world.model.stalled.wait()
            await bot.people.next_message(ADA, contains=words)
            await looked_twice(world)
            world.model.stalled.clear()
            world.model.release.set()
            world.model.release.clear()
        await said(world, whole)
        await settled(bot)

    edits = await world.people.calls("editMessageText")
    seen = [
        str(edit["params"]["text"]).partition("\n\nThinking…")[0]
        for edit in edits
        if edit["params"]["message_id"] == live.id
    ]
    assert [len(text) for text in seen] == sorted(len(text) for text in seen)
    assert seen[-1] == whole
    assert await answers(world) == [whole]


async def looked_twice(world: World) -> None:
    """Typing is shown by whoever looks whether there is something new to show."""
    before = len(await world.people.calls("sendChatAction"))

    async def look() -> bool:
        return len(await world.people.calls("sendChatAction")) >= before + 2

    await eventually(look)
