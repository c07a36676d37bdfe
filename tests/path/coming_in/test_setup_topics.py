"""`/setup_topics` gives each pack its topic, however often it is sent.

Source: issue 4, reference §7.
"""

from __future__ import annotations

import asyncio

import pytest

from aouo.emulator import FAMILY, HOUSEHOLD
from aouo.facts.address import ConversationAddress
from aouo.store.routes import intend_topic
from tests.fakes.clock import FastClock
from tests.fakes.model_server import words_of
from tests.path.looking import answers, route, said, settled
from tests.path.world import ADA, Running, World

BOUND = {name: f"“{name}” answers here now." for name in ("notes", "vocab")}


@pytest.fixture(autouse=True)
async def fast(world: World) -> None:
    world.clock = FastClock()
    world.install("notes", "vocab")


async def forum(world: World, *, manages_topics: bool = True, status: str = "administrator") -> int:
    """A forum without topics."""
    return await world.people.create_chat(
        "Club", [ADA], kind="forum", bot_status=status, manages_topics=manages_topics
    )


async def set_up(bot: Running, chat: int) -> str:
    """Send the command; what it reports where it was sent."""
    said = await bot.people.say(ADA, chat, "/setup_topics")

    async def look() -> str | None:
        found = [m for m in await bot.people.messages(chat) if m.from_bot and m.id > said.id]
        return next((m.text for m in found if m.text and m.thread_id is None), None)

    return await bot.people.until(look)


async def topics(world: World, chat: int) -> dict[int, str]:
    """What is there: title by thread."""
    chats = (await world.people.act("state"))["chats"]
    here = next(one for one in chats if one["id"] == chat)
    return {topic["message_thread_id"]: topic["name"] for topic in here["topics"]}


async def greeted(world: World, chat: int, thread: int) -> list[str]:
    """What was said in a topic, but the service message that began it."""
    return [text for text in await answers(world, chat, thread) if text]


async def bound(bot: Running, chat: int) -> dict[str, str]:
    """Thread by pack."""
    rows = await bot.rows(
        "SELECT * FROM conversation_routes WHERE chat_id = ? AND thread_id <> '' "
        "AND active_pack <> ''",
        str(chat),
    )
    assert len(rows) == len({row["active_pack"] for row in rows}), "a pack has two topics"
    return {row["active_pack"]: row["thread_id"] for row in rows}


async def test_each_pack_gets_a_topic_that_says_once_who_answers_there(world: World) -> None:
    """The creation's own service message comes back and changes nothing: behaviour 14."""
    async with world.running() as bot:
        club = await forum(world)
        report = await set_up(bot, club)
        await settled(bot)
        made = await topics(world, club)
        threads = await bound(bot, club)
        greetings = {made[one]: await greeted(world, club, one) for one in made}
        answer = await bot.ask("der Hund", chat=club, thread=int(threads["vocab"]))

    assert report == "Created: notes, vocab"
    assert sorted(made.values()) == ["notes", "vocab"]
    assert {made[int(thread)]: pack for pack, thread in threads.items()} == {
        "notes": "notes",
        "vocab": "vocab",
    }
    assert greetings == {name: [text] for name, text in BOUND.items()}
    assert (answer.text, words_of(world.model.requests[0]["messages"][-1])) == (
        "der Hund",
        "der Hund",
    )


async def test_sent_again_it_changes_nothing_and_says_so(world: World) -> None:
    async with world.running() as bot:
        club = await forum(world)
        await set_up(bot, club)
        before = await topics(world, club)
        again = await set_up(bot, club)
        await settled(bot)
        after = await topics(world, club)
        threads = await bound(bot, club)
        greetings = [await greeted(world, club, one) for one in after]

    assert again == "There already: notes, vocab"
    assert (after, len(threads)) == (before, 2)
    assert sorted(greetings) == [[text] for text in BOUND.values()]


