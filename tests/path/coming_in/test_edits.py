"""Edited messages: what waits is replaced, a running turn is told, an answer is offered anew.

Source: issue 4 (inbound), reference telegram.md §7.7.
"""

from __future__ import annotations

import asyncio
import json

import pytest
from structlog.testing import capture_logs

from aouo.emulator import FAMILY, HOUSEHOLD, VOCAB, ChatMessage
from aouo.words.catalogue import text
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Says
from tests.path.looking import answers, cut_off, eventually, prompts, said, settled
from tests.path.memory.test_off_the_record import SECRET, erased, kept
from tests.path.world import ADA, BEN, WAIT_S, Running, World

OFFER = "You edited a message that I had answered."


@pytest.fixture(autouse=True)
def installed(world: World) -> None:
    world.install("notes")


async def outcomes(bot: Running) -> list[str]:
    """What became of each edit, in order."""
    rows = await bot.rows("SELECT body, outcome FROM jobs WHERE state = 'done' ORDER BY id")
    return [row["outcome"] for row in rows if '"Edited"' in row["body"]]


async def applied(bot: Running, count: int) -> list[str]:
    async def look() -> list[str] | None:
        found = await outcomes(bot)
        return found if len(found) >= count else None

    found = await eventually(look)
    assert found
    return found


async def offered(world: World, chat: int = ADA, thread: int | None = None) -> ChatMessage:
    async def look() -> ChatMessage | None:
        shown = await world.people.messages(chat, thread)
        return next((one for one in shown if one.from_bot and one.text.startswith(OFFER)), None)

    return await world.people.until(look)


async def wait_until_asked(world: World) -> None:
    """Wait until the model is asked and stalls."""
    async with asyncio.timeout(WAIT_S):
        await world.model.stalled.wait()


# It has not begun


async def test_a_message_that_still_gathers_is_replaced(world: World) -> None:
    world.clock = clock = FastClock()
    world.config = {"telegram": {"message_batch_ms": 60_000}}
    async with world.running() as bot:
        first = await bot.people.say(ADA, ADA, "milk")
        second = await bot.people.say(ADA, ADA, "bread")
        third = await bot.people.say(ADA, ADA, "eggs")
        await eventually(lambda: _gathered(bot, "milk\nbread\neggs"))
        await bot.people.edit(ADA, ADA, second.id, "two loaves")
        await bot.people.edit(ADA, ADA, third.id, "six eggs")
        await bot.people.edit(ADA, ADA, first.id, "oat milk")
        await applied(bot, 3)
        clock.jump(60)
        await settled(bot)

    assert prompts(world) == ["oat milk\ntwo loaves\nsix eggs"]


async def _gathered(bot: Running, text: str) -> bool:
    rows = await bot.rows("SELECT body FROM jobs WHERE state = 'gathering'")
    return [json.loads(row["body"])["content"]["text"] for row in rows] == [text]


async def test_a_message_that_waits_behind_a_turn_is_replaced(world: World) -> None:
    world.model.reply(Says("First.", stall_after=0))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await wait_until_asked(world)
        second = await bot.people.say(ADA, ADA, "tow")
        await bot.people.edit(ADA, ADA, second.id, "two")
        assert await applied(bot, 1) == ["replaced before its turn"]
        world.model.release.set()
        await said(world, "two")
        await settled(bot)

    assert prompts(world) == ["one", "two"]


async def test_a_command_that_waits_is_replaced_too(world: World) -> None:
    world.install("vocab")
    world.model.reply(Says("First.", stall_after=0))
    async with world.running() as bot:
        await bot.ask("/use notes")
        await bot.people.say(ADA, ADA, "one")
        await wait_until_asked(world)
        second = await bot.people.say(ADA, ADA, "/use vocb")
        await bot.people.edit(ADA, ADA, second.id, "/use vocab")
        await applied(bot, 1)
        world.model.release.set()
        await said(world, "“vocab” answers here now.")


