"""Long conversations: older messages become a summary, and come back. Source: issue 3, Context."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

from aouo.app import lifecycle
from aouo.emulator import ChatMessage
from aouo.facts.events import Event, MemoryFlush
from aouo.plumbing.parts import Subscription
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Fails, Reply, Says, text_of, words_of
from tests.path.looking import eventually, settled
from tests.path.reloading.following import save, swap
from tests.path.world import ADA, BEN, WAIT_S, Running, World

PADDING = "and so on, with more words about the garden and the fence. " * 40
SUMMARY = "Ada plans a garden; the fence is to be green."
FACT = "Ada's fence is green"


class Model:
    """Answers turns with `ok N`, and the runtime's own calls with a summary and one fact."""

    def __init__(self) -> None:
        self.turns = 0
        self.failing = False
        self.too_long = 0
        self.stalls = False
        self.summary_tokens = 10

    def __call__(self, body: Body) -> Reply | str:
        wish = str(body["messages"][0]["content"])
        if "Summarise the conversation" in wish:
            if self.stalls:
                return Says("Slowly", chunks=5, stall_after=1)
            paid = (self.summary_tokens, 0, 5)
            return Fails(503) if self.failing else Says(SUMMARY, usage=paid)
        if "about to leave your view" in wish:
            return Fails(503) if self.failing else f"- {FACT}"
        if "Name this conversation" in wish:
            return Fails(503) if self.failing else "“The green fence”"
        if self.too_long:
            self.too_long -= 1
            return Fails(400, {"error": {"code": "context_length_exceeded"}})
        self.turns += 1
        return f"ok {self.turns}"


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def talk(world: World, model: Model) -> World:
    world.install("notes")
    world.model.script = model
    world.config = {"advanced": {"context_window": 5800}, "provider": PROVIDER}
    return world


def drained(events: Subscription) -> list[Event]:
    return [events.get_nowait() for _ in range(events.qsize())]


async def said(world: World, beginning: str) -> ChatMessage:
    """Wait for a message of the bot that holds these words."""

    async def look() -> ChatMessage | None:
        found = await world.people.messages(ADA)
        return next((m for m in reversed(found) if m.from_bot and beginning in m.text), None)

    return await world.people.until(look, WAIT_S)


PROVIDER = {"backend": "fake", "model": "scripted", "max_retries": 0}


async def say(world: World, bot: Running, model: Model, text: str) -> None:
    """One turn, to its end."""
    answer = f"ok {model.turns + 1}"
    await world.people.say(ADA, ADA, text)
    await said(world, answer)
    await settled(bot)


async def fill(world: World, bot: Running, model: Model, turns: int) -> None:
    for number in range(turns):
        await say(world, bot, model, f"Part {number}: {PADDING}")


def read(world: World) -> str:
    """What the newest turn's model read of the past, without what it was reminded of."""
    turns = [b for b in world.model.requests if "<<" not in words_of(b["messages"][-1])]
    *past, newest = map(text_of, turns[-1]["messages"][1:])
    before, head, _ = newest.partition("# From before")
    return "\n".join((*past, before if head else newest))


def side_calls(world: World) -> list[str]:
    """What the runtime asked of the model on its own behalf."""
    return [
        str(body["messages"][0]["content"]).partition(".")[0]
        for body in world.model.requests
        if words_of(body["messages"][-1]).startswith("<<")
    ]


async def tap(world: World, bot: Running, message: ChatMessage, label: str) -> None:
    data = next(b.data for b in message.buttons if b.text == label)
    await world.people.tap(ADA, message.chat_id, message.id, data)
    await settled(bot)