async def test_two_at_once_from_two_topics_create_nothing_twice(world: World) -> None:
    async with world.running() as bot:
        club = await forum(world)
        kitchen = await bot.people.topic_created(ADA, club, "kitchen")
        await bot.people.fault("slow", method="createForumTopic", seconds=0.2)
        await bot.people.say(ADA, club, "/setup_topics")
        await bot.people.say(ADA, club, "/setup_topics", thread=kitchen)
        await bot.people.next_message(club, thread=1, contains="notes, vocab")
        await bot.people.next_message(club, thread=kitchen, contains="notes, vocab")
        await settled(bot)
        made = await topics(world, club)

    assert sorted(made.values()) == ["kitchen", "notes", "vocab"]


async def test_a_deleted_topic_is_created_again_and_its_route_let_go(world: World) -> None:
    """Nothing tells a bot that a topic was deleted, so the topic itself is asked."""
    async with world.running() as bot:
        club = await forum(world)
        await set_up(bot, club)
        old = await bound(bot, club)
        await bot.people.topic_deleted(ADA, club, int(old["vocab"]))
        again = await set_up(bot, club)
        await settled(bot)
        new = await bound(bot, club)
        stale = await route(bot, club, old["vocab"])
        answer = await bot.ask("der Hund", chat=club, thread=int(new["vocab"]))

    assert again == "Created: vocab\nThere already: notes"
    assert (new["notes"] == old["notes"], new["vocab"] == old["vocab"]) == (True, False)
    assert (stale["active_pack"], stale["paused"]) == ("", "deleted")
    assert answer.text == "der Hund"


async def test_a_topic_that_was_not_found_for_a_while_is_not_created_again(world: World) -> None:
    """Telegram once said so of all private topics: the topic itself is asked again.

    Source: github.com/tdlib/telegram-bot-api/issues/847.
    """
    gone = {"status": 400, "description": "Bad Request: message thread not found"}
    async with world.running() as bot:
        club = await forum(world)
        await set_up(bot, club)
        old = await bound(bot, club)
        await bot.people.fault("status", method="sendMessage", chat=club, **gone)
        await bot.people.say(ADA, club, "/whereami", thread=int(old["vocab"]))
        await bot.people.next_message(club, thread=1, contains="does not find the topic")
        await settled(bot)
        again = await set_up(bot, club)
        found = await route(bot, club, old["vocab"])
        kept = await bound(bot, club)

    assert again == "There already: notes, vocab"
    assert (kept, found["paused"]) == (old, "")


async def test_a_topic_that_a_person_bound_or_renamed_counts(world: World) -> None:
    """It keeps its name: nothing but missing topics is touched."""
    async with world.running() as bot:
        club = await forum(world)
        words = await bot.people.topic_created(ADA, club, "Deutsch")
        await bot.ask("/use vocab", chat=club, thread=words)
        report = await set_up(bot, club)
        await settled(bot)
        made = await topics(world, club)

    assert report == "Created: notes\nThere already: vocab"
    assert sorted(made.values()) == ["Deutsch", "notes"]


async def test_a_topic_of_a_pack_that_was_installed_later_is_bound(world: World) -> None:
    (world.home.packs / "vocab").unlink()
    async with world.running() as bot:
        club = await forum(world)
        thread = await bot.people.topic_created(ADA, club, "Vocab")
        await settled(bot)
    world.install("vocab")
    async with world.running() as bot:
        report = await set_up(bot, club)
        await said(world, BOUND["vocab"], club, thread)
        made = await topics(world, club)

    assert report == "Created: notes\nThere already: vocab"
    assert sorted(made.values()) == ["Vocab", "notes"]


async def test_a_topic_that_was_closed_stays_closed_and_counts(world: World) -> None:
    async with world.running() as bot:
        club = await forum(world)
        await set_up(bot, club)
        thread = (await bound(bot, club))["vocab"]
        await bot.people.topic_closed(ADA, club, int(thread))
        await settled(bot)
        again = await set_up(bot, club)
        shut = await route(bot, club, thread)
        reopened = await bot.people.calls("reopenForumTopic")

    assert (again, shut["paused"]) == ("There already: notes, vocab", "closed")
    assert [str(call["params"]["message_thread_id"]) for call in reopened] != [thread]


