"""`telegram.streaming: draft`: an answer grows as a draft, and is then sent as a message.

Source: core.telegram.org/bots/api#sendmessagedraft; design §3.6.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Any

import pytest

from aouo.emulator import FAMILY
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.path.looking import Calls, answers, come_at_s, cut_off, said, settled
from tests.path.world import ADA, BEN, World

SPEED = 40.0
WORDS = " ".join(f"word{number}" for number in range(120))


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.config = {"telegram": {"streaming": "draft"}}
    world.clock = clock = FastClock(speed=SPEED)
    return clock


async def drafts(world: World) -> list[dict[str, Any]]:
    return await world.people.calls("sendMessageDraft")


async def draft_with(world: World, text: str, times: int = 1) -> dict[str, Any]:
    """Wait for that many drafts that contain a text; the last of them."""

    async def look() -> dict[str, Any] | None:
        found = [call for call in await drafts(world) if text in call["params"]["text"]]
        return found[times - 1] if len(found) >= times else None

    return await world.people.until(look)


async def test_an_answer_grows_as_a_draft_and_is_sent_as_one_message(world: World) -> None:
    world.model.reply(Says(WORDS, chunks=12, stall_after=(4, 8)))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        first = await draft_with(world, "word30")
        shown = await bot.people.act("view", user=ADA, chat=ADA)
        messages = await answers(world)
        rows = await bot.rows("SELECT 1 FROM deliveries")
        world.model.release.set()
        world.model.release.clear()
        second = await draft_with(world, "word70")
        world.model.release.set()
        await said(world, WORDS)
        await settled(bot)
        after = await bot.people.act("view", user=ADA, chat=ADA)

    assert WORDS.startswith(first["params"]["text"])
    assert shown["open"]["draft"]["text"] == first["params"]["text"]
    assert (messages, rows) == ([], [])
    assert first["params"]["draft_id"] == second["params"]["draft_id"] != 0
    assert after["open"]["draft"] is None
    assert await answers(world) == [WORDS]
    assert len(await world.people.calls("sendMessage")) == 1
    assert await world.people.calls("editMessageText") == []


async def test_a_quick_answer_needs_no_draft(world: World) -> None:
    """However busy the machine is: hardly any time passes by itself."""
    world.clock = FastClock(speed=0.001)
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)

    assert await drafts(world) == []


async def test_the_status_line_is_a_draft_too_and_nothing_of_it_stays(world: World) -> None:
    world.model.stall(after_chunks=0, text="here it is")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await draft_with(world, "Thinking…")
        world.model.release.set()
        await said(world, "here it is")

    assert await answers(world) == ["here it is"]


async def test_a_draft_is_renewed_before_telegram_takes_it_away(world: World) -> None:
    """It is shown for 30 seconds."""
    world.clock = FastClock(speed=0.001)
    world.model.reply(Says(WORDS, chunks=4, stall_after=2))

    async def over(found: Calls) -> bool:
        return sum("word50" in call["params"]["text"] for call in found) >= 3

    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        came_s = await come_at_s(world, "sendMessageDraft", 1.0, over)
        world.model.release.set()

    assert all(later_s - before_s < 30 for before_s, later_s in pairwise(came_s))


async def test_drafts_come_no_faster_than_edits(world: World) -> None:
    """At least 1.2 s apart in private chats, however fast the model is."""
    world.clock = FastClock(speed=0.001)
    world.model.reply(Says(WORDS, chunks=12, stall_after=(4, 6, 8, 10)))
    stalls = deque(("word39", "word59", "word79", "word99"))

    async def over(found: Calls) -> bool:
        if stalls and found and stalls[0] in found[-1]["params"]["text"]:
            stalls.popleft()
            world.model.release.set()
            world.model.release.clear()
        return WORDS in await answers(world)

    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        came_s = await come_at_s(world, "sendMessageDraft", 0.1, over)

    assert len(came_s) >= 4
    assert all(later_s - before_s > 1.0 for before_s, later_s in pairwise(came_s))


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "status": 429, "retry_after": 5},
        {"kind": "drop_before"},
        {"kind": "drop_after"},
        {"kind": "status", "status": 502},
    ],
    ids=["flood control", "never arrived", "no answer", "a proxy"],
)
async def test_a_draft_that_fails_in_passing_is_left_out_and_the_next_one_is_a_draft_again(
    world: World, fault: dict[str, Any]
) -> None:
    await world.people.fault(method="sendMessageDraft", **fault)
    world.model.reply(Says(WORDS, chunks=12, stall_after=(4, 8)))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await draft_with(world, "word30")
        world.model.release.set()
        world.model.release.clear()
        await draft_with(world, "word70")
        shown = await bot.people.act("view", user=ADA, chat=ADA)
        world.model.release.set()
        await said(world, WORDS)
        await settled(bot)

    assert "word70" in shown["open"]["draft"]["text"]
    assert await answers(world) == [WORDS]
    assert await world.people.calls("editMessageText") == []


async def test_what_flood_control_kept_back_of_a_draft_is_shown_when_it_is_over(
    world: World,
) -> None:
    """Also if nothing is written meanwhile, and long before a draft is renewed anyway."""
    world.clock = FastClock(speed=0.001)
    await world.people.fault("status", method="sendMessageDraft", status=429, retry_after=5)
    world.model.reply(Says(WORDS, chunks=4, stall_after=2))

    async def over(found: Calls) -> bool:
        return sum("word50" in call["params"]["text"] for call in found) >= 2

    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        came_s = await come_at_s(world, "sendMessageDraft", 0.5, over)
        world.model.release.set()

    assert 5.0 <= came_s[-1] - came_s[-2] < 8.0


async def growing(
    world: World, fault: dict[str, Any], person: int, next_one: int
) -> tuple[bool, bool]:
    """Whether the answers to two people are messages that grow, after one draft failed."""
    await world.people.fault("status", method="sendMessageDraft", **fault)
    found: list[bool] = []
    async with world.running() as bot:
        for number, who in enumerate((person, next_one)):
            words = f"{WORDS} {number}"
            world.model.release.clear()
            world.model.reply(Says(words, chunks=4, stall_after=2))
            await bot.people.say(who, who, "go")
            await bot.people.until(lambda who=who: half_there(world, who))
            live = [m for m in await bot.people.messages(who) if "word50" in m.text]
            world.model.release.set()
            final = await said(world, words, who)
            found.append([m.id for m in live] == [final.id])
        await settled(bot)
    return found[0], found[1]


async def half_there(world: World, who: int) -> bool:
    """Half an answer is in the chat, as a message or as a draft that was taken."""
    shown = await world.people.act("view", user=who, chat=who)
    draft = shown["open"]["draft"] or {"text": ""}
    messages = await world.people.messages(who)
    return "word50" in draft["text"] or any("word50" in m.text for m in messages if m.from_bot)


REFUSED = {"status": 400, "description": "Bad Request: TEXTDRAFT_PEER_INVALID"}
UNKNOWN = {"status": 404, "description": "Not Found: method not found"}


async def test_a_draft_that_is_refused_was_the_last_one_in_that_chat(world: World) -> None:
    assert await growing(world, REFUSED, ADA, BEN) == (True, False)
    assert len({c["params"]["chat_id"] for c in await drafts(world) if c["status"] == 200}) == 1


async def test_a_server_that_knows_no_drafts_is_asked_for_one_once(world: World) -> None:
    """A Bot API server of one's own may be older than 9.3."""
    assert await growing(world, UNKNOWN, ADA, BEN) == (True, True)
    assert len(await drafts(world)) == 1


async def test_groups_and_topics_use_edits(world: World) -> None:
    """A draft is refused outside of private chats."""
    world.config = {"telegram": {"streaming": "draft", "groups": "all"}}
    world.model.reply(Says(WORDS, chunks=4, stall_after=2))
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, "@aouo_try_bot go")
        live = await bot.people.next_message(FAMILY, contains="word50")
        world.model.release.set()
        final = await said(world, WORDS, FAMILY)

    assert live.id == final.id
    assert await drafts(world) == []


async def test_a_restart_finds_no_draft_that_is_in_its_way(world: World) -> None:
    """What a draft shows is no row: the turn that is taken up begins anew and is said once."""
    world.model.reply(Says(WORDS, chunks=4, stall_after=2))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await draft_with(world, "word50")
        await cut_off(bot)
    world.model.say("the whole answer")
    async with world.running() as bot:
        await said(world, "the whole answer")
        await settled(bot)
        turns = await bot.rows("SELECT status, resumes FROM turns")

    assert turns == [{"status": "ack", "resumes": 1}]
    assert await answers(world) == ["the whole answer"]
