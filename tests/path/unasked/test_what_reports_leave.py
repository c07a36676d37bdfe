"""What a triggered turn brings belongs to that turn: it is traced, answered and forgotten with it.

Source: issue 14 "To settle" (what a removed person loses), issue 11, 29 (what is forgotten).
"""

from __future__ import annotations

import pytest

from aouo.emulator import FAMILY
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Origin, Person, Report
from aouo.store import traces
from aouo.store.database import Tx
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.path.looking import cut_off, eventually, settled
from tests.path.memory.test_conversations_forgotten import DAY_S, stored
from tests.path.schedules.scheduled import answering, made
from tests.path.world import ADA, BEN, Running, World, texts

RHINO = "All about the rhino. " * 300


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """It is Monday, 12:16 UTC."""
    world.config = {"cron": {"timezone": "UTC"}}
    world.clock = clock = FastClock(speed=1)
    return clock


async def the_run(bot: Running) -> str:
    """The id of the newest triggered turn."""
    (row,) = await bot.rows(
        "SELECT t.id FROM turns AS t JOIN jobs AS j ON j.id = t.job_id "
        "WHERE j.origin = 'cron' ORDER BY t.id DESC LIMIT 1"
    )
    return str(row["id"])


async def test_a_trace_of_a_run_names_the_messages_that_it_brought(
    world: World, clock: FastClock
) -> None:
    world.model.say("Water the plants!")
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        shown = await bot.people.next_message(ADA, contains="Water")
        await settled(bot)
        run = await the_run(bot)
        trace = await bot.app.shared.database.read(lambda tx: traces.trace(tx, run))

    assert trace
    sent = [entry for entry in trace.timeline if isinstance(entry, traces.Sent)]
    assert [(one.state, one.message_id) for one in sent] == [("sent", shown.id)]


async def test_what_a_run_brought_is_forgotten_as_a_message_too(
    world: World, clock: FastClock
) -> None:
    """`retention.messages_days` takes the words wherever they are; rows stay for their time."""
    world.config |= {"retention": {"messages_days": 7, "deliveries_days": 30}}
    world.model.say("One elephant.")
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        await bot.people.next_message(ADA, contains="elephant")
        await settled(bot)
        clock.jump(6 * DAY_S)
        await bot.app.tidying.prune()
        kept = stored(world, "elephant")
        clock.jump(2 * DAY_S)
        await bot.app.tidying.prune()
        rows = await bot.rows("SELECT state FROM deliveries")

    assert kept
    assert not stored(world, "elephant")
    assert rows == [{"state": "sent"}]


async def test_what_came_with_a_digest_is_forgotten_with_it_and_with_its_button(
    world: World, clock: FastClock
) -> None:
    world.config |= {
        "retention": {"messages_days": 7, "deliveries_days": 30},
        "attention": {"quiet_hours": "12:00-13:00"},
    }
    async with world.running() as bot:
        for number, text in enumerate((RHINO, "One elephant.")):
            await bring(bot, text, turn=str(number) * 26)
        clock.jump(3600)
        digest = await bot.people.next_message(ADA, contains="waited for you")
        await bot.people.tap(ADA, ADA, digest.id, digest.buttons[0].data)
        await bot.people.next_message(ADA, contains="elephant", after=digest.id)
        await settled(bot)
        clock.jump(8 * DAY_S)
        await bot.app.tidying.prune()
        left = [word for word in ("rhino", "elephant") if stored(world, word)]

    assert left == []


async def bring(
    bot: Running, text: str, *, turn: str, origin: Origin = "heartbeat", user: int = ADA
) -> None:
    """Bring in a result as a triggered turn files it."""
    chat = ConversationAddress("tg", str(user))
    inbound = Inbound(chat, Person(str(user)), Report(turn, "zoo", "", text), origin=origin)
    await bot.app.inbox.trigger(lambda tx, now: [inbound])
    await settled(bot)


async def test_a_failure_before_its_turn_is_forgotten_alone(world: World, clock: FastClock) -> None:
    """Each has a turn's place of its own, though it had no turn."""
    world.config |= {"retention": {"messages_days": 7}}
    async with world.running() as bot:
        await made(bot, pack="gone", name="old")
        clock.jump(61)
        await eventually(lambda: bot.rows("SELECT 1 FROM messages WHERE role = 'assistant'"))
        await settled(bot)
        clock.jump(6 * DAY_S)
        await made(bot, pack="gone", name="new")
        clock.jump(61)
        await bot.people.next_message(ADA, contains="— ⏰ new")
        await settled(bot)
        clock.jump(2 * DAY_S)
        await bot.app.tidying.prune()
        left = await bot.rows("SELECT text FROM messages WHERE role = 'user'")

    assert ["new" in row["text"] for row in left] == [True]