async def test_a_message_that_is_parked_for_a_pack_is_replaced(world: World) -> None:
    world.install("vocab")
    async with world.running() as bot:
        first = await bot.people.say(ADA, ADA, "Helo")
        picker = await bot.people.next_message(ADA, after=first.id)
        await bot.people.edit(ADA, ADA, first.id, "Hello")
        assert await applied(bot, 1) == ["replaced before its turn"]
        await bot.people.tap(ADA, ADA, picker.id, "pack:notes")
        await said(world, "Hello\n\n— notes")


# Its turn runs


async def test_a_running_turn_is_told_with_its_next_call(world: World) -> None:
    world.model.reply(
        Says("", calls=(CallPart("memory", {"target": "memory", "action": "read"}),), stall_after=0)
    )
    world.model.say("Seven people, then.")
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "A table for six")
        await wait_until_asked(world)
        await bot.people.edit(ADA, ADA, asked.id, "A table for seven")
        assert await applied(bot, 1) == ["the running turn is told"]
        world.model.release.set()
        await said(world, "Seven people, then.")
        await settled(bot)
        kept_rows = await bot.rows("SELECT role, text FROM messages WHERE visible = 1 ORDER BY id")

    line = "[the person edited their message: A table for seven]"
    assert prompts(world) == ["A table for six", line]
    assert [row["text"] for row in kept_rows if row["role"] == "user"] == ["A table for six", line]
    assert len(await answers(world)) == 1


async def test_to_answer_again_is_to_answer_the_new_words_too(world: World) -> None:
    world.model.reply(
        Says(calls=(CallPart("memory", {"target": "user", "action": "read"}),), stall_after=0)
    )
    world.model.reply(Says("Both."), Says("Both again."))
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "bread")
        await wait_until_asked(world)
        await bot.people.edit(ADA, ADA, asked.id, "bread and milk")
        await applied(bot, 1)
        world.model.release.set()
        await said(world, "Both.")
        await bot.people.say(ADA, ADA, "/retry")
        await said(world, "Both again.")

    assert prompts(world)[-1] == "bread\n[the person edited their message: bread and milk]"


async def test_a_turn_that_ends_without_having_heard_offers_to_answer_again(world: World) -> None:
    world.model.reply(Says("For six.", stall_after=0))
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "A table for six")
        await wait_until_asked(world)
        await bot.people.edit(ADA, ADA, asked.id, "A table for seven")
        await bot.people.edit(ADA, ADA, asked.id, "A table for eight")
        await applied(bot, 2)
        world.model.release.set()
        offer = await offered(world)
        await bot.people.tap(ADA, ADA, offer.id, offer.buttons[0].data)
        await said(world, "A table for eight")
        await settled(bot)
        assert await bot.rows("SELECT 1 FROM edits WHERE state = 'untold'") == []

    assert prompts(world) == ["A table for six", "A table for eight"]


# It is answered


async def test_an_answered_message_is_offered_once_and_runs_with_the_newest_words(
    world: World,
) -> None:
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "one")
        await said(world, "one")
        await bot.people.edit(ADA, ADA, asked.id, "two")
        offer = await offered(world)
        await bot.people.edit(ADA, ADA, asked.id, "three")
        await applied(bot, 2)
        await bot.people.tap(ADA, ADA, offer.id, offer.buttons[0].data)
        await said(world, "three")
        await settled(bot)
        history = await bot.rows("SELECT text FROM messages WHERE visible = 1 ORDER BY id")

        assert [row["text"] for row in history] == ["one", "one", "three", "three"]
        assert await answers(world) == ["one", "I answer it now.", "three"]


async def test_edits_of_several_messages_that_were_answered_together_are_offered_together(
    world: World,
) -> None:
    world.clock = clock = FastClock()
    world.config = {"telegram": {"message_batch_ms": 60_000}}
    async with world.running() as bot:
        first = await bot.people.say(ADA, ADA, "milk")
        second = await bot.people.say(ADA, ADA, "bread")
        await eventually(lambda: _gathered(bot, "milk\nbread"))
        clock.jump(60)
        await settled(bot)
        await bot.people.edit(ADA, ADA, first.id, "oat milk")
        offer = await offered(world)
        await bot.people.edit(ADA, ADA, second.id, "two loaves")
        await bot.people.edit(ADA, ADA, second.id, "bread")
        await bot.people.edit(ADA, ADA, second.id, "rolls")
        await applied(bot, 4)
        await bot.people.tap(ADA, ADA, offer.id, offer.buttons[0].data)
        await eventually(lambda: _answered(world, 2))
        await settled(bot)

    assert prompts(world) == ["milk\nbread", "oat milk\nrolls"]