async def test_a_long_conversation_is_summarised_and_the_words_come_back_when_undone(
    talk: World, model: Model
) -> None:
    async with talk.running() as bot:
        events, leave = bot.app.shared.bus.subscribe()
        await fill(talk, bot, model, 5)
        summarised = read(talk)
        rows = await bot.rows("SELECT * FROM summaries")
        usage = await bot.rows("SELECT * FROM usage_events WHERE scope = 'summary'")
        audited = await bot.rows("SELECT stage FROM audit WHERE tool = 'memory' ORDER BY id")
        stored = await bot.rows("SELECT 1 FROM messages WHERE visible = 1")
        asked = side_calls(talk)
        flushed = [e for e in drained(events) if isinstance(e, MemoryFlush)]
        leave()
        told = await said(talk, "To make room I summarised 6 older messages; they are kept.")
        await tap(talk, bot, told, "Show summary")
        await said(talk, SUMMARY)
        await tap(talk, bot, told, "Undo")
        await say(talk, bot, model, "And now?")
        again = read(talk)

    assert asked == [
        "Some older messages of a conversation are about to leave your view",
        "Summarise the conversation so that you can go on with it without having its words: what "
        "the person wants, what was decided and done (with names, numbers, dates, file names), "
        "what is open",
    ]
    assert not any("asked to keep in view" in str(body) for body in talk.model.requests)
    assert len(stored) == 10
    assert f"[Previous conversation summary: {SUMMARY}]" in summarised
    assert "Part 0:" not in summarised
    assert "Part 3:" in summarised
    assert SUMMARY not in again
    assert "Part 0:" in again
    assert [(row["messages"], row["text"]) for row in rows] == [(6, SUMMARY)]
    assert [row["session_id"] for row in usage] == ["", ""]
    assert [event.facts for event in flushed] == [(f"- {FACT}",)]
    assert [row["stage"] for row in audited] == ["PROPOSED", "EVALUATED", "EXECUTED"]
    memory = next((talk.home.path / "data").rglob("MEMORY.md")).read_text()
    assert memory.count(FACT) == 1


async def test_a_summary_that_fails_costs_the_person_nothing_but_old_messages(
    talk: World, model: Model
) -> None:
    model.failing = True
    async with talk.running() as bot:
        await fill(talk, bot, model, 6)
        rows = await bot.rows("SELECT 1 FROM summaries")

    assert rows == []
    assert "Part 5:" in read(talk)
    assert "Part 0:" not in read(talk)


async def test_a_reload_of_something_else_does_not_let_a_summary_that_failed_be_tried_again(
    talk: World, model: Model
) -> None:
    """Each try costs time; what it hung on, the model, the budgets and limits, is as it was."""
    model.failing = True
    async with talk.running() as bot:
        while not side_calls(talk):
            await fill(talk, bot, model, 1)
        asked = len(side_calls(talk))
        async with swap(bot):
            save(talk, telegram={"max_parts": 3})
        await fill(talk, bot, model, 1)
        rested = len(side_calls(talk))
        async with swap(bot):
            save(talk, advanced={"turn_timeout_s": 600})
        await fill(talk, bot, model, 1)

        assert rested == asked
        assert len(side_calls(talk)) > asked


async def test_after_a_crash_behind_the_summary_memory_still_gets_the_facts_once(
    talk: World, model: Model
) -> None:
    """The row is written before the flush; here a process died in between."""
    async with talk.running() as bot:
        await fill(talk, bot, model, 5)
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE summaries SET flushed_at = ''")
        )
    async with talk.running() as bot:
        await say(talk, bot, model, "Go on")
        rows = await bot.rows("SELECT flushed_at FROM summaries")

    assert rows[0]["flushed_at"]
    memory = next((talk.home.path / "data").rglob("MEMORY.md")).read_text()
    assert memory.count(FACT) == 1
    assert len(side_calls(talk)) == 2


async def test_a_service_that_finds_the_prompt_too_long_is_asked_again_with_a_summary(
    talk: World, model: Model
) -> None:
    async with talk.running() as bot:
        await fill(talk, bot, model, 3)
        model.too_long = 1
        await say(talk, bot, model, "And now?")
        rows = await bot.rows("SELECT messages FROM summaries")
        failed = await bot.rows("SELECT 1 FROM turns WHERE status <> 'ack'")

    assert len(rows) == 1
    assert failed == []
    assert SUMMARY in read(talk)


