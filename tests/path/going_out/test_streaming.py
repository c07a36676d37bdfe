"""What a person sees while an answer is made. Source: design §3.6, `TurnView`."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.emulator import FAMILY
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Says, words_of
from tests.path.looking import alone, answers, said, settled
from tests.path.world import ADA, WAIT_S, World

SPEED = 40.0
ALSO_SLOW = {"tools": {"enabled": ["core", "memory"]}}


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock(speed=SPEED)
    return clock


def words(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{number}" for number in range(count))


async def shown_ids(world: World, chat: int = ADA) -> list[int]:
    return [m.id for m in await world.people.messages(chat) if m.from_bot]


async def calls(world: World, *methods: str) -> list[dict[str, Any]]:
    return [call for call in await world.people.calls() if call["method"] in methods]


class Slow(Arguments):
    pass


def waiting_tool(begun: asyncio.Event, release: asyncio.Event) -> Tool:
    """A tool under a permitted name's group that runs until a test lets it end."""

    async def run(wish: Slow, context: ToolContext, call_id: str) -> str:
        begun.set()
        await release.wait()
        return "slow result"

    return tool("skill_slow", "Takes its time.", Slow, run, group="memory")


async def test_an_answer_that_is_there_at_once_is_one_message_and_no_edit(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)

    assert len(await calls(world, "sendMessage", "editMessageText")) == 1


async def test_a_growing_answer_is_shown_and_its_message_becomes_the_final_one(
    world: World,
) -> None:
    whole = words(60)
    world.model.reply(Says(whole, chunks=4, stall_after=2))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        live = await bot.people.next_message(ADA, contains="word0")
        world.model.release.set()
        final = await said(world, whole)
        await settled(bot)

    assert whole.startswith(live.text)
    assert (final.id, await shown_ids(world)) == (live.id, [live.id])


async def test_a_status_line_appears_when_the_answer_takes_a_while_and_turns_into_it(
    world: World,
) -> None:
    world.model.stall(after_chunks=0, text="here it is")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        status = await bot.people.next_message(ADA)
        world.model.release.set()
        final = await said(world, "here it is")
        typing = await calls(world, "sendChatAction")

    assert (status.text, final.id) == ("Thinking…", status.id)
    assert typing[0]["params"]["action"] == "typing"


async def test_a_status_line_names_the_tool_that_runs(world: World) -> None:
    begun, release = asyncio.Event(), asyncio.Event()
    world.tools, world.config = [waiting_tool(begun, release)], ALSO_SLOW
    world.model.call("skill_slow")
    world.model.say("done")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        status = await bot.people.next_message(ADA, contains="skill_slow")
        release.set()
        final = await said(world, "done")

    assert (status.text, final.id) == ("Working: skill_slow …", status.id)


async def test_a_status_line_names_no_tool_where_the_owner_wants_none(world: World) -> None:
    """`ui.show_tool_calls: false`."""
    begun, release = asyncio.Event(), asyncio.Event()
    world.tools = [waiting_tool(begun, release)]
    world.config = ALSO_SLOW | {"ui": {"show_tool_calls": False}}
    world.model.call("skill_slow")
    world.model.say("done")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        status = await bot.people.next_message(ADA)
        release.set()
        await said(world, "done")

    assert status.text == "Thinking…"


async def test_text_before_a_tool_call_is_replaced_by_the_answer(world: World) -> None:
    """Only the last dispatch's text is the answer."""
    begun, release = asyncio.Event(), asyncio.Event()
    world.tools, world.config = [waiting_tool(begun, release)], ALSO_SLOW
    world.model.calls(CallPart("skill_slow"), text=words(40, "first"))
    world.model.say("done")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        async with asyncio.timeout(WAIT_S):
            await begun.wait()
        release.set()
        await said(world, "done")
        await settled(bot)

    assert await answers(world) == ["done"]


async def test_an_answer_longer_than_a_message_rolls_over_and_loses_nothing(world: World) -> None:
    """4,096 UTF-16 units a message. Source: core.telegram.org/bots/api#sendmessage."""
    whole = "\n\n".join(f"{number}. " + "lorem ipsum dolor " * 12 for number in range(40))
    world.model.reply(Says(whole, chunks=20, stall_after=18))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="25. ")
        during = await shown_ids(world)
        world.model.release.set()
        await bot.people.next_message(ADA, contains="39. ")
        await settled(bot)

    parts = await answers(world)
    assert len(during) >= 2
    assert during == (await shown_ids(world))[: len(during)]
    assert all(len(part.encode("utf-16-le")) // 2 <= 4096 for part in parts)
    assert "".join("".join(parts).split()) == "".join(whole.split())


async def test_a_stop_behind_a_whole_message_leaves_that_one_as_it_is(world: World) -> None:
    whole = "\n\n".join(f"{number}. " + "lorem ipsum dolor " * 12 for number in range(40))
    world.model.reply(Says(whole, chunks=20, stall_after=18))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="25. ")
        await bot.ask("/stop")
        await settled(bot)

    first, second, stopped = await answers(world)
    assert stopped == "Stopped."
    assert first.startswith("0. ")
    assert "…" not in first
    assert second.endswith("…")
    assert "".join(whole.split()).startswith("".join(first.split()))


