"""Flood control and failing calls: one chat waits, in order, nothing lost; the others go on.

Source: issue 4 ("Limits and faults"), behaviours 34 and 51-55 of the reference.
"""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from aouo.emulator import HOUSEHOLD
from aouo.facts.address import ConversationAddress
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, BEN, Running, World

PENALTY_S = 3000


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock()
    return clock


async def visible(world: World, chat: int) -> list[dict[str, Any]]:
    """Every call to a chat, typing too."""
    calls = await world.people.calls()
    return [call for call in calls if call["params"].get("chat_id") == chat]


async def flooded(bot: Running) -> None:
    await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE error LIKE '%retry%'"))


async def test_a_penalty_silences_one_chat_until_its_time_and_nothing_is_lost(
    world: World, clock: FastClock
) -> None:
    """Not one call before that, typing included; then what waited, in its order."""
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault(
            "status", method="sendMessage", chat=ADA, status=429, retry_after=PENALTY_S
        )
        await bot.people.say(ADA, ADA, "one")
        await flooded(bot)
        before = len(await visible(world, ADA))
        world.model.reply(Says("two", stall_after=0))
        await bot.people.say(ADA, ADA, "two")
        await world.model.stalled.wait()
        others = [await bot.ask(text, user=BEN) for text in ("hello", "and again")]
        clock.jump(PENALTY_S / 2)
        others.append(await bot.ask("still there?", user=BEN))
        world.model.release.set()
        await bot.people.say(ADA, ADA, "three")
        await eventually(lambda: bot.rows("SELECT 1 FROM turns WHERE rowid = 6"))
        meanwhile = len(await visible(world, ADA))
        clock.jump(PENALTY_S)
        await said(world, "three")

    assert meanwhile == before
    assert [message.text for message in others] == ["hello", "and again", "still there?"]
    assert await answers(world) == ["one", "two", "three"]


async def test_a_penalty_counts_for_all_topics_of_its_chat(world: World, clock: FastClock) -> None:
    """Telegram counts by chat: a call for another topic would be refused and lengthen it."""
    world.config = {"telegram": {"groups": "all", "streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault(
            "status", method="sendMessage", chat=HOUSEHOLD, status=429, retry_after=PENALTY_S
        )
        await bot.people.say(ADA, HOUSEHOLD, "one", thread=2)
        await flooded(bot)
        await bot.people.say(ADA, HOUSEHOLD, "two", thread=3)
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE thread_id = '3'"))
        await bot.ask("hello", user=BEN)
        meanwhile = await answers(world, HOUSEHOLD)
        clock.jump(PENALTY_S)
        await said(world, "one", HOUSEHOLD, 2)
        await said(world, "two", HOUSEHOLD, 3)

    assert meanwhile == []


async def test_a_penalty_on_the_last_edit_waits_and_shows_the_whole_text(
    world: World, clock: FastClock
) -> None:
    """Never half an answer."""
    whole = "word " * 100
    world.model.reply(Says(whole, chunks=10, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        live = await bot.people.next_message(ADA, contains="word")
        await bot.people.fault(
            "status", method="editMessageText", chat=ADA, status=429, retry_after=PENALTY_S, times=2
        )
        world.model.release.set()
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'done'"))
        await bot.ask("hello", user=BEN)
        clock.jump(PENALTY_S)

        async def refused_twice() -> bool:
            return not await bot.people.faults_pending()

        await eventually(refused_twice)
        clock.jump(PENALTY_S)
        final = await said(world, whole.strip())
        await settled(bot)

    assert final.id == live.id
    assert await answers(world) == [whole.strip()]


async def test_live_edits_come_half_as_often_after_a_penalty(
    world: World, clock: FastClock
) -> None:
    world.model.reply(Says("word " * 100, chunks=10, stall_after=(3, 6)))
    address = ConversationAddress("tg", str(ADA))
    async with world.running() as bot:
        usual = bot.app.outbox.edit_interval_s(address)
        await bot.people.fault("status", method="editMessageText", chat=ADA, status=429)
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="word")
        world.model.release.set()
        world.model.release.clear()

        async def slower() -> bool:
            await bot.people.calls()
            return bot.app.outbox.edit_interval_s(address) > usual

        await eventually(slower)
        after = bot.app.outbox.edit_interval_s(address)
        world.model.release.set()
        await said(world, ("word " * 100).strip())
        clock.jump(600)
        calm = bot.app.outbox.edit_interval_s(address)

    assert (usual, after, calm) == (1.2, 2.4, 1.2)


async def test_an_edit_that_changes_nothing_is_done(world: World) -> None:
    same = (
        "Bad Request: message is not modified: specified new message content and reply markup "
        "are exactly the same as a current content and reply markup of the message"
    )
    world.model.stall(after_chunks=0, text="here it is")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="Thinking")
        await bot.people.fault(
            "status", method="editMessageText", chat=ADA, status=400, description=same
        )
        with capture_logs() as logs:
            world.model.release.set()
            await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE kind = 'reply'"))
            await settled(bot)
        rows = await bot.rows("SELECT state FROM deliveries WHERE kind = 'reply'")
        made = await bot.people.calls("editMessageText")

    assert (rows, len(made)) == ([{"state": "sent"}], 1)
    assert [line for line in logs if line["log_level"] in ("warning", "error")] == []


BROKEN = [
    {"kind": "drop_before"},
    {"kind": "drop_after"},
    {"kind": "garbage"},
    {"kind": "status", "status": 502},
]


@pytest.mark.parametrize("fault", BROKEN, ids=lambda fault: f"{fault['kind']}")
async def test_a_send_without_a_readable_answer_is_not_repeated_and_told_once(
    world: World, fault: dict[str, Any]
) -> None:
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault(**fault, method="sendMessage", chat=ADA)
        await bot.people.say(ADA, ADA, "hello")
        await bot.people.next_message(ADA, contains="may not have arrived")
        await settled(bot)
        shown = await answers(world)

    assert shown.count("hello") <= 1
    assert sum("may not have arrived" in text for text in shown) == 1


@pytest.mark.parametrize("fault", BROKEN, ids=lambda fault: f"{fault['kind']}")
async def test_an_edit_without_a_readable_answer_is_made_again(
    world: World, fault: dict[str, Any]
) -> None:
    world.model.stall(after_chunks=0, text="here it is")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="Thinking")
        await bot.people.fault(**fault, method="editMessageText", chat=ADA)
        world.model.release.set()
        await said(world, "here it is")
        await settled(bot)

    assert await answers(world) == ["here it is"]