async def test_a_reaction_to_a_result_is_told_in_the_conversation_that_has_it(
    world: World, clock: FastClock
) -> None:
    world.model.script = answering(lambda _: "Water the plants!", lambda _: "Good.")
    async with world.running() as bot:
        await bot.ask("Hello")
        await made(bot)
        clock.jump(61)
        shown = await bot.people.next_message(ADA, contains="Water")
        await settled(bot)
        await bot.people.react(ADA, ADA, shown.id, "👍")
        await eventually(lambda: bot.rows("SELECT 1 FROM reactions"))
        await bot.ask("What did I like?")

    assert "[the person reacted 👍 to: Water the plants!" in str(
        world.model.requests[-1]["messages"][-1]
    )


@pytest.mark.parametrize("pack", ["", "gone"])
async def test_a_reaction_to_a_result_that_bypassed_a_question_is_told_with_the_next_turn(
    world: World, clock: FastClock, pack: str
) -> None:
    """The result is in the chat, and history gets it after the turn that asks; also if its run
    failed before it had a turn."""
    question = CallPart("clarify", {"message": "Which colour?", "options": ["red", "blue"]})

    def person(body: Body) -> Reply | str:
        asks = "Paint it" in words_of(body["messages"][-1])
        return Says(calls=(question,)) if asks else "Blue it is."

    world.model.script = answering(lambda _: "Water the plants!", person)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Paint it")
        asked = await bot.people.next_message(ADA, contains="Which colour?")
        await made(bot, pack=pack)
        clock.jump(61)
        shown = await bot.people.next_message(ADA, contains="— ⏰ plants")
        await bot.people.react(ADA, ADA, shown.id, "👍")
        await eventually(lambda: bot.rows("SELECT 1 FROM reactions"))
        await bot.people.tap(ADA, ADA, asked.id, asked.buttons[1].data)
        await settled(bot)
        await bot.ask("What did I like?")

    told = words_of(world.model.requests[-1]["messages"][-1])
    assert told.startswith(f"[the person reacted 👍 to: {shown.text[:12]}")


async def test_what_waits_in_a_group_for_a_person_off_the_list_is_not_sent(
    world: World, clock: FastClock
) -> None:
    """It is theirs by the turn that it came from."""
    world.config |= {"telegram": {"allowed_user_ids": [BEN, ADA], "groups": "all"}}
    world.model.say("The rhino is yours.")
    group = ConversationAddress("tg", str(FAMILY))
    async with world.running() as bot:
        await made(bot, address=group, chat_kind="group")
        clock.jump(61)
        await bot.people.next_message(FAMILY, contains="rhino")
        await settled(bot)
        await bot.app.shared.database.transact(again)
        await cut_off(bot)
    world.config["telegram"]["allowed_user_ids"] = [BEN]
    async with world.running() as bot:
        await bot.ask("Hello", user=BEN)
        await settled(bot)
        states = await bot.rows("SELECT state FROM deliveries WHERE chat_id = ?", str(FAMILY))

    assert states == [{"state": "dropped"}]
    assert (
        len([text for text in texts(await world.people.messages(FAMILY)) if "rhino" in text]) == 1
    )


def again(tx: Tx) -> None:
    """As if the process had ended before it was sent."""
    tx.run("UPDATE deliveries SET state = 'queued', message_id = 0 WHERE body LIKE '%rhino%'")


async def test_a_result_that_waits_for_a_person_off_the_list_leaves_no_words(
    world: World, clock: FastClock
) -> None:
    world.config |= {"telegram": {"allowed_user_ids": [BEN, ADA]}}
    world.model.script = answering(tells_and_ends, lambda _: Says("word " * 40, stall_after=0))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Something long")
        await world.model.stalled.wait()
        await made(bot)
        clock.jump(61)
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE body LIKE '%\"Report\"%'"))
        waited = await bot.rows("SELECT 1 FROM report_parts")
        await cut_off(bot)
    world.model.release.set()
    world.config["telegram"]["allowed_user_ids"] = [BEN]
    world.model.script = None
    async with world.running() as bot:
        await bot.ask("Hello", user=BEN)
        await settled(bot)
        left = await bot.rows("SELECT 1 FROM report_parts")
        (report,) = await bot.rows("SELECT state, body FROM jobs WHERE body LIKE '%\"Report\"%'")

    assert (len(waited), left) == (1, [])
    assert report["state"] == "dropped"
    assert "elephant" not in report["body"]


def tells_and_ends(body: Body) -> Reply | str:
    """A run that sends a message of its own, then says more."""
    if body["messages"][-1]["role"] == "tool":
        return "And one elephant."
    return Says(calls=(CallPart("msg", {"type": "text", "text": "One rhino."}),))
