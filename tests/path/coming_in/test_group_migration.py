"""A group becomes a supergroup with another id: everything follows, nothing is lost or crossed.

Source: issue 4, reference §7 (60); the plain story is in `test_routing`.
"""

from __future__ import annotations

import json

import pytest

from aouo.emulator import FAMILY, ChatMessage
from aouo.emulator.description import JsonObject
from aouo.facts.address import ConversationAddress
from aouo.facts.work import Delivery
from aouo.store import deliveries
from aouo.store.database import Tx
from aouo.words.catalogue import message
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.path.looking import (
    Withholding,
    answers,
    crossed_keys,
    eventually,
    prompts,
    said,
    settled,
)
from tests.path.world import ADA, BEN, Running, World

US = "@aouo_try_bot"


@pytest.fixture(autouse=True)
async def fast(world: World) -> None:
    world.clock = FastClock()
    world.config = {"telegram": {"streaming": "off"}}
    world.install("notes", "vocab")


async def test_of_a_stranger_who_moves_a_group_no_name_is_kept(world: World) -> None:
    """The move is a fact about the group; who brought it about is nobody we know."""
    async with world.running() as bot:
        await bot.ask(f"/use{US} notes", chat=FAMILY)
        stranger = {"id": 5005, "is_bot": False, "first_name": "Mallory", "username": "mallory"}
        moved = {
            "message_id": 300,
            "date": 1_700_000_000,
            "chat": {"id": FAMILY, "type": "group", "title": "Family"},
            "from": stranger,
            "migrate_to_chat_id": -1_000_000_009_999,
        }
        assert bot.app.shared.telegram
        await bot.app.shared.telegram._store([{"update_id": 10**6, "message": moved}], 0)
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE outcome = 'moved'"))
        kept = str(await bot.rows("SELECT * FROM jobs")) + str(
            await bot.rows("SELECT * FROM updates")
        )
        routes = await bot.rows("SELECT chat_id FROM conversation_routes")

    assert routes == [{"chat_id": "-1000000009999"}]
    assert "allory" not in kept


def tells_of_a_move(content: JsonObject) -> bool:
    return "migrate_to_chat_id" in content or "migrate_from_chat_id" in content


async def find_out(bot: Running, group: int) -> None:
    """Another sender learns of the move, by a message of ours for the old group."""
    await put_notice(bot)
    await bot.people.next_message(group, contains="by the way")
    await has_moved(bot, group)


async def put_notice(bot: Running) -> None:
    address = ConversationAddress("tg", str(FAMILY))

    def notice(tx: Tx) -> Delivery:
        return deliveries.add(tx, address, "notice", message("by the way"), "")

    bot.app.outbox.put(await bot.app.shared.database.transact(notice))


async def has_moved(bot: Running, group: int) -> None:
    async def moved() -> bool:
        return bool(await bot.rows("SELECT 1 FROM moved_chats WHERE new_chat_id = ?", str(group)))

    await eventually(moved)


async def lane_of(bot: Running, text: str) -> str:
    rows = await bot.rows("SELECT lane FROM jobs WHERE body LIKE ?", f"%{text}%")
    return rows[-1]["lane"] if rows else ""


@pytest.mark.parametrize("told_by", ["migrate_to_chat_id", "migrate_from_chat_id", "both"])
async def test_either_of_the_two_service_messages_moves_the_group(
    world: World, told_by: str
) -> None:
    Withholding(
        world, lambda found: tells_of_a_move(found) and told_by != "both" and told_by not in found
    )
    async with world.running() as bot:
        await bot.ask("/use vocab", chat=FAMILY)
        await bot.ask(f"{US} der Hund", chat=FAMILY)
        group = await bot.people.upgrade(ADA, FAMILY)
        answer = await bot.ask(f"{US} what did I say?", chat=group)
        await settled(bot)
        keys = await bot.rows("SELECT session_key FROM sessions")
        chats = await bot.rows("SELECT chat_id FROM conversation_routes")

    assert answer.text == "what did I say?"
    assert "der Hund" in json.dumps(world.model.requests[-1]["messages"])
    assert keys == [{"session_key": f"tg:{group}:pack:vocab"}]
    assert chats == [{"chat_id": str(group)}]


