"""What a command wants done with its turn's answer is done in that answer's commit.

Source: seed 000 (Slash dispatch, Post-actions), design §3.8, kernel A6, A7, C7.5.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from aouo.emulator import ChatMessage
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says, text_of, unavailable
from tests.fakes.packages import lay_down
from tests.path.looking import asked, cut_off, eventually, said, settled
from tests.path.models.test_budgets import REFUSED, budgets, button
from tests.path.reloading.following import reload, save
from tests.path.world import ADA, Running, World, texts

CODE = """
from aouo.flow.commands.registry import AddedCommand, Result
from aouo.facts.commands import TurnHints, PostAction
from aouo.words.conversations import output

done = []
runs = []


async def wrap(call):
    runs.append(call.rest)
    return Result(hints=TurnHints(f"Sum up, about {call.rest}."), post_action=PostAction("rotate"))


async def mark(call):
    runs.append(call.rest)
    return Result(hints=TurnHints(call.rest), post_action=PostAction("note", {"color": "green"}))


async def now(call):
    return Result(output("now", "At once."), post_action=PostAction("note"))


async def unknown(call):
    return Result(post_action=PostAction("nobody_does"))


async def raises(call):
    raise ZeroDivisionError("no")


async def nonsense(call):
    return "hello"


def note(tx, arguments, answered):
    done.append((dict(arguments), answered.text, answered.pack))
    return output("mark", "Noted.")


def breaks(tx, arguments, answered):
    tx.run("DELETE FROM sessions")
    raise KeyError("x")


def babbles(tx, arguments, answered):
    return "hello"


async def babble(call):
    return Result(output("babble", "At once."), post_action=PostAction("babbles"))


async def words(call):
    return Result("hello")


async def alone(call):
    runs.append(call.rest)
    hints = TurnHints(call.rest, isolated=True)
    return Result(hints=hints, post_action=PostAction("note", {"color": "blue"}))


async def spoil(call):
    return Result(hints=TurnHints("Say it."), post_action=PostAction("breaks"))


WRAP, MARK, NOW, SPOIL = (AddedCommand("does it", one) for one in (wrap, mark, now, spoil))
UNKNOWN, RAISES, NONSENSE = (AddedCommand("does it", one) for one in (unknown, raises, nonsense))
BABBLE, WORDS, ALONE = (AddedCommand("does it", one) for one in (babble, words, alone))
"""
ENTRY_POINTS = """
[aouo.commands]
wrap = added_commands:WRAP
mark = added_commands:MARK
now = added_commands:NOW
spoil = added_commands:SPOIL
unknown = added_commands:UNKNOWN
raises = added_commands:RAISES
nonsense = added_commands:NONSENSE
babble = added_commands:BABBLE
words = added_commands:WORDS
alone = added_commands:ALONE