async def test_long_talk_before_a_tool_leaves_nothing_behind(world: World) -> None:
    """Two messages were filled before the tool; the answer is short."""
    begun, release = asyncio.Event(), asyncio.Event()
    world.tools, world.config = [waiting_tool(begun, release)], ALSO_SLOW
    talk = "\n\n".join("lorem ipsum dolor " * 12 for _ in range(40))
    world.model.reply(Says(talk, (CallPart("skill_slow"),), chunks=20, stall_after=18))
    world.model.say("done")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")

        async def two() -> bool:
            return len(await shown_ids(world)) >= 2

        await bot.people.until(two)
        world.model.release.set()
        release.set()
        await said(world, "done")
        await settled(bot)

    assert await answers(world) == ["done"]


async def test_edits_are_paced(world: World, clock: FastClock) -> None:
    """At least 1.2 s apart in a private chat, and never for less than 50 new characters."""
    whole = words(800, "w")[:3_899]
    world.model.reply(Says(whole, chunks=120))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await said(world, whole)
        await settled(bot)
        made = await calls(world, "sendMessage", "editMessageText")

    texts = [call["params"]["text"] for call in made[:-1]]
    assert all(len(after) - len(before) >= 50 for before, after in pairwise(texts))
    assert len(made) <= 12


async def test_with_streaming_off_an_answer_is_exactly_one_message(world: World) -> None:
    """contract: no status message, one `sendMessage`, also when a tool runs."""
    world.config = {"telegram": {"streaming": "off"}}
    world.model.call("skill_view", {"name": "review"})
    world.model.reply(Says(words(60), chunks=6, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        await bot.ask("hello", user=1002)
        world.model.release.set()
        await said(world, words(60))
        made = [
            call
            for call in await calls(world, "sendMessage", "editMessageText")
            if int(call["params"]["chat_id"]) == ADA
        ]

    assert [call["method"] for call in made] == ["sendMessage"]


async def test_a_turn_that_fails_says_so_in_the_message_it_was_filling(world: World) -> None:
    world.config = {"provider": {"backend": "fake", "model": "scripted", "max_retries": 0}}
    world.model.reply(Says(words(60), chunks=6, stall_after=4, cut_after=5))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        live = await bot.people.next_message(ADA, contains="word0")
        world.model.release.set()
        failed = await bot.people.next_message(ADA, contains="The model service")
        await settled(bot)

    assert (failed.id, len(await answers(world))) == (live.id, 1)


async def test_the_final_text_is_what_the_model_said_formatting_apart(world: World) -> None:
    world.model.reply(Says("**Bold** and `code`, and 1 < 2 & so on", chunks=9))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        final = await said(world, "Bold and code, and 1 < 2 & so on")

    kinds = [entity["type"] for entity in final.raw["entities"]]
    assert kinds == ["bold", "code"]


async def test_in_a_group_the_answer_replies_to_its_question(world: World) -> None:
    world.config = {"telegram": {"groups": "all"}}
    async with world.running() as bot:
        question = await bot.people.say(ADA, FAMILY, "hello")
        answer = await bot.people.next_message(FAMILY, after=question.id)

    assert answer.reply_to == question.id


async def test_what_msg_said_word_for_word_is_not_said_again(world: World) -> None:
    """design §3.6: only the same text, not every final."""
    world.model.call("msg", {"type": "text", "text": "Done and **saved**."})
    world.model.say("Done and saved.")
    world.model.call("msg", {"type": "text", "text": "Done."})
    world.model.say("Done, and more.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        await said(world, "Done and saved.")
        await bot.people.say(ADA, ADA, "two")
        await said(world, "Done, and more.")
        await settled(bot)

    assert await answers(world) == ["Done and saved.", "Done.", "Done, and more."]


async def test_msg_shows_things_in_order_before_the_answer(world: World) -> None:
    """photo, text, final arrive in that order."""
    world.model.calls(
        CallPart(
            "msg", {"type": "photo", "url": "https://example.org/a.png", "text": "A", "tag": "a"}
        ),
        CallPart("msg", {"type": "text", "text": "below", "reply_to": "a"}),
        CallPart("msg", {"type": "keyboard", "text": "More?", "buttons": '["Yes|y", "No|n"]'}),
    )
    world.model.say("final")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await said(world, "final")
        await settled(bot)
        shown = [m for m in await bot.people.messages(ADA) if m.from_bot]

    assert [m.text for m in shown] == ["A", "below", "More?", "final"]
    assert "photo" in shown[0].raw
    assert shown[1].reply_to == shown[0].id
    assert [b.text for b in shown[2].buttons] == ["Yes", "No"]
    first = json.loads(words_of(world.model.requests[1]["messages"][-3]).partition("\n")[0])
    assert (first["ok"], first["message_id"], "note" in first) == (True, shown[0].id, False)


async def test_a_secret_of_ours_does_not_leave_with_an_answer(world: World) -> None:
    world.config = {"groq": {"api_key": "gsk_abcdefghijklmnop1234567890"}}
    world.model.say("The key is gsk_abcdefghijklmnop1234567890, keep it safe.")
    async with world.running() as bot:
        answer = await bot.ask("what is the key?")
        stored = await bot.rows("SELECT text FROM messages WHERE role = 'assistant'")

    assert "gsk_abcdefghijkl" not in answer.text + str(stored)


async def test_a_question_is_not_typed_at_for_hours(world: World, clock: FastClock) -> None:
    """While a person thinks, nothing claims that we are typing or thinking."""
    world.model.call("clarify", {"message": "Which?", "options": ["a"]})
    world.model.say("noted")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        question = await bot.people.next_message(ADA, contains="Which?")
        await settled_question(world)
        before = len(await calls(world, "sendChatAction"))
        for _ in range(5):
            clock.jump(600)
            await bot.ask("hello", user=1002)
        during = [
            call
            for call in (await calls(world, "sendChatAction"))[before:]
            if int(call["params"]["chat_id"]) == ADA
        ]
        await bot.people.tap(ADA, ADA, question.id, question.buttons[0].data)

    assert len(during) <= 1


async def test_a_status_line_goes_when_a_question_is_asked(world: World) -> None:
    """A message with no word of an answer is not left above the question, perhaps for hours."""
    question = {"message": "Which?", "options": ["a"]}
    world.model.reply(Says(calls=(CallPart("clarify", question),), stall_after=0))
    world.model.say("noted")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        status = await bot.people.next_message(ADA, contains="Thinking…")
        world.model.release.set()
        card = await alone(world, "Which?")
        await bot.people.tap(ADA, ADA, card.id, card.buttons[0].data)
        final = await said(world, "noted")
        await settled(bot)

    assert status.id < card.id
    assert await shown_ids(world) == [card.id, final.id]


async def test_words_stay_above_a_question_without_their_status_line(world: World) -> None:
    """A service gave up in the middle, and was asked again."""
    world.config = {"provider": {"backend": "fake", "model": "scripted", "max_retries": 2}}
    world.model.reply(Says(words(60), chunks=6, stall_after=4, cut_after=5))
    question = {"message": "Which?", "options": ["a"]}
    world.model.reply(Says(calls=(CallPart("clarify", question),), stall_after=0))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        live = await bot.people.next_message(ADA, contains="word0")
        world.model.release.set()
        world.model.release.clear()

        async def shown() -> list[str]:
            return [m.text for m in await bot.people.messages(ADA) if m.from_bot]

        async def has_status() -> bool:
            (text,) = await shown()
            return text.startswith(live.text) and text.endswith("…")

        await bot.people.until(has_status)
        world.model.release.set()

        async def has_none() -> bool:
            first, *cards = await shown()
            return cards == ["Which?"] and first.startswith(live.text) and "…" not in first

        await bot.people.until(has_none)


async def settled_question(world: World) -> None:
    async with asyncio.timeout(WAIT_S):
        await world.people.next_message(ADA, contains="Which?")


async def test_a_secret_is_not_shown_while_an_answer_grows_nor_left_by_a_stop(world: World) -> None:
    token = world.emulator.token
    words = f"The token is {token}, and that is all there is to say of it. " * 3
    world.model.reply(Says(words, chunks=2, stall_after=1))
    async with world.running() as bot:
        await world.people.say(ADA, ADA, "What is the token?")
        await world.people.next_message(ADA, contains="The token is")
        await world.people.say(ADA, ADA, "/stop")
        await world.people.next_message(ADA, contains="Stopped.")
        await settled(bot)
        shown = [m.text for m in await world.people.messages(ADA)]
        rows = await bot.rows("SELECT body FROM deliveries")

    assert [text for text in shown if token in text] == []
    assert [row for row in rows if token in row["body"]] == []