async def test_what_was_said_elsewhere_can_be_edited_after_the_move(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("/use vocab", chat=FAMILY)
        mine = await bot.people.say(ADA, ADA, "/use vocab")
        await bot.people.next_message(ADA, after=mine.id)
        mine = await bot.people.say(ADA, ADA, "der Hund")
        await bot.people.next_message(ADA, after=mine.id)
        await settled(bot)
        group = await bot.people.upgrade(ADA, FAMILY)
        await has_moved(bot, group)
        await bot.people.edit(ADA, ADA, mine.id, "die Katze")
        await bot.people.next_message(ADA, contains="You edited a message that I had answered.")


async def test_a_stranger_who_makes_it_a_supergroup_takes_nothing_away(world: World) -> None:
    """It is a fact of Telegram's; and nobody is told that they are not authorized."""
    async with world.running() as bot:
        eve = await bot.people.create_user("Eve")
        await bot.people.join(eve, FAMILY)
        await bot.ask("/use vocab", chat=FAMILY)
        group = await bot.people.upgrade(eve, FAMILY)
        answer = await bot.ask(f"{US} der Hund", chat=group)
        there = await answers(world, group)

    assert (answer.text, there) == ("der Hund", ["der Hund"])


async def test_a_move_that_only_a_failed_send_tells_of_wakes_what_waits(world: World) -> None:
    """The answer arrives in the new group, and so does the one that waited behind it."""
    Withholding(world, tells_of_a_move)
    async with world.running() as bot:
        await bot.ask("/use notes", chat=FAMILY)
        world.model.stall(after_chunks=0, text="slow answer")
        await bot.people.say(ADA, FAMILY, f"{US} first")
        await world.model.stalled.wait()
        await bot.people.say(BEN, FAMILY, f"{US} second")

        async def waits() -> bool:
            return await lane_of(bot, "second") != ""

        await eventually(waits)
        # Another sender finds out, while `first` is still at work in the old lane.
        group = await bot.people.upgrade(ADA, FAMILY)
        await find_out(bot, group)
        moved = await lane_of(bot, "second")
        during = len(world.model.requests)
        world.model.release.set()
        await said(world, "slow answer", group)
        await said(world, "second", group)
        await settled(bot)
        wrong = await crossed_keys(bot)
        there = await answers(world, group)

    assert (moved, during, wrong) == (str(group), 1, [])
    assert there == ["by the way", "slow answer", "second"]


async def test_a_running_turn_is_alone_and_can_be_stopped_from_the_new_group(
    world: World,
) -> None:
    async with world.running() as bot:
        await bot.ask("/use notes", chat=FAMILY)
        world.model.stall(after_chunks=0, text="slow answer")
        await bot.people.say(ADA, FAMILY, f"{US} first")
        await world.model.stalled.wait()
        group = await bot.people.upgrade(ADA, FAMILY)
        await bot.people.say(BEN, group, f"{US} second")

        async def waits() -> bool:
            return await lane_of(bot, "second") == str(group)

        await eventually(waits)
        at_once = len(world.model.requests)
        await bot.people.say(ADA, group, "/stop")
        await said(world, "second", group)
        await settled(bot)
        there = await answers(world, group)

    assert at_once == 1
    assert prompts(world) == ["first", "second"]
    assert "slow answer" not in there


async def test_what_was_said_before_a_move_and_comes_late_is_answered_in_the_new_group(
    world: World,
) -> None:
    """A failed send may tell of the move before the updates from before it have come; and the
    move itself, told at last, changes nothing more."""
    updates = Withholding(
        world, lambda found: tells_of_a_move(found) or "der Hund" in found.get("text", "")
    )
    async with world.running() as bot:
        await bot.ask("/use vocab", chat=FAMILY)
        await bot.people.say(ADA, FAMILY, f"{US} der Hund")
        group = await bot.people.upgrade(ADA, FAMILY)
        await find_out(bot, group)
        updates.let_go()
        await bot.people.say(ADA, group, f"{US} die Katze")
        await said(world, "die Katze", group)
        await settled(bot)
        there = await answers(world, group)
        chats = await bot.rows("SELECT chat_id, active_pack FROM conversation_routes")

    assert there == ["by the way", "der Hund", "die Katze"]
    assert chats == [{"chat_id": str(group), "active_pack": "vocab"}]


async def test_a_question_is_answered_where_the_group_is_now(world: World) -> None:
    """Its buttons stay in the old chat; words answer it."""
    world.model.call("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    world.model.say("green it is")
    async with world.running() as bot:
        await bot.ask("/use notes", chat=FAMILY)
        await bot.ask(f"{US} paint", chat=FAMILY)
        group = await bot.people.upgrade(ADA, FAMILY)
        await has_moved(bot, group)
        await bot.people.say(ADA, group, f"{US} green")
        await said(world, "green it is", group)


async def test_show_again_works_above_the_move(world: World) -> None:
    """People see what was said in the old group above what is said in the new one."""
    world.model.say("it is important")
    async with world.running() as bot:
        await bot.ask("/use notes", chat=FAMILY)
        await bot.people.fault("drop_before", method="sendMessage", chat=FAMILY)
        await bot.people.say(ADA, FAMILY, f"{US} go")
        note = await bot.people.next_message(FAMILY, contains="may not have arrived")
        group = await bot.people.upgrade(ADA, FAMILY)
        await has_moved(bot, group)
        await bot.people.tap(ADA, FAMILY, note.id, note.buttons[0].data)
        await said(world, "it is important", group)


async def test_no_message_of_the_new_group_is_edited_by_an_old_number(world: World) -> None:
    """There a message of ours may have the number that the live one had in the old group."""
    world.config = {}
    async with world.running() as bot:
        await bot.ask("/use notes", chat=FAMILY)
        world.model.stall(after_chunks=1, text="a long answer that grows as it comes in slowly")
        question = await bot.people.say(ADA, FAMILY, f"{US} go")
        live = await bot.people.next_message(FAMILY, after=question.id)
        group = await bot.people.upgrade(ADA, FAMILY)
        await has_moved(bot, group)
        last = (await bot.people.messages(group))[-1]
        if (live.id - last.id) % 2:  # a question and an answer each from here on
            await bot.people.say(ADA, group, "/start@nobody_bot")
        ours: ChatMessage | None = None
        while ours is None or ours.id < live.id:
            ours = await bot.ask("/whereami", chat=group)
        assert ours.id == live.id
        world.model.release.set()
        await said(world, "a long answer that grows as it comes in slowly", group)
        await settled(bot)
        there = await answers(world, group)

    assert there[-2:] == [ours.text, "a long answer that grows as it comes in slowly"]


@pytest.mark.parametrize("status", ["left", "kicked", "restricted"])
async def test_that_we_are_out_of_the_old_group_says_nothing_of_the_new_one(
    world: World, status: str
) -> None:
    """The old one is empty now, and Telegram may tell of that: the new one is served as before."""
    async with world.running() as bot:
        await bot.ask("/use notes", chat=FAMILY)
        group = await bot.people.upgrade(ADA, FAMILY)
        await has_moved(bot, group)
        await settled(bot)
        await bot.people.set_bot_status(BEN, FAMILY, status)
        await bot.ask("/id", user=BEN)  # what came before it is filed
        gone = await bot.rows("SELECT chat_id FROM gone_chats")
        at_home = await bot.rows(
            "SELECT gone FROM conversation_routes WHERE chat_id = ?", str(group)
        )
        answer = await bot.ask(f"{US} are you there?", chat=group)

    assert (gone, at_home, answer.text) == ([], [{"gone": ""}], "are you there?")


async def test_nor_by_an_edit_that_flood_control_held_back_until_the_move(world: World) -> None:
    """What was to be shown of the growing answer still waits, and so it does after the move."""
    world.config = {}
    world.clock = clock = FastClock()
    Withholding(world, tells_of_a_move)
    world.model.reply(Says("a long answer " * 60, chunks=12, stall_after=(2, 11)))
    async with world.running() as bot:
        await bot.ask("/use notes", chat=FAMILY)
        await bot.people.fault(
            "status", method="editMessageText", chat=FAMILY, status=429, retry_after=300
        )
        question = await bot.people.say(ADA, FAMILY, f"{US} go")
        live = await bot.people.next_message(FAMILY, after=question.id)
        world.model.release.set()
        world.model.release.clear()
        await eventually(lambda: bot.people.calls("editMessageText"))
        group = await bot.people.upgrade(ADA, FAMILY)
        ours = await bot.people.messages(group)
        if (live.id - ours[-1].id) % 2:  # a question and an answer each from here on
            await bot.people.say(ADA, group, "talk")
        while ours[-1].id < live.id:
            ours = [await bot.ask(f"/whereami{US}", chat=group)]
        await put_notice(bot)  # goes before the edit, and finds out
        clock.jump(300)
        await bot.people.next_message(group, contains="by the way")
        for _ in range(4):
            clock.jump(60)
            await bot.ask(f"/whereami{US}", chat=group)
        shown = [m for m in await bot.people.messages(group) if m.id == live.id]
        world.model.release.set()
        await settled(bot)
        edits = await bot.people.calls("editMessageText")

    assert (live.id, [m.text for m in shown]) == (ours[-1].id, [ours[-1].text])
    assert {call["params"]["chat_id"] for call in edits} == {FAMILY}
