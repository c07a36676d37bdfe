"""Blocked, put out, muted: the chat is left alone, its work waits, nothing of others is touched.

Source: issue 4 ("Limits and faults"), behaviour 59 and the table of errors of the reference.
"""

from __future__ import annotations

import pytest

from aouo.emulator import FAMILY, HOUSEHOLD
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.path.looking import answers, eventually, prompts, route, said, settled
from tests.path.world import ADA, BEN, Running, World

OFF = {"telegram": {"streaming": "off", "groups": "all"}}
EDITS = {"telegram": {"streaming": "edits", "groups": "all"}}


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.config = OFF
    world.clock = clock = FastClock()
    return clock


async def waits(bot: Running) -> None:
    """Wait until we know that the chat is gone, and nothing is at work."""
    await eventually(lambda: bot.rows("SELECT 1 FROM gone_chats"))
    await settled(bot)


async def sends(world: World, chat: int) -> int:
    calls = await world.people.calls()
    return sum(
        call["params"].get("chat_id") == chat
        and call["method"].startswith(("send", "edit"))
        and call["method"] != "sendChatAction"
        for call in calls
    )


async def test_who_blocks_the_bot_ends_its_work_and_what_waited_goes_on_when_they_are_back(
    world: World,
) -> None:
    """The running answer is cancelled, not one call is made to the chat, jobs wait."""
    world.model.stall(after_chunks=0, text="too late")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "long work")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "and then this")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 2"))
        await bot.people.block(ADA)
        await waits(bot)
        jobs = await bot.rows("SELECT state, outcome FROM jobs WHERE id <= 2 ORDER BY id")
        turns = await bot.rows("SELECT status FROM turns")
        gone = (await route(bot))["gone"]
        made = await sends(world, ADA)
        world.model.release.set()
        other = await bot.ask("hello", user=BEN)
        await bot.people.unblock(ADA)
        await said(world, "and then this")
        back = (await route(bot))["gone"]

    assert [job["state"] for job in jobs] == ["done", "parked"]
    assert turns == [{"status": "aborted"}]
    assert (bool(gone), back, made) == (True, "", 0)
    assert other.text == "hello"
    assert await answers(world) == ["and then this"]


async def test_writing_again_is_as_good_as_unblocking_also_after_a_restart(world: World) -> None:
    world.model.stall(after_chunks=0, text="too late")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "long work")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "first")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 2"))
        await bot.people.block(ADA)
        await waits(bot)
        world.model.release.set()
    async with world.running() as bot:
        await bot.ask("hello", user=BEN)
        still = await bot.rows("SELECT state FROM jobs WHERE id = 2")
        await bot.people.say(ADA, ADA, "second")
        await said(world, "second")

    assert still == [{"state": "parked"}]
    assert prompts(world)[-2:] == ["first", "second"]
    assert await answers(world) == ["first", "second"]


@pytest.mark.parametrize("description", ["user is deactivated", "bot was blocked by the user"])
async def test_a_send_that_is_forbidden_is_not_tried_again_and_drops_the_queue(
    world: World, description: str
) -> None:
    """When Telegram tells it only as the answer to a call."""
    async with world.running() as bot:
        await bot.ask("hello")
        await bot.people.fault(
            "status", method="sendMessage", chat=ADA, status=403, times=9, description=description
        )
        await bot.people.say(ADA, ADA, "one")
        await waits(bot)
        refused = await bot.rows("SELECT error FROM deliveries WHERE state = 'refused'")
        made = await sends(world, ADA)
        await bot.people.clear_faults()
        back = await bot.ask("two")

    assert [description in row["error"] for row in refused] == [True]
    assert (made, back.text) == (2, "two")


@pytest.mark.parametrize("method", ["sendChatAction", "editMessageText"])
async def test_a_running_turn_ends_when_its_chat_turns_out_to_be_gone(
    world: World, method: str
) -> None:
    """Typing and live edits notice it first."""
    world.config = EDITS
    world.model.reply(Says("word " * 60, chunks=6, stall_after=(1, 3)))
    async with world.running() as bot:
        await bot.people.fault(
            "status", method=method, chat=ADA, status=403, times=9, description="Forbidden: gone"
        )
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA) if method[0] == "e" else None
        world.model.release.set()
        world.model.release.clear()
        await waits(bot)
        turns = await bot.rows("SELECT status FROM turns")
        await bot.people.clear_faults()
        world.model.release.set()
        back = await bot.ask("hello")

    assert turns == [{"status": "aborted"}]
    assert back.text in {"hello", ("word " * 60).strip()}, "who ended before asking left the script"