@pytest.mark.parametrize(
    ("status", "manages_topics", "why"),
    [
        (
            "administrator",
            False,
            "I lack the right “Manage topics”: give it to me in the group's settings, under "
            "administrators, then send /setup_topics again.",
        ),
        (
            "member",
            True,
            "I am no administrator here: make me one with the right “Manage topics”, then send "
            "/setup_topics again.\nPrivacy mode hides from me whatever does not mention me, answer "
            "me or begin with a command, in these topics too. Make me an administrator here, or "
            "switch it off: @BotFather, /setprivacy, then add me to the group again.",
        ),
    ],
)
async def test_the_missing_right_is_named(
    world: World, status: str, manages_topics: bool, why: str
) -> None:
    """Behaviour 44; and privacy mode is explained where it hides messages."""
    async with world.running() as bot:
        club = await forum(world, status=status, manages_topics=manages_topics)
        report = await set_up(bot, club)
        await settled(bot)
        left = await bot.rows("SELECT * FROM topic_intents")
        made = await topics(world, club)

    assert report == f"Not created: notes, vocab\n{why}"
    assert (made, left) == ({}, [])


async def test_where_there_are_no_topics_it_says_what_to_do(world: World) -> None:
    async with world.running() as bot:
        group = await set_up(bot, FAMILY)
        private = await set_up(bot, ADA)
        calls = await bot.people.calls("createForumTopic")

    assert group.startswith("This group has no topics. Switch them on")
    assert private.startswith("This chat has no topics.")
    assert calls == []


async def test_only_the_failed_ones_are_missing_and_a_second_time_mends_it(world: World) -> None:
    async with world.running() as bot:
        club = await forum(world)
        await bot.people.fault("status", method="createForumTopic", nth=2, status=400)
        first = await set_up(bot, club)
        second = await set_up(bot, club)

    assert first.startswith("Created: notes\nNot created: vocab\nTelegram refused")
    assert second == "Created: vocab\nThere already: notes"


async def test_flood_control_is_waited_out(world: World) -> None:
    async with world.running() as bot:
        club = await forum(world)
        await bot.people.fault("status", method="createForumTopic", status=429, retry_after=20)
        report = await set_up(bot, club)

    assert report == "Created: notes, vocab"


async def test_failures_that_pass_are_waited_out_twice(world: World) -> None:
    async with world.running() as bot:
        club = await forum(world)
        await bot.people.fault("status", method="createForumTopic", status=500, times=2)
        report = await set_up(bot, club)
        made = await topics(world, club)

    assert (report, sorted(made.values())) == ("Created: notes, vocab", ["notes", "vocab"])


LATER = "Telegram did not answer in time: send /setup_topics again in a minute."


@pytest.mark.parametrize("method", ["createForumTopic", "getChat"])
async def test_what_does_not_pass_soon_is_said_and_left(world: World, method: str) -> None:
    """Nobody waits in front of a command for minutes."""
    async with world.running() as bot:
        club = await forum(world)
        await bot.people.fault("status", method=method, status=429, retry_after=120, times=9)
        await bot.people.say(ADA, club, "/setup_topics")
        report = await said(world, f"Not created: notes, vocab\n{LATER}", club)
        await settled(bot)
        tries = await bot.people.calls(method)
        await bot.people.clear_faults()
        again = await set_up(bot, club)

    assert report.thread_id is None
    assert len(tries) == (2 if method == "createForumTopic" else 1)
    assert again == "Created: notes, vocab"


async def test_a_topic_that_nobody_answered_for_and_that_never_comes_is_said(
    world: World,
) -> None:
    async with world.running() as bot:
        club = await forum(world)
        await bot.people.fault("drop_before", method="createForumTopic")
        report = await set_up(bot, club)
        made = await topics(world, club)
        again = await set_up(bot, club)

    assert report == (
        "Created: vocab\nNot created: notes\nThe connection broke meanwhile: if the topic shows up "
        "I take it over, if not, send /setup_topics again."
    )
    assert list(made.values()) == ["vocab"]
    assert again == "Created: notes\nThere already: vocab"


async def test_without_a_pack_there_is_nothing_to_give_a_topic_to(world: World) -> None:
    for name in BOUND:
        (world.home.packs / name).unlink()
    async with world.running() as bot:
        club = await forum(world)
        report = await set_up(bot, club)
        made = await topics(world, club)

    assert (report, made) == (
        "No pack is installed, so there is nothing to give a topic to.",
        {},
    )