async def _answered(world: World, times: int) -> bool:
    return len(world.model.requests) == times


async def test_an_offer_is_taken_once(world: World) -> None:
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "one")
        await said(world, "one")
        await bot.people.edit(ADA, ADA, asked.id, "two")
        offer = await offered(world)
        await bot.people.tap(ADA, ADA, offer.id, offer.buttons[0].data)
        await said(world, "two")
        late = await bot.people.tap(ADA, ADA, offer.id, offer.buttons[0].data)
        await settled(bot)

        assert late == {"text": text("taps.expired"), "show_alert": True}
        assert prompts(world) == ["one", "two"]


async def test_what_was_answered_again_can_be_edited_again(world: World) -> None:
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "one")
        await said(world, "one")
        for words in ("two", "three"):
            await bot.people.edit(ADA, ADA, asked.id, words)
            offer = await offered(world)
            await bot.people.tap(ADA, ADA, offer.id, offer.buttons[0].data)
            await said(world, words)
        await settled(bot)

    assert prompts(world) == ["one", "two", "three"]


async def test_an_offer_is_for_the_person_who_wrote(world: World) -> None:
    async with world.running() as bot:
        asked = await bot.people.say(ADA, FAMILY, "@aouo_try_bot one")
        await said(world, "one", FAMILY)
        await bot.people.edit(ADA, FAMILY, asked.id, "@aouo_try_bot two")
        offer = await offered(world, FAMILY)
        tapped = await bot.people.tap(BEN, FAMILY, offer.id, offer.buttons[0].data)
        await settled(bot)

        assert tapped == {"text": text("taps.not-yours"), "show_alert": True}
        assert prompts(world) == ["one"]


async def test_an_edit_in_a_topic_is_answered_in_that_topic(world: World) -> None:
    world.install("vocab")
    async with world.running() as bot:
        asked = await bot.people.say(ADA, HOUSEHOLD, "der Hund", thread=VOCAB)
        await said(world, "der Hund", HOUSEHOLD, VOCAB)
        await bot.people.edit(ADA, HOUSEHOLD, asked.id, "die Katze")
        offer = await offered(world, HOUSEHOLD, VOCAB)
        await bot.people.tap(ADA, HOUSEHOLD, offer.id, offer.buttons[0].data)
        await said(world, "die Katze", HOUSEHOLD, VOCAB)


# Nothing happens


async def test_an_edit_that_changes_no_word_is_passed_over(world: World) -> None:
    """Telegram also tells of a link's preview that came or went."""
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "one")
        await said(world, "one")
        with capture_logs() as logs:
            await bot.people.edit(ADA, ADA, asked.id, "one")
            assert await applied(bot, 1) == ["unchanged"]
            await bot.ask("Anything new?")
        await settled(bot)

        assert await answers(world) == ["one", "Anything new?"]
        told = [line["outcome"] for line in logs if line["event"] == "message_edited"]
        assert told == ["unchanged"]


@pytest.mark.parametrize(
    ("before", "after"), [("/new", "/help"), ("/new", "Hello"), ("Hello", "/new")]
)
async def test_a_command_never_runs_again_nor_because_of_an_edit(
    world: World, before: str, after: str
) -> None:
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, before)
        await bot.people.next_message(ADA, after=asked.id)
        await bot.people.edit(ADA, ADA, asked.id, after)
        assert await applied(bot, 1) == ["a command runs once"]
        await settled(bot)

        assert len(await answers(world)) == 1