async def test_what_a_summary_costs_leaves_the_limit_of_its_session_as_it_was(
    talk: World, model: Model
) -> None:
    """Else a conversation would be renewed because it was summarised."""
    model.summary_tokens = 10_000
    talk.config["advanced"] = {"context_window": 5800, "session_tokens_max": 10_000}
    async with talk.running() as bot:
        await fill(talk, bot, model, 5)
        await say(talk, bot, model, "And now?")
        summaries = await bot.rows("SELECT 1 FROM summaries")
        sessions = await bot.rows("SELECT 1 FROM sessions")

    assert summaries
    assert len(sessions) == 1


async def test_compact_begins_a_new_session_with_the_summary_and_keeps_the_old_one(
    talk: World, model: Model
) -> None:
    async with talk.running() as bot:
        await fill(talk, bot, model, 3)
        await talk.people.say(ADA, ADA, "/compact the fence")
        done = await said(talk, "6 messages are a summary now, in a fresh session")
        await say(talk, bot, model, "Which colour?")
        summarised = read(talk)
        sessions = await bot.rows("SELECT id FROM sessions")
        await tap(talk, bot, done, "Show summary")
        await said(talk, f"What I keep of 6 messages:\n\n{SUMMARY}")
        await tap(talk, bot, done, "Undo")
        await said(talk, "Undone: from now on I read those 6 messages themselves again.")
        await say(talk, bot, model, "Really?")

    assert SUMMARY in summarised
    assert "Part 0:" not in summarised
    assert len(sessions) == 2
    assert "Part 0:" in read(talk)
    assert "Which colour?" in read(talk)
    assert SUMMARY not in read(talk)
    focused = next(b for b in talk.model.requests if "Summarise" in str(b["messages"][0]))
    assert "the fence" in str(focused["messages"][0]["content"])
    memory = next((talk.home.path / "data").rglob("MEMORY.md")).read_text()
    assert memory.count(FACT) == 1


async def test_compact_that_fails_changes_nothing_and_says_so(talk: World, model: Model) -> None:
    async with talk.running() as bot:
        await fill(talk, bot, model, 3)
        before = await bot.rows("SELECT session_id FROM conversation_routes")
        model.failing = True
        await talk.people.say(ADA, ADA, "/compact")
        await said(talk, "Nothing was changed.")
        after = await bot.rows("SELECT session_id FROM conversation_routes")
        rows = await bot.rows("SELECT 1 FROM summaries")

    assert after == before
    assert rows == []


async def test_stop_ends_a_compaction_and_nothing_is_changed(talk: World, model: Model) -> None:
    async with talk.running() as bot:
        await fill(talk, bot, model, 3)
        model.stalls = True
        await talk.people.say(ADA, ADA, "/compact")
        async with asyncio.timeout(WAIT_S):
            await talk.model.stalled.wait()
        await talk.people.say(ADA, ADA, "/stop")
        await said(talk, "Stopped.")
        await settled(bot)
        sessions = await bot.rows("SELECT id FROM sessions")
        rows = await bot.rows("SELECT 1 FROM summaries")

    assert len(sessions) == 1
    assert rows == []