async def test_a_group_that_puts_the_bot_out_is_left_alone_with_all_its_topics(
    world: World,
) -> None:
    async def both_asked() -> bool:
        return len(world.model.requests) == 2

    world.model.reply(*[Says("too late", stall_after=0)] * 2)
    async with world.running() as bot:
        for thread in (2, 3):
            await bot.people.say(ADA, HOUSEHOLD, "go", thread=thread)
        await eventually(both_asked)
        await bot.people.set_bot_status(BEN, HOUSEHOLD, "kicked")
        await waits(bot)
        turns = await bot.rows("SELECT status FROM turns")
        world.model.release.set()
        family = await bot.ask("hello", chat=FAMILY)
        await bot.people.set_bot_status(BEN, HOUSEHOLD, "administrator")
        again = await bot.ask("back?", chat=HOUSEHOLD, thread=2)

    assert turns == [{"status": "aborted"}] * 2
    assert (family.text, again.text) == ("hello", "back?")


async def test_the_owner_is_told_once_where_the_bot_is_muted(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await bot.ask("hello", chat=FAMILY)
        await bot.people.set_bot_status(BEN, FAMILY, "restricted")
        told = await bot.people.next_message(ADA, contains="not allowed to write")
        await settled(bot)
        await bot.people.say(ADA, FAMILY, "are you there?")
        await waits(bot)
        await bot.people.set_bot_status(BEN, FAMILY, "administrator")
        again = await bot.ask("and now?", chat=FAMILY)

    assert str(FAMILY) in told.text
    assert again.text == "and now?"
    assert sum("not allowed" in text for text in await answers(world)) <= 2


async def test_being_muted_is_also_learned_from_a_refused_send(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await bot.people.fault(
            "status",
            method="sendMessage",
            chat=FAMILY,
            status=400,
            times=3,
            description="Bad Request: not enough rights to send text messages to the chat",
        )
        await bot.people.say(ADA, FAMILY, "one")
        await bot.people.next_message(ADA, contains="not allowed to write")
        await waits(bot)
        made = await sends(world, FAMILY)

    assert made == 1


async def test_a_refused_picture_does_not_close_the_chat(world: World) -> None:
    """Only text counts: the rest of the answer still arrives."""
    world.model.call("msg", {"type": "photo", "url": "https://example.org/a.png", "text": "A"})
    world.model.say("no picture, but words")
    async with world.running() as bot:
        await bot.people.fault(
            "status",
            method="sendPhoto",
            chat=FAMILY,
            status=400,
            description="Bad Request: not enough rights to send photos to the chat",
        )
        answer = await bot.ask("go", chat=FAMILY)

    assert answer.text == "no picture, but words"


async def test_a_stranger_who_blocks_the_bot_leaves_no_trace(world: World) -> None:
    async with world.running() as bot:
        eve = await bot.people.create_user("Eve")
        await bot.people.block(eve)
        await bot.people.unblock(eve)
        await bot.ask("hello")
        rows = await bot.rows("SELECT 1 FROM jobs")
        gone = await bot.rows("SELECT 1 FROM gone_chats")

    assert (len(rows), gone) == (1, [])


async def test_who_blocks_the_bot_while_flood_control_holds_an_answer_back_is_answered_later(
    world: World, clock: FastClock
) -> None:
    """The turn waits for its first message to arrive; that it will not has to be told, or the
    turn would never end and nothing would ever be answered there again."""
    world.config = EDITS
    world.model.reply(Says("word " * 60, chunks=6, stall_after=3))
    async with world.running() as bot:
        await bot.people.fault(
            "status", method="sendMessage", chat=ADA, status=429, retry_after=600
        )
        await bot.people.say(ADA, ADA, "go")
        held_back = (
            "SELECT 1 FROM deliveries WHERE kind = 'live' AND state = 'queued' AND error > ''"
        )
        await eventually(lambda: bot.rows(held_back))
        await bot.people.block(ADA)
        await waits(bot)
        turns = await bot.rows("SELECT status FROM turns")
        world.model.release.set()
        await bot.people.unblock(ADA)
        clock.jump(600.0)
        back = await bot.ask("hello")

    assert turns == [{"status": "aborted"}]
    assert back.text in {"hello", ("word " * 60).strip()}, "who ended before asking left the script"