async def test_not_a_word_is_stored_of_an_edit_in_group_talk_that_was_not_for_us(
    world: World,
) -> None:
    async with world.running() as bot:
        talk = await bot.people.say(BEN, FAMILY, "Dinner at eight?")
        await bot.people.edit(BEN, FAMILY, talk.id, f"Dinner at {SECRET}?")
        await bot.ask("Hello")
        await settled(bot)

        assert SECRET.encode() not in kept(world)
        assert await outcomes(bot) == []


async def test_an_edit_of_what_was_stopped_before_its_turn_offers_nothing(world: World) -> None:
    """It was not answered, so it cannot be answered again."""
    world.model.reply(Says("First.", stall_after=0))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "milk")
        await wait_until_asked(world)
        waits = await bot.people.say(ADA, ADA, "bread")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE body LIKE '%bread%'"))
        await bot.people.say(ADA, ADA, "/stop")
        await bot.people.next_message(ADA, contains="Stopped")
        await settled(bot)
        before = await answers(world)
        await bot.people.edit(ADA, ADA, waits.id, "two loaves")
        assert await applied(bot, 1) == ["its job is over"]
        await settled(bot)
        after = await answers(world)

    assert after == before


async def test_a_button_of_an_offer_that_nobody_made_does_nothing(world: World) -> None:
    async with world.running() as bot:
        answer = await bot.ask("milk")
        tapped = await bot.people.tap(ADA, ADA, answer.id, "nav:edited_99")
        await settled(bot)

    assert tapped["text"] == text("taps.unknown")
    assert prompts(world) == ["milk"]


async def test_an_edit_of_a_stranger_is_not_kept(world: World) -> None:
    async with world.running() as bot:
        eve = await bot.people.create_user("Eve")
        asked = await bot.people.say(eve, eve, "Let me in")
        await bot.people.next_message(eve, after=asked.id)
        await bot.people.edit(eve, eve, asked.id, f"Let me in: {SECRET}")
        await bot.ask("Hello")
        await settled(bot)

        assert SECRET.encode() not in kept(world)
        assert len(await answers(world, eve)) == 1


async def test_an_edit_of_what_was_off_the_record_leaves_nothing(world: World) -> None:
    world.model.say("I see.")
    async with world.running() as bot:
        await bot.ask("/otr")
        asked = await bot.people.say(ADA, ADA, "my secret is a number")
        await said(world, "I see.")
        await settled(bot)
        await bot.people.edit(ADA, ADA, asked.id, f"my secret is {SECRET}")
        assert await applied(bot, 1) == ["words that were not kept"]
        await settled(bot)

        assert await erased(world)


async def test_an_edit_of_one_message_off_the_record_leaves_nothing(world: World) -> None:
    world.model.say("I see.")
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "/otr my secret is a number")
        await said(world, "I see.")
        await settled(bot)
        await bot.people.edit(ADA, ADA, asked.id, f"/otr my secret is {SECRET}")
        await applied(bot, 1)
        await settled(bot)

        assert await erased(world)


async def test_a_running_turn_off_the_record_is_told_and_leaves_nothing(world: World) -> None:
    world.model.reply(Says("I see.", stall_after=0))
    async with world.running() as bot:
        await bot.ask("/otr")
        asked = await bot.people.say(ADA, ADA, "my secret is a number")
        await wait_until_asked(world)
        await bot.people.edit(ADA, ADA, asked.id, f"my secret is {SECRET}")
        await applied(bot, 1)
        world.model.release.set()
        await said(world, "I see.")
        await settled(bot)

        assert await erased(world)
        assert await bot.rows("SELECT 1 FROM edits") == []


async def test_an_edit_is_not_forgotten_by_a_restart(world: World) -> None:
    """The turn is cut off before it heard; the next process tells it."""
    world.model.reply(Says("", stall_after=0))
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "A table for six")
        await wait_until_asked(world)
        await bot.people.edit(ADA, ADA, asked.id, "A table for seven")
        await applied(bot, 1)
        await cut_off(bot)
    world.model.release.set()
    async with world.running() as bot:
        edited = "[the person edited their message: A table for seven]"
        await said(world, f"A table for six\n\n{edited}")
        await settled(bot)