async def test_a_topic_whose_creation_nobody_answered_for_is_taken_over(world: World) -> None:
    """The connection broke behind it: its service message tells of it, and it binds by title."""
    world.clock = FastClock(speed=2)
    async with world.running() as bot:
        club = await forum(world)
        await bot.people.fault("drop_after", method="createForumTopic")
        report = await set_up(bot, club)
        await settled(bot)
        made = await topics(world, club)
        threads = await bound(bot, club)
        greetings = [await greeted(world, club, one) for one in made]

    assert report == "Created: notes, vocab"
    assert (sorted(made.values()), sorted(threads)) == (["notes", "vocab"], ["notes", "vocab"])
    assert sorted(greetings) == [[text] for text in BOUND.values()]


async def test_a_process_that_ended_behind_a_creation_does_not_create_again(world: World) -> None:
    """What its successor finds: an intent, a topic nobody bound, its service message to come."""
    world.clock = FastClock(speed=2)
    async with world.running() as bot:
        club = await forum(world)
        await bot.people.fault("slow", method="getChat", seconds=0.3)
        await bot.people.fault("slow", method="createForumTopic", seconds=30)
        await bot.people.say(ADA, club, "/setup_topics")

        async def asked() -> bool:
            return bool(await bot.people.calls("getChat"))

        async def created() -> bool:
            return bool(await topics(world, club))

        await bot.people.until(asked)
        assert bot.app.shared.telegram
        bot.app.shared.telegram.stop_listening()
        await bot.people.until(created)
        lanes = next(task for task in asyncio.all_tasks() if task.get_name() == f"lane {club}")
        lanes.cancel()
        await asyncio.wait([lanes])
    async with world.running() as bot:
        report = await bot.people.next_message(club, thread=1)
        await settled(bot)
        made = await topics(world, club)
        left = await bot.rows("SELECT * FROM topic_intents")

    # It may be heard of before it is missed, or after.
    assert report.text in ("Created: notes, vocab", "Created: vocab\nThere already: notes")
    assert (sorted(made.values()), left) == (["notes", "vocab"], [])


async def test_a_topic_that_may_be_on_its_way_is_waited_for(world: World) -> None:
    """A former process meant to create it; whether it did, only its service message tells."""
    world.clock = FastClock(speed=2)
    async with world.running() as bot:
        club = await forum(world)
        address = ConversationAddress("tg", str(club))
        await bot.app.shared.database.transact(lambda tx: intend_topic(tx, address, "notes", ""))
        await bot.people.say(ADA, club, "/setup_topics")

        async def asked() -> bool:
            return bool(await bot.people.calls("getChat"))

        await bot.people.until(asked)
        await bot.people.topic_created(ADA, club, "notes")
        await settled(bot)
        made = await topics(world, club)

    assert sorted(made.values()) == ["notes", "vocab"]


async def test_the_command_is_in_the_menu(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("/help")
        menu = (await bot.people.calls("setMyCommands"))[-1]["params"]["commands"]

    assert "setup_topics" in [entry["command"] for entry in menu]


async def test_a_private_chat_with_topics_gets_them_too(private: World) -> None:
    """`getMe.has_topics_enabled`; nothing can be opened or closed there to see if it exists."""
    async with private.running() as bot:
        first = await set_up(bot, ADA)
        threads = await bound(bot, ADA)
        await bot.people.topic_deleted(ADA, ADA, int(threads["vocab"]))
        again = await set_up(bot, ADA)
        await settled(bot)
        made = await topics(private, ADA)
        wrong = await bot.people.calls("reopenForumTopic")

    assert first == "Created: notes, vocab"
    assert again == "Created: vocab\nThere already: notes"
    assert (sorted(made.values()), wrong) == (["notes", "vocab"], [])


async def test_the_first_home_keeps_its_topics(world: World) -> None:
    """Topics that were there before the bot are known by their first message."""
    async with world.running() as bot:
        await bot.ask("der Hund", chat=HOUSEHOLD, thread=3)
        await bot.ask("a note", chat=HOUSEHOLD, thread=2)
        report = await set_up(bot, HOUSEHOLD)

    assert report == "There already: notes, vocab"