async def test_what_a_compaction_cost_that_a_shutdown_cut_off_is_counted(
    talk: World, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its facts were asked for and paid; the next process makes it anew, and pays again."""
    monkeypatch.setattr(lifecycle, "_DRAIN_S", 0.1)
    model.stalls = True
    async with talk.running() as bot:
        await fill(talk, bot, model, 3)
        await talk.people.say(ADA, ADA, "/compact")
        async with asyncio.timeout(WAIT_S):
            await talk.model.stalled.wait()
    model.stalls = False
    async with talk.running() as bot:
        await said(talk, "6 messages are a summary now, in a fresh session")
        await settled(bot)
        paid = await bot.rows("SELECT 1 FROM usage_events WHERE scope = 'summary'")

    wishes = [one.split(" ")[0] for one in side_calls(talk)]
    assert (wishes, len(paid)) == (["Some", "Summarise"] * 2, 3)


async def test_compact_with_nothing_to_summarise_asks_no_model(talk: World, model: Model) -> None:
    async with talk.running() as bot:
        await talk.people.say(ADA, ADA, "/compact")
        await said(talk, "There is nothing to summarise here yet.")
        await say(talk, bot, model, "Hello")
        await talk.people.say(ADA, ADA, "/compact")
        await settled(bot)

    assert len(talk.model.requests) == 1


async def test_a_summary_is_shown_and_undone_in_its_own_conversation_only(
    talk: World, model: Model
) -> None:
    async with talk.running() as bot:
        await fill(talk, bot, model, 3)
        await talk.people.say(ADA, ADA, "/compact")
        await said(talk, "6 messages are a summary now")
        await talk.people.say(BEN, BEN, "/start")
        greeting = await talk.people.next_message(BEN)
        for key in ("summary 1", "unsummary 1"):
            await talk.people.tap(BEN, BEN, greeting.id, f"c:sessions {key}")
        await settled(bot)
        rows = await bot.rows("SELECT undone_at FROM summaries")

    seen = [m.text for m in await talk.people.messages(BEN) if m.from_bot][1:]
    assert seen == ["That summary is not there any more."] * 2
    assert rows == [{"undone_at": ""}]


async def test_a_session_gets_a_title_once_and_after_the_answer(talk: World, model: Model) -> None:
    """Three exchanges: seed 001, 3e."""
    talk.clock = clock = FastClock()
    async with talk.running() as bot:
        for number in range(3):
            await say(talk, bot, model, f"About the fence, {number}")

        async def titled() -> list[dict[str, Any]]:
            clock.jump(30)
            return await bot.rows("SELECT title, titling FROM sessions WHERE title <> ''")

        rows = await eventually(titled)
        for number in range(2):
            await say(talk, bot, model, f"More, {number}")
            clock.jump(30)
        await talk.people.say(ADA, ADA, "/sessions")
        listed = await said(talk, "Earlier sessions here")
        usage = await bot.rows("SELECT session_id FROM usage_events WHERE scope = 'title'")

    assert rows == [{"title": "The green fence", "titling": "done"}]
    assert listed.buttons[0].text.startswith("✓ The green fence")
    assert usage == [{"session_id": ""}]
    assert [wish for wish in side_calls(talk) if wish.startswith("Name")] == [
        "Name this conversation in three to six words, in its language"
    ]


async def test_a_title_that_fails_is_tried_again_after_later_turns_three_times_in_all(
    talk: World, model: Model
) -> None:
    talk.clock = clock = FastClock()
    model.failing = True
    async with talk.running() as bot:
        tries: list[int] = []
        for number in range(7):
            await say(talk, bot, model, f"About the fence, {number}")
            wanted = [{"n": min(max(0, number - 1), 3)}]

            async def tried(wanted: list[dict[str, Any]] = wanted) -> bool:
                clock.jump(30)
                rows = await bot.rows("SELECT title_tries AS n FROM sessions")
                waiting = await bot.rows("SELECT 1 FROM sessions WHERE titling = 'wanted'")
                return rows == wanted and not waiting

            await eventually(tried)
            tries.append(wanted[0]["n"])

    assert tries == [0, 0, 1, 2, 3, 3, 3]
    assert len([wish for wish in side_calls(talk) if wish.startswith("Name")]) == 3


async def test_a_title_that_was_wanted_is_given_after_a_restart(talk: World, model: Model) -> None:
    async with talk.running() as bot:
        for number in range(3):
            await say(talk, bot, model, f"About the fence, {number}")
        wanted = await bot.rows("SELECT titling FROM sessions")
    talk.clock = clock = FastClock()
    async with talk.running() as bot:

        async def titled() -> list[dict[str, Any]]:
            clock.jump(30)
            return await bot.rows("SELECT title FROM sessions WHERE title <> ''")

        rows = await eventually(titled)

    assert wanted == [{"titling": "wanted"}]
    assert rows == [{"title": "The green fence"}]


async def test_a_summary_that_failed_is_tried_again_after_three_turns(
    talk: World, model: Model
) -> None:
    """Not in each: it would make every answer wait, perhaps for a minute."""
    model.failing = True
    tries: list[int] = []
    async with talk.running() as bot:
        for number in range(10):
            await fill(talk, bot, model, 1)
            if len(side_calls(talk)) > 2 * len(tries):
                tries.append(number)

    assert [later - earlier for earlier, later in pairwise(tries)] == [4] * (len(tries) - 1)
    assert len(tries) > 1


@pytest.mark.parametrize("window", [600, 1_000, 2_000])
async def test_a_window_that_the_prompt_fills_is_not_filled_with_summaries_of_nothing(
    talk: World, model: Model, window: int
) -> None:
    talk.config["advanced"] = {"context_window": window}
    async with talk.running() as bot:
        await fill(talk, bot, model, 4)
        rows = await bot.rows("SELECT 1 FROM summaries")

    assert (rows, side_calls(talk)) == ([], [])
    assert "Part 3:" in read(talk)


async def test_off_the_record_nothing_is_summarised(talk: World, model: Model) -> None:
    async with talk.running() as bot:
        await fill(talk, bot, model, 3)
        await talk.people.say(ADA, ADA, "/otr")
        await say(talk, bot, model, "Which colour?")
        await talk.people.say(ADA, ADA, "/compact")
        await said(talk, "Off the record I write no summaries.")
        await say(talk, bot, model, "And now?")
        sessions = await bot.rows("SELECT id FROM sessions")

    assert len(sessions) == 1
    assert side_calls(talk) == []
    assert "Which colour?" in read(talk)


async def test_what_came_before_an_undone_compact_is_not_lost_when_room_is_needed(
    talk: World, model: Model
) -> None:
    """The summary made then ends inside the other session's messages; the rest of them stay."""
    talk.config["advanced"] = {"context_window": 8000, "compress_threshold": 0.95}
    async with talk.running() as bot:
        await fill(talk, bot, model, 9)
        await talk.people.say(ADA, ADA, "/compact")
        told = await said(talk, "18 messages are a summary now")
        await settled(bot)
        await tap(talk, bot, told, "Undo")
        number = 9
        for number in range(9, 20):
            await say(talk, bot, model, f"Part {number}: {PADDING}")
            if await bot.rows("SELECT 1 FROM summaries WHERE source_session_id = session_id"):
                break
        there = [part for part in range(number) if f"Part {part}:" in read(talk)]
        await say(talk, bot, model, "And now?")
        still = [part for part in range(number) if f"Part {part}:" in read(talk)]

    assert 8 in there
    assert still == there


async def test_thoughts_that_go_back_with_calls_are_part_of_what_fills_the_window(
    talk: World, model: Model
) -> None:
    """Their service counts them, so what they fill is summarised before it is refused."""
    talk.config["advanced"] = {"context_window": 16_000}
    refused: list[int] = []

    def service(body: Body) -> Reply | str:
        if words_of(body["messages"][-1]).startswith("Part"):
            return Says(calls=(CallPart("nothing", {}),), thoughts="so I thought " * 500)
        if len(json.dumps(body["messages"][1:])) > 44_000:
            refused.append(len(body["messages"]))
            return Fails(400, {"error": {"code": "context_length_exceeded"}})
        return model(body)

    talk.model.script = service
    async with talk.running() as bot:
        for number in range(9):
            await say(talk, bot, model, f"Part {number}")
        rows = await bot.rows("SELECT messages FROM summaries")

    assert refused == []
    assert rows