@pytest.mark.parametrize("fault", BROKEN, ids=lambda fault: f"{fault['kind']}")
async def test_an_offer_that_may_not_have_arrived_is_told_too(
    world: World, fault: dict[str, Any]
) -> None:
    """A notice with buttons is lost like an answer, and shown again with them."""
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "one")
        await said(world, "one")
        await bot.people.fault(**fault, method="sendMessage", chat=ADA)
        await bot.people.edit(ADA, ADA, asked.id, "two")
        note = await bot.people.next_message(ADA, contains="may not have arrived")
        await bot.people.tap(ADA, ADA, note.id, note.buttons[0].data)
        again = await bot.people.next_message(ADA, after=note.id)
        await bot.people.tap(ADA, ADA, again.id, again.buttons[0].data)
        await said(world, "two")

    assert [button.text for button in again.buttons] == ["Answer again"]


async def test_a_refusal_of_a_stranger_that_got_lost_is_told_to_nobody(world: World) -> None:
    async with world.running() as bot:
        eve = await bot.people.create_user("Eve")
        await bot.people.fault("drop_before", method="sendMessage", chat=eve)
        await bot.people.say(eve, eve, "let me in")
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE state = 'unknown'"))
        await bot.ask("hello")

    assert await answers(world, eve) == []


async def test_a_message_that_is_too_large_is_refused_once_and_holds_up_nothing(
    world: World,
) -> None:
    """413 comes from Telegram, and from a proxy that allows less; it never passes."""
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault(
            "status", method="sendMessage", status=413, description="Request Entity Too Large"
        )
        await bot.people.say(ADA, ADA, "one")
        await settled(bot)
        await bot.ask("two")
        rows = await bot.rows("SELECT state, attempts, error FROM deliveries ORDER BY id LIMIT 1")

    assert rows == [{"state": "refused", "attempts": 1, "error": "Request Entity Too Large (413)"}]
    assert await answers(world) == ["two"]
