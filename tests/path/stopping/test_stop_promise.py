"""No answer follows "Stopped.", and nothing half stays. Source: design §3.3.

Most of these hold a turn where it is done and only not settled yet: a stop there is easily lost.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from aouo.emulator import FAMILY
from aouo.flow.answering.compacting import Compacting
from aouo.flow.handlers.obeying import Obeying
from aouo.flow.job import Flow
from aouo.flow.replies import Replies
from aouo.outbound.live import LiveView
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Fails, Says
from tests.path.going_out.test_streaming import ALSO_SLOW, waiting_tool
from tests.path.looking import answers, cut_off, eventually, in_steps, said, settled
from tests.path.packs.test_installing import put, shopping
from tests.path.world import ADA, BEN, ROOT, WAIT_S, Running, World

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(40) + b"a red bicycle"
SEES = {"provider": {"backend": "fake", "model": "scripted", "vision": "on"}}
TALK = "\n\n".join(f"{number}. " + "lorem ipsum dolor " * 12 for number in range(40))
"""Three messages long."""
CLAIMED = "SELECT 1 FROM jobs WHERE state = 'running' AND chat_id = ? AND fence >= ?"
LIVE = "SELECT 1 FROM deliveries WHERE state = 'live'"


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.clock = clock = FastClock()
    return clock


@pytest.fixture
def notes(world: World) -> None:
    world.install("notes")


async def within(event: asyncio.Event) -> None:
    async with asyncio.timeout(WAIT_S):
        await event.wait()


class Held:
    """A method whose first call waits at its beginning until it may go on."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: type[Any], name: str) -> None:
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()
        method = getattr(owner, name)

        async def held(*args: Any, **more: Any) -> Any:
            if not self.reached.is_set():
                self.reached.set()
                await self.go_on.wait()
            return await method(*args, **more)

        patch.setattr(owner, name, held)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Held:
    """A turn is over, and what it was showing is about to be settled."""
    return Held(monkeypatch, LiveView, "settle")


async def stopped_at(world: World, bot: Running, held: Held) -> list[str]:
    """Say /stop while a turn is held; what stands in the chat when all is quiet again."""
    await within(held.reached)
    assert (await bot.ask("/stop")).text == "Stopped."
    held.go_on.set()
    await settled(bot)
    return await answers(world)


async def cut_off_behind_a_stop(bot: Running) -> None:
    """The process ends between the promise and the end of the turn."""
    await cut_off(bot)
    await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'ready'"))
    await bot.app.shared.database.transact(
        lambda tx: tx.run("UPDATE jobs SET stopped = 1 WHERE state = 'ready'")
    )


