"""*Stop* below an answer that grows as a draft is `/stop`.

Source: Bot API 10.3, core.telegram.org/bots/api#sendmessagedraft (`can_stop`) and
core.telegram.org/bots/api/types/messagegenerationstopped; issue 12, 10.
"""

from __future__ import annotations

from typing import Any

import pytest

from aouo.emulator import HOUSEHOLD
from aouo.emulator.client import ActRefused
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.path.going_out.test_drafts import SPEED, WORDS, draft_with
from tests.path.looking import answers, cut_off, eventually, prompts, said, settled
from tests.path.stopping.test_stop_promise import TALK
from tests.path.world import ADA, BEN, World


@pytest.fixture(autouse=True)
async def drafts(world: World) -> None:
    world.config = {"telegram": {"streaming": "draft"}}
    world.clock = FastClock(speed=SPEED)


def push(world: World, **fields: Any) -> None:
    """What Telegram tells of the button, whether it was there or not."""
    world.emulator.world.updates.push("stopped_message_generation", fields)
    world.emulator.signal.bump()


async def test_stop_below_a_draft_ends_the_answer_as_the_command_does(world: World) -> None:
    world.model.reply(Says(WORDS, chunks=12, stall_after=(4, 8)))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        draft = await draft_with(world, "word30")
        await bot.people.say(ADA, ADA, "and this")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'ready'"))
        await bot.people.stop_draft(ADA, ADA)
        await said(world, "Stopped. 1 message that waited will not be answered.")
        await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")
        shown = await bot.people.act("view", user=ADA, chat=ADA)
        told = await answers(world)
        answer = await bot.ask("next")

    assert draft["params"]["can_stop"] is True
    assert (turns, shown["open"]["draft"]) == ([{"status": "aborted"}], None)
    stopped, seen = told
    assert stopped == "Stopped. 1 message that waited will not be answered."
    assert seen.startswith(draft["params"]["text"])
    assert WORDS.startswith(seen.removesuffix("\n\n…"))
    assert len(seen) < len(WORDS)
    assert (answer.text, prompts(world)) == ("next", ["go", "next"])


async def test_stop_below_a_draft_that_is_over_stops_nothing_else(world: World) -> None:
    """The answer was there as the person pressed; what they asked since is answered."""
    world.model.reply(Says(WORDS, chunks=12, stall_after=(4, 8)))
    world.model.reply(Says(WORDS + " too", chunks=4, stall_after=2))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "one")
        over = (await draft_with(world, "word30"))["params"]["draft_id"]
        world.model.release.set()
        await said(world, WORDS)
        world.model.release.clear()
        await bot.people.say(ADA, ADA, "two")
        await eventually(lambda: bot.rows("SELECT 1 FROM turns WHERE status = 'open'"))
        push(world, chat={"id": ADA, "type": "private", "first_name": "Ada"}, draft_id=over)
        outcome = "SELECT 1 FROM jobs WHERE outcome = 'the draft is over'"
        await eventually(lambda: bot.rows(outcome))
        world.model.release.set()
        await said(world, WORDS + " too")
        await settled(bot)

    assert await answers(world) == [WORDS, WORDS + " too"]


async def test_stop_counts_for_an_answer_that_a_new_process_takes_up(world: World) -> None:
    world.model.reply(Says(WORDS, chunks=12, stall_after=(4, 8)))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await draft_with(world, "word30")
        await cut_off(bot)
    await world.people.stop_draft(ADA, ADA)
    world.model.stall(after_chunks=0, text="the whole answer")
    async with world.running() as bot:
        await eventually(lambda: bot.rows("SELECT 1 FROM turns WHERE status = 'aborted'"))
        world.model.release.set()
        await settled(bot)

    assert "the whole answer" not in await answers(world)


@pytest.mark.parametrize(
    "where",
    [
        {"chat": {"id": BEN, "type": "private", "first_name": "Ben"}},
        {"chat": {"id": 6_666, "type": "private", "first_name": "Eve"}},
        {"chat": {"id": HOUSEHOLD, "type": "supergroup", "title": "Household"}},
        {"chat": {"id": ADA, "type": "private", "first_name": "Ada"}, "message_thread_id": 9},
        {"chat": {"id": ADA, "type": "private", "first_name": "Ada"}, "draft_id": 1},
    ],
    ids=["Ben", "a stranger", "a group", "a topic", "no draft"],
)
async def test_nothing_but_the_button_of_that_answer_stops_it(
    world: World, where: dict[str, Any]
) -> None:
    world.model.reply(Says(WORDS, chunks=12, stall_after=(4, 8)))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        draft = await draft_with(world, "word30")
        push(world, **{"draft_id": draft["params"]["draft_id"], **where})
        await bot.people.say(BEN, BEN, "/id")
        await bot.people.next_message(BEN)
        world.model.release.set()
        await said(world, WORDS)
        await settled(bot)
        strangers = await bot.rows("SELECT 1 FROM jobs WHERE person NOT IN (?, ?)", ADA, BEN)

    assert (await answers(world), strangers) == ([WORDS], [])


@pytest.mark.parametrize(
    "stopped",
    [{"chat": {"id": ADA, "type": "private"}, "draft_id": "1"}, {"chat": {}, "draft_id": 1}, {}],
    ids=["no number", "no chat", "nothing"],
)
async def test_a_button_that_is_not_as_telegram_describes_it_stops_nothing_and_breaks_nothing(
    world: World, stopped: dict[str, Any]
) -> None:
    async with world.running() as bot:
        assert bot.app.shared.telegram
        update = {"update_id": 10**6, "stopped_message_generation": stopped}
        await bot.app.shared.telegram._store([update], 0)
        answer = await bot.ask("hello")

    assert answer.text == "hello"


async def test_what_is_not_shown_any_more_has_no_button(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        with pytest.raises(ActRefused, match="there is no draft to stop"):
            await bot.people.stop_draft(ADA, ADA)


async def test_a_server_is_asked_to_tell_of_the_button(world: World) -> None:
    """Otherwise pressing it would take the draft away, and the answer would come all the same."""
    async with world.running() as bot:
        polls = await bot.people.calls("getUpdates")

    assert "stopped_message_generation" in polls[0]["params"]["allowed_updates"]


async def test_words_that_had_a_draft_of_their_own_stay_too_and_no_status_line_does(
    world: World,
) -> None:
    """The second message of an answer is being written; the first one gave way to it."""
    world.model.reply(Says(TALK, chunks=20, stall_after=18))
    world.model.stall(after_chunks=0)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await draft_with(world, "25. ")
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await settled(bot)
        whole = await answers(world)
        world.model.release.clear()
        await bot.people.say(ADA, ADA, "again")
        await draft_with(world, "Thinking…")
        await bot.people.say(ADA, ADA, "/stop")
        await eventually(
            lambda: bot.rows("SELECT 1 FROM turns WHERE status = 'aborted' LIMIT 1 OFFSET 1")
        )
        await settled(bot)

    assert whole[0] == "Stopped."
    seen = "".join("".join(whole[1:]).removesuffix("…").split())
    assert "".join(TALK.split()).startswith(seen)
    assert "25." in seen
    assert await answers(world) == [*whole, "Stopped."]