[aouo.post_actions]
note = added_commands:note
breaks = added_commands:breaks
babbles = added_commands:babbles
"""


@pytest.fixture(autouse=True)
def added(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "added_commands", raising=False)
    lay_down(tmp_path / "site", monkeypatch, "added_commands", CODE, ENTRY_POINTS)
    world.install("notes")


def module() -> Any:
    return __import__("added_commands")


def rows_of(world: World, sql: str) -> list[tuple[str, ...]]:
    """What stands in the database while nothing runs."""
    with closing(sqlite3.connect(world.home.database)) as connection:
        return connection.execute(sql).fetchall()


async def telling(world: World, part: str) -> ChatMessage:
    """Wait for a message of the bot with these words in it."""

    async def look() -> ChatMessage | None:
        found = await world.people.messages(ADA)
        return next((m for m in found if m.from_bot and part in m.text), None)

    return await world.people.until(look)


async def session_of(bot: Running) -> str:
    (row,) = await bot.rows("SELECT session_id FROM conversation_routes")
    return str(row["session_id"])


@pytest.mark.parametrize("streaming", ["edits", "off"])
async def test_by_stream_or_not_the_next_turn_sees_the_summary(
    world: World, streaming: str
) -> None:
    """C7.5; the trap of A6: a slash typed where answers are streamed ran no post-action."""
    world.config = {"telegram": {"streaming": streaming}}
    world.model.say("Hello.")
    world.model.say("Ada plans a garden.", chunks=3)
    world.model.say("Green.")
    async with world.running() as bot:
        await bot.ask("hi")
        before = await session_of(bot)
        await bot.people.say(ADA, ADA, "/wrap the fence")
        await said(world, "Ada plans a garden.")
        await settled(bot)
        assert await session_of(bot) != before
        await bot.people.say(ADA, ADA, "which colour?")
        await said(world, "Green.")

    words = [text_of(message) for message in world.model.requests[-1]["messages"][1:]]
    assert "Ada plans a garden." in "\n".join(words)
    assert "Sum up, about the fence." not in "\n".join(words)
    assert "hi" not in words


async def test_what_it_tells_comes_after_the_answer_and_its_arguments_arrive(world: World) -> None:
    world.model.say("Milk it is.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/mark buy milk")
        await said(world, "Noted.")
        await settled(bot)

    assert texts(await world.people.messages(ADA)) == ["Milk it is.", "Noted."]
    assert module().done == [({"color": "green"}, "Milk it is.", "notes")]


async def test_an_output_is_the_answer_and_its_post_action_is_done_with_it(world: World) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/now")
        await said(world, "Noted.")
        await settled(bot)

    assert texts(await world.people.messages(ADA)) == ["At once.", "Noted."]
    assert world.model.requests == []


async def test_a_turn_that_fails_does_nothing_with_its_answer(world: World) -> None:
    world.config = {"provider": {"backend": "fake", "model": "scripted", "max_retries": 0}}
    world.model.script = unavailable
    async with world.running() as bot:
        await bot.ask("/mark buy milk")
        await settled(bot)
        assert (await bot.rows("SELECT status FROM turns")) == [{"status": "nack"}]

    assert module().done == []


async def test_a_turn_that_failed_does_it_when_it_is_tried_again_and_once(world: World) -> None:
    """The try, too, may fail, and be cut off; only an answer ends it."""
    world.config = {"provider": {"backend": "fake", "model": "scripted", "max_retries": 0}}
    world.model.fail(503)
    world.model.fail(503)
    world.model.reply(Says("Milk it is.", chunks=2, stall_after=1))
    async with world.running() as bot:
        await bot.ask("/mark buy milk")
        await bot.ask("/retry")
        await settled(bot)
        await bot.people.say(ADA, ADA, "/retry")
        await world.model.stalled.wait()
        await cut_off(bot)
    world.model.say("Milk it is.")
    world.model.say("Milk, as you wish.")
    async with world.running() as bot:
        await said(world, "Noted.")
        await settled(bot)
        await bot.people.say(ADA, ADA, "/retry")
        await said(world, "Milk, as you wish.")
        await settled(bot)
        left = await bot.rows("SELECT 1 FROM jobs WHERE carried <> '' AND outcome = 'answered'")

    assert module().done == [({"color": "green"}, "Milk it is.", "notes")]
    assert left == []


async def test_a_turn_that_was_too_dear_does_it_when_it_is_allowed_and_its_command_runs_once(
    world: World,
) -> None:
    budgets(world, daily_usd=0.01)
    world.clock = FastClock()
    world.model.say("Ada plans a garden.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/wrap the fence")
        shown = await bot.people.next_message(ADA, contains=REFUSED)
        before = await session_of(bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "Raise"))
        await said(world, "Ada plans a garden.")
        await settled(bot)

        assert await session_of(bot) != before
    assert module().runs == ["the fence"]


@pytest.mark.parametrize("tries", ["the button of the try", "another try", "both buttons"])
async def test_however_a_turn_that_was_too_dear_is_tried_again_it_does_it_once(
    world: World, tries: str
) -> None:
    """Each refusal keeps its buttons, and each of them answers the words once more."""
    budgets(world, daily_usd=0.01)
    world.clock = FastClock()
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/mark buy milk")
        first = await bot.people.next_message(ADA, contains=REFUSED)
        await bot.people.say(ADA, ADA, "/retry")
        second = await bot.people.next_message(ADA, contains=REFUSED, after=first.id)
        save(world, budgets={"daily_usd": 100})
        await reload(world)
        if tries == "another try":
            await bot.people.say(ADA, ADA, "/retry")
        else:
            await bot.people.tap(ADA, ADA, second.id, button(second, "Raise"))
        await said(world, "Noted.")
        await settled(bot)
        if tries != "the button of the try":
            await bot.people.tap(ADA, ADA, first.id, button(first, "Raise"))
            await settled(bot)

    assert module().done == [({"color": "green"}, "buy milk", "notes")]
    assert module().runs == ["buy milk"]


async def test_a_turn_that_is_stopped_before_it_is_taken_up_does_it_when_it_is_tried_again(
    world: World,
) -> None:
    world.model.reply(Says("Slowly it comes", chunks=5, stall_after=1))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/mark buy milk")
        await asked(world, 1)
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await settled(bot)
        world.model.say("Milk it is.")
        await bot.people.say(ADA, ADA, "/retry")
        await said(world, "Noted.")

    assert module().done == [({"color": "green"}, "Milk it is.", "notes")]


async def test_a_turn_that_is_stopped_does_nothing_with_its_answer(world: World) -> None:
    world.model.reply(Says("Slowly it comes", chunks=5, stall_after=1))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/mark buy milk")
        await eventually(lambda: bot.rows("SELECT 1 FROM turns"))
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await settled(bot)

    assert module().done == []


async def test_a_turn_that_is_taken_up_still_does_it_once_and_its_command_runs_once(
    world: World,
) -> None:
    """A process that ends in the middle of the turn."""
    world.model.reply(Says("Slowly it comes", chunks=5, stall_after=1))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/wrap the fence")
        await asked(world, 1)
        before = await session_of(bot)
        await cut_off(bot)
    (carried,) = rows_of(world, "SELECT carried FROM jobs")
    assert "rotate" in carried[0]
    world.model.say("Ada plans a garden.")
    async with world.running() as bot:
        await said(world, "Ada plans a garden.")
        await settled(bot)

        assert await session_of(bot) != before
        assert await bot.rows("SELECT carried FROM jobs WHERE carried <> ''") == []
        assert len(await bot.rows("SELECT id FROM summaries")) == 1
    assert module().runs == ["the fence"]


async def test_a_turn_in_a_session_of_its_own_does_it_too(world: World) -> None:
    world.model.say("Think done.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/alone think")
        await said(world, "Noted.")
        await said(world, "Think done.\n\n— /alone")
        await settled(bot)

    assert module().done == [({"color": "blue"}, "Think done.", "notes")]


async def test_one_that_fails_keeps_nothing_of_the_answer_and_says_so(world: World) -> None:
    world.model.say("It is said.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/spoil")
        told = await telling(world, "failed, so")
        await settled(bot)

        assert "“breaks”" in told.text
        assert await bot.rows("SELECT status FROM turns") == [{"status": "nack"}]
        assert len(await bot.rows("SELECT id FROM sessions")) == 1


@pytest.mark.parametrize("command", ["unknown x", "raises", "nonsense", "babble", "words"])
async def test_a_command_that_goes_wrong_is_told_and_the_lane_goes_on(
    world: World, command: str
) -> None:
    world.model.say("Still here.")
    async with world.running() as bot:
        told = await bot.ask(f"/{command}")
        answer = await bot.ask("and now?")

    assert told.text.startswith(f"/{command.split()[0]} failed.")
    assert answer.text == "Still here."


async def test_with_several_packs_its_turn_waits_for_one_and_the_command_runs_once(
    world: World,
) -> None:
    world.install("vocab")
    world.model.say("Ada plans a garden.")
    async with world.running() as bot:
        picker = await bot.ask("/mark buy milk")
        await bot.people.tap(ADA, ADA, picker.id, "pack:vocab")
        await said(world, "Noted.")
        await settled(bot)

    assert module().done == [({"color": "green"}, "Ada plans a garden.", "vocab")]


async def test_with_several_packs_one_beside_the_conversation_waits_too_and_runs_once(
    world: World,
) -> None:
    """Also after a kill, while it waits: a command may have ordered the milk."""
    world.install("vocab")
    world.model.say("Milk it is.")
    async with world.running() as bot:
        picker = await bot.ask("/alone buy milk")
        assert module().runs == ["buy milk"]
        await cut_off(bot)
    async with world.running() as bot:
        await bot.people.tap(ADA, ADA, picker.id, "pack:vocab")
        await said(world, "Milk it is.\n\n— vocab · /alone")
        await settled(bot)
        left = await bot.rows("SELECT lane FROM jobs WHERE carried <> ''")

    assert module().runs == ["buy milk"]
    assert module().done == [({"color": "blue"}, "Milk it is.", "vocab")]
    assert left == []


async def test_off_the_record_it_is_left_undone(world: World) -> None:
    world.model.say("Milk it is.")
    async with world.running() as bot:
        await bot.ask("/otr")
        await bot.people.say(ADA, ADA, "/mark buy milk")
        await telling(world, "left undone")
        await settled(bot)

    assert module().done == []