async def test_a_turn_that_is_only_just_claimed_does_not_begin(
    world: World, notes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table says that it is claimed; whoever claimed it has not heard of that yet."""
    handles = Held(monkeypatch, Flow, "handle")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        told = await stopped_at(world, bot, handles)
        turns = await bot.rows("SELECT status FROM turns")

    assert (told, turns, world.model.requests) == (["Stopped."], [], [])


async def test_an_answer_that_is_done_is_not_given(world: World, notes: None, done: Held) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        told = await stopped_at(world, bot, done)
        turns = await bot.rows("SELECT status FROM turns")
        await bot.ask("next")

    assert told == ["Stopped."]
    assert turns == [{"status": "aborted"}]
    assert await answers(world) == ["Stopped.", "next"]


async def test_nor_in_the_place_of_a_status_line(world: World, notes: None, done: Held) -> None:
    world.model.stall(after_chunks=0, text=TALK)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="Thinking")
        world.model.release.set()
        told = await stopped_at(world, bot, done)

    assert told == ["Stopped."]


async def test_what_was_seen_of_an_answer_stays_and_what_it_cost_is_counted(
    world: World, notes: None, done: Held
) -> None:
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="word")
        world.model.release.set()
        seen, *behind = await stopped_at(world, bot, done)
        usage = await bot.rows("SELECT 1 FROM usage_events")

    assert seen.startswith("word word")
    assert seen.endswith("…")
    assert behind == ["Stopped."]
    assert usage


async def test_a_failure_is_not_said_any_more(world: World, notes: None, done: Held) -> None:
    world.model.reply(Fails(400), Fails(400))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        told = await stopped_at(world, bot, done)

    assert told == ["Stopped."]


async def test_that_it_took_too_long_is_not_said_any_more(
    world: World, notes: None, done: Held
) -> None:
    world.config = {"advanced": {"turn_timeout_s": 1}}
    world.model.stall(after_chunks=0)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        told = await stopped_at(world, bot, done)

    assert told == ["Stopped."]


async def test_that_a_file_cannot_be_read_is_not_said_any_more(
    world: World, notes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    gives_up = Held(monkeypatch, Replies, "give_up")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "off"}
    async with world.running() as bot:
        await bot.people.send_file(ADA, ADA, "photo", PICTURE, caption="what is this?")
        told = await stopped_at(world, bot, gives_up)

    assert told == ["Stopped."]


async def test_a_summary_that_is_done_is_not_put_in_place(
    world: World, notes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rotates = Held(monkeypatch, Compacting, "_rotate")
    async with world.running() as bot:
        for text in ("one", "two", "three"):
            await bot.ask(text)
        before = await bot.rows("SELECT id FROM sessions")
        await bot.people.say(ADA, ADA, "/compact")
        told = await stopped_at(world, bot, rotates)
        after = await bot.rows("SELECT id FROM sessions")
        spent = await bot.rows("SELECT 1 FROM usage_events WHERE scope = 'summary'")

    assert (after, told[-1]) == (before, "Stopped.")
    assert spent


async def test_what_is_stopped_while_its_pack_goes_is_not_answered_later(
    world: World, tmp_path: Path
) -> None:
    async with world.running() as bot:
        await put(bot, shopping(tmp_path / "one"))
        await put(bot, ROOT / "packs" / "notes")
        for person in (ADA, BEN):
            await bot.ask("/use shopping", user=person)
        world.model.stall(after_chunks=0, text="slow answer")
        await bot.people.say(BEN, BEN, "first")
        await within(world.model.stalled)
        async with asyncio.TaskGroup() as group:
            group.create_task(bot.app.packs.remove("shopping", "owner", purge=False))
            await eventually(lambda: is_changing(bot))
            await bot.people.say(ADA, ADA, "do it")
            await eventually(lambda: bot.rows(CLAIMED, str(ADA), 1))
            assert (await bot.ask("/stop")).text == "Stopped."
            world.model.release.set()
        await settled(bot)
        await bot.ask("/use notes")
        await settled(bot)

    assert not any("wait" in text or "do it" in text for text in await answers(world))


async def is_changing(bot: Running) -> bool:
    await asyncio.sleep(0)
    return "shopping" in bot.app.generations.changing


async def test_a_turn_with_a_file_that_waits_to_go_on_ends_with_all_it_was_showing(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aouo.flow.generations.PATIENCE_S", 0.1)
    world.config.update(SEES)
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await put(bot, shopping(tmp_path / "one"))
        await bot.ask("/use shopping")
        await bot.people.send_file(ADA, ADA, "photo", PICTURE, caption="what is this?")
        await eventually(lambda: bot.rows(LIVE))
        async with bot.app.generations.change("shopping"):  # as an upgrade that takes a while
            await eventually(lambda: bot.rows(CLAIMED, str(ADA), 2))
            assert (await bot.ask("/stop")).text == "Stopped."
        await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")
        live = await bot.rows(LIVE)

    assert (turns, live) == ([{"status": "aborted"}], [])
    assert not any("word" in text for text in await answers(world))


async def test_a_file_off_the_record_goes_with_its_turn_that_was_given_back(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/stop comes while a change of the pack gives the turn back."""
    monkeypatch.setattr("aouo.flow.generations.PATIENCE_S", 0.1)
    gives_back = Held(monkeypatch, Replies, "give_back")
    world.config.update(SEES)
    world.model.reply(Says("no", stall_after=0))
    async with world.running() as bot:
        await put(bot, shopping(tmp_path / "one"))
        await bot.ask("/use shopping")
        await bot.people.send_file(ADA, ADA, "photo", PICTURE, caption="/otr what is this?")
        await within(world.model.stalled)
        assert list(world.home.media.rglob("*.jpg"))
        async with asyncio.TaskGroup() as group:
            group.create_task(put(bot, shopping(tmp_path / "two", "1.1.0")))
            await stopped_at(world, bot, gives_back)

    assert list(world.home.media.rglob("*.*")) == []


# Several messages


async def test_flood_control_takes_nothing_of_a_whole_message_and_adds_none_behind_it(
    world: World, notes: None
) -> None:
    """The first message is full, its last edit was refused, the second one waits for its place."""
    world.model.reply(Says(TALK, chunks=20, stall_after=(2, 18)))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="0. ")
        for method in ("editMessageText", "sendMessage"):
            await bot.people.fault("status", method=method, chat=ADA, status=429, retry_after=300)
        world.model.release.set()
        world.model.release.clear()
        second = "SELECT 1 FROM deliveries WHERE kind = 'live' LIMIT 1 OFFSET 1"
        await eventually(lambda: bot.rows(second))
        await bot.people.say(ADA, ADA, "/stop")
        await eventually(lambda: bot.rows("SELECT 1 FROM turns WHERE status = 'aborted'"))
        cast("FastClock", world.clock).jump(400)
        await said(world, "Stopped.")
        await settled(bot)

    whole, *behind = await answers(world)
    assert behind == ["Stopped."]
    assert len(whole) > len(TALK) / 3
    assert "".join(TALK.split()).startswith("".join(whole.split()))


async def test_words_before_a_tool_do_not_stay(world: World, notes: None) -> None:
    """Two messages of talk, then a tool at work, then /stop."""
    world.clock = FastClock(speed=0.001)
    begun, release = asyncio.Event(), asyncio.Event()
    world.tools, world.config = [waiting_tool(begun, release)], ALSO_SLOW
    world.model.reply(Says(TALK, (CallPart("skill_slow"),), chunks=20, stall_after=18))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await in_steps(world, 0.25, lambda: stands_there(world, "25. "))
        world.model.release.set()
        await within(begun)
        await in_steps(world, 0.25, lambda: stands_there(world, "skill_slow"))
        await bot.people.say(ADA, ADA, "/stop")
        await in_steps(world, 0.25, lambda: stands_there(world, "Stopped."))
        await in_steps(world, 0.25, lambda: all_is_sent(bot))

    assert await answers(world) == ["Stopped."]


async def stands_there(world: World, words: str) -> bool:
    return any(words in text for text in await answers(world))


async def all_is_sent(bot: Running) -> bool:
    return not await bot.rows(
        "SELECT 1 FROM jobs WHERE state IN ('ready', 'running') "
        "UNION ALL SELECT 1 FROM deliveries WHERE state IN ('queued', 'sending', 'live')"
    )


async def test_a_group_that_moves_is_not_told_the_beginning_again(
    world: World, notes: None, done: Held
) -> None:
    """The turn has shown words, /stop is answered, the group moves, then the turn ends."""
    world.config = {"telegram": {"groups": "all"}}
    world.model.reply(Says("word " * 100, chunks=5, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, "go")
        await bot.people.next_message(FAMILY, contains="word")
        await bot.people.say(ADA, FAMILY, "/stop")
        await said(world, "Stopped.", FAMILY)
        await within(done.reached)
        new = await bot.people.upgrade(ADA, FAMILY)
        await eventually(lambda: bot.rows("SELECT 1 FROM moved_chats"))
        done.go_on.set()
        await settled(bot)

    assert await answers(world, new) == []


# Behind a kill


async def test_the_next_process_does_not_take_it_up(world: World, notes: None) -> None:
    """Whole messages go too: nobody knows any more which were whole."""
    world.model.reply(Says(TALK, chunks=20, stall_after=18))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="25. ")
        await cut_off_behind_a_stop(bot)
    async with world.running() as bot:
        await bot.ask("next")
        await settled(bot)
        turns = await bot.rows("SELECT status FROM turns ORDER BY id")

    assert [row["status"] for row in turns] == ["aborted", "ack"]
    assert await answers(world) == ["next"]
    assert len(world.model.requests) == 2


async def test_off_the_record_nobody_is_asked_to_say_it_again(world: World, notes: None) -> None:
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        told = (await bot.ask("/otr")).text
        await bot.people.say(ADA, ADA, "go")
        await eventually(lambda: bot.rows(LIVE))
        await cut_off_behind_a_stop(bot)
    async with world.running() as bot:
        await settled(bot)

    assert await answers(world) == [told]


async def test_a_stop_ends_and_drops_nothing_that_was_said_after_it(
    world: World, notes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a moment late: what came after it has begun, or waits, when it is obeyed."""
    obeyed = Held(monkeypatch, Obeying, "obey")
    world.model.stall(after_chunks=0, text="the answer")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/stop")
        await within(obeyed.reached)
        await bot.people.say(ADA, ADA, "hello")
        await within(world.model.stalled)
        await bot.people.say(ADA, ADA, "and this")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE body LIKE '%and this%'"))
        obeyed.go_on.set()
        await said(world, "Nothing is running here.")
        world.model.release.set()
        await said(world, "the answer")
        await said(world, "and this")
        await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")

    assert turns == [{"status": "ack"}] * 2
