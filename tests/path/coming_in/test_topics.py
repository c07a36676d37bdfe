"""Topics: which pack their title gives them, closed and deleted ones, General, private chats.

Source: issue 4, design §3.2, reference §7 (40-46); binding at creation is in `test_routing`.
"""

from __future__ import annotations

import functools

import pytest
from structlog.testing import capture_logs

from aouo.emulator import FAMILY, HOUSEHOLD, NOTES, VOCAB
from aouo.facts.address import ConversationAddress
from aouo.store import routes
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart
from tests.path.looking import answers, eventually, prompts, route, said, settled
from tests.path.world import ADA, Running, World

BROKE = "The connection broke while I was sending: my message “two” may not have arrived."
NOT_FOUND = (
    "Telegram does not find the topic “{}”, so this comes here. If it is still there, write "
    "something in it, and I go on there."
)
CLOSED = "The topic “{}” is closed, so this comes here. Once it is open again, I answer there."


@pytest.fixture(autouse=True)
async def fast(world: World) -> None:
    world.clock = FastClock()
    world.install("notes", "vocab")


async def paused(bot: Running, thread: int, chat: int = HOUSEHOLD) -> bool:
    """What schedules will ask before they begin anything."""
    address = ConversationAddress("tg", str(chat), str(thread))
    return await bot.app.shared.database.read(lambda tx: routes.is_paused(tx, address))


# Titles


async def test_a_topic_renamed_to_another_pack_changes_packs_and_says_so(world: World) -> None:
    async with world.running() as bot:
        thread = await bot.people.topic_created(ADA, HOUSEHOLD, "Notes")
        await said(world, "“notes” answers here now.", HOUSEHOLD, thread)
        await bot.people.topic_renamed(ADA, HOUSEHOLD, thread, "VOCAB")
        await said(world, "“vocab” answers here now.", HOUSEHOLD, thread)
        await bot.ask("der Hund", chat=HOUSEHOLD, thread=thread)
        bound = await route(bot, HOUSEHOLD, str(thread))
        keys = await bot.rows("SELECT session_key FROM sessions")

    assert (bound["active_pack"], bound["title"]) == ("vocab", "VOCAB")
    assert keys == [{"session_key": f"tg:{HOUSEHOLD}:thread:{thread}:pack:vocab"}]


async def test_what_a_person_chose_is_not_undone_by_the_title_of_later_messages(
    world: World,
) -> None:
    """Each of them brings the title that the topic began with."""
    async with world.running() as bot:
        await bot.ask("der Hund", chat=HOUSEHOLD, thread=VOCAB)
        await bot.ask("/use notes", chat=HOUSEHOLD, thread=VOCAB)
        await bot.ask("milk", chat=HOUSEHOLD, thread=VOCAB)
        bound = await route(bot, HOUSEHOLD, str(VOCAB))

    assert bound["active_pack"] == "notes"


@pytest.mark.parametrize("first", ["/new", "/whereami", "der Hund"])
async def test_the_first_message_binds_also_if_it_is_a_command(world: World, first: str) -> None:
    async with world.running() as bot:
        with capture_logs() as logs:
            await bot.ask(first, chat=HOUSEHOLD, thread=VOCAB)
        bound = await route(bot, HOUSEHOLD, str(VOCAB))
        where = await bot.ask("/whereami", chat=HOUSEHOLD, thread=VOCAB)

    assert bound["active_pack"] == "vocab"
    assert "Pack: vocab" in where.text
    assert [line["pack"] for line in logs if line["event"] == "tg_topic_auto_bound"] == ["vocab"]


async def test_a_title_that_was_changed_since_counts_and_not_the_first_one(world: World) -> None:
    """A topic that is not a pack's any more is talk among people, also if it once was named so."""
    (world.home.packs / "vocab").unlink()
    async with world.running() as bot:
        thread = await bot.people.topic_created(ADA, HOUSEHOLD, "vocab")
        await bot.people.topic_renamed(ADA, HOUSEHOLD, thread, "kitchen")

        async def known() -> bool:
            return bool(await bot.rows("SELECT 1 FROM conversation_routes WHERE title = 'kitchen'"))

        await eventually(known)
    world.install("vocab")
    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, "talk among people", thread=thread)
        await bot.ask("der Hund", chat=HOUSEHOLD, thread=VOCAB)
        await settled(bot)
        there = await answers(world, HOUSEHOLD, thread)

    assert (prompts(world), there) == (["der Hund"], [])


async def test_what_strangers_do_with_topics_binds_nothing_and_is_not_answered(
    world: World,
) -> None:
    async with world.running() as bot:
        eve = await bot.people.create_user("Eve")
        await bot.people.join(eve, HOUSEHOLD)
        thread = await bot.people.topic_created(eve, HOUSEHOLD, "vocab")
        await bot.people.topic_closed(eve, HOUSEHOLD, NOTES)
        await bot.ask("/whereami", chat=HOUSEHOLD, thread=VOCAB)
        await settled(bot)
        rows = await bot.rows("SELECT thread_id FROM conversation_routes")

    assert rows == [{"thread_id": str(VOCAB)}]
    assert await answers(world, HOUSEHOLD, thread) == []


# Closed and deleted


async def test_a_closed_topic_pauses_and_an_opened_one_goes_on(world: World) -> None:
    """Schedules read it; also a topic in which nobody has said anything yet."""
    async with world.running() as bot:
        states = [await paused(bot, VOCAB)]
        for closed in (True, False):
            await bot.people.topic_closed(ADA, HOUSEHOLD, VOCAB, closed=closed)

            async def changed(closed: bool = closed) -> bool:
                return await paused(bot, VOCAB) is closed

            await eventually(changed)
            states.append(await paused(bot, VOCAB))
        other = await paused(bot, NOTES)

    assert (states, other) == ([False, True, False], False)


async def test_a_topic_that_is_closed_stays_so_over_a_restart(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("der Hund", chat=HOUSEHOLD, thread=VOCAB)
        await bot.people.topic_closed(ADA, HOUSEHOLD, VOCAB)
        await eventually(lambda: paused(bot, VOCAB))
    async with world.running() as bot:
        assert await paused(bot, VOCAB)


@pytest.mark.parametrize("told", [True, False])
async def test_an_answer_for_a_topic_that_was_closed_meanwhile_says_why_it_comes_elsewhere(
    world: World, told: bool
) -> None:
    """Behaviour 43; and once it is open again, answers go there."""
    world.config = {"telegram": {"streaming": "off"}}
    world.model.stall(after_chunks=0, text="a dog")
    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, "der Hund", thread=VOCAB)
        await world.model.stalled.wait()
        # If nobody who is listened to closes it, the bot learns of it by its own message.
        eve = ADA if told else await bot.people.create_user("Eve")
        await bot.people.topic_closed(eve, HOUSEHOLD, VOCAB)
        if told:
            await eventually(lambda: paused(bot, VOCAB))
        world.model.release.set()
        await said(world, "a dog", HOUSEHOLD)
        await settled(bot)
        general = await answers(world, HOUSEHOLD, 1)
        shut = await paused(bot, VOCAB)
        await bot.people.topic_closed(eve, HOUSEHOLD, VOCAB, closed=False)
        answer = await bot.ask("die Katze", chat=HOUSEHOLD, thread=VOCAB)
        open_again = not await paused(bot, VOCAB)

    assert general == [CLOSED.format("vocab"), "a dog"]
    assert (shut, answer.text, open_again) == (True, "die Katze", True)


async def test_who_may_write_in_a_closed_topic_is_answered(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("one", chat=HOUSEHOLD, thread=VOCAB)
        await bot.people.topic_closed(ADA, HOUSEHOLD, VOCAB)
        await eventually(lambda: paused(bot, VOCAB))
        await bot.people.say(ADA, HOUSEHOLD, "two", thread=VOCAB)
        await said(world, "two", HOUSEHOLD, 1)
        await settled(bot)
        general = await answers(world, HOUSEHOLD, 1)
        shut = await paused(bot, VOCAB)

    assert (general, shut) == ([CLOSED.format("vocab"), "two"], True)


async def test_a_reply_to_a_message_in_a_closed_topic_comes_elsewhere_too(world: World) -> None:
    """Without a thread, a reply goes where the message is that it replies to."""
    async with world.running() as bot:
        await bot.ask("one", chat=HOUSEHOLD, thread=VOCAB)
        await bot.people.topic_closed(ADA, HOUSEHOLD, VOCAB)
        await eventually(lambda: paused(bot, VOCAB))
        wish = {"type": "text", "text": "look here", "reply_to": "user"}
        world.model.calls(CallPart("msg", wish))
        world.model.say("two")
        await bot.people.say(ADA, HOUSEHOLD, "go", thread=VOCAB)
        await said(world, "two", HOUSEHOLD, 1)
        await settled(bot)
        general = await answers(world, HOUSEHOLD, 1)

    assert general == [CLOSED.format("vocab"), "look here", "two"]


async def test_a_topic_deleted_while_it_is_answered_is_marked_and_the_answer_arrives(
    world: World,
) -> None:
    """Behaviour 42: sent once without the topic, and the next ones go where they belong."""
    world.config = {"telegram": {"streaming": "off"}}
    world.model.stall(after_chunks=0, text="a dog")
    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, "der Hund", thread=VOCAB)
        await world.model.stalled.wait()
        await bot.people.topic_deleted(ADA, HOUSEHOLD, VOCAB)
        world.model.release.set()
        await said(world, "a dog", HOUSEHOLD)
        await settled(bot)
        general = await answers(world, HOUSEHOLD, 1)
        shut = await paused(bot, VOCAB)
        sends = [call["params"] for call in await bot.people.calls("sendMessage")]

    assert general == [NOT_FOUND.format("vocab"), "a dog"]
    assert shut
    assert [params.get("message_thread_id") for params in sends] == [VOCAB, None, None]


async def lost(bot: Running, thread: int, word: str) -> None:
    """Telegram says of a topic that is there that it is not, as it did on 8 May 2026.

    Source: github.com/tdlib/telegram-bot-api/issues/847.
    """
    fault = {"status": 400, "description": "Bad Request: message thread not found"}
    await bot.people.fault("status", method="sendMessage", chat=HOUSEHOLD, **fault)
    await bot.people.say(ADA, HOUSEHOLD, f"/use {word}", thread=thread)
    await bot.people.next_message(HOUSEHOLD, thread=1, contains=NOT_FOUND.partition("{")[0])
    await settled(bot)
    assert await paused(bot, thread)


async def test_a_topic_that_was_not_found_for_a_while_is_answered_in_again(world: World) -> None:
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await lost(bot, VOCAB, "vocab")
        answer = await bot.ask("der Hund", chat=HOUSEHOLD, thread=VOCAB)
        shut = await paused(bot, VOCAB)

    assert (answer.text, answer.thread_id, shut) == ("der Hund", VOCAB, False)


@pytest.mark.parametrize("sign", ["talk among people", "a new name"])
async def test_a_topic_in_which_something_happens_is_not_deleted(world: World, sign: str) -> None:
    """Also where nobody speaks to the bot; a topic that is closed is not opened by that."""
    (world.home.packs / "vocab").unlink()
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        kitchen = await bot.people.topic_created(ADA, HOUSEHOLD, "kitchen")
        await lost(bot, kitchen, "nothing")
        await bot.people.topic_closed(ADA, HOUSEHOLD, NOTES)
        await eventually(lambda: paused(bot, NOTES))
        if sign == "a new name":
            await bot.people.topic_renamed(ADA, HOUSEHOLD, NOTES, sign)
            await bot.people.topic_renamed(ADA, HOUSEHOLD, kitchen, sign)
        else:
            await bot.people.say(ADA, HOUSEHOLD, sign, thread=kitchen)

        async def alive() -> bool:
            return not await paused(bot, kitchen)

        await eventually(alive)
        await settled(bot)
        closed = await paused(bot, NOTES)
        kept = str(await bot.rows("SELECT body FROM updates UNION ALL SELECT body FROM jobs"))

    assert closed
    assert "talk among people" not in kept


async def test_show_again_works_in_each_line_that_offers_it_where_a_closed_topic_s_words_go(
    world: World,
) -> None:
    """The line may stand there twice, once in a message that we never heard of."""
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.ask("one", chat=HOUSEHOLD, thread=VOCAB)
        await bot.people.topic_closed(ADA, HOUSEHOLD, VOCAB)
        await eventually(lambda: paused(bot, VOCAB))
        fault = functools.partial(bot.people.fault, method="sendMessage", chat=HOUSEHOLD)
        await fault("drop_before", nth=3)  # behind what the topic refuses, and the line about that
        await fault("drop_after", nth=4)
        await bot.people.say(ADA, HOUSEHOLD, "two", thread=VOCAB)
        await said(world, BROKE, HOUSEHOLD, 1)
        await settled(bot)
        lines = [m for m in await world.people.messages(HOUSEHOLD, 1) if m.text == BROKE]
        await bot.people.tap(ADA, HOUSEHOLD, lines[0].id, lines[0].buttons[0].data)
        await settled(bot)
        general = await answers(world, HOUSEHOLD, 1)

    assert general == [CLOSED.format("vocab"), BROKE, BROKE, "two"]


# General


async def test_in_general_typing_names_the_topic_and_messages_do_not(world: World) -> None:
    """Behaviour 40; elsewhere there is no such topic to name. A turn that is taken up knows it
    before anything comes in."""
    us = f"@{(await world.people.act('state'))['bot']['username']}"
    async with world.running() as bot:
        for chat in (HOUSEHOLD, FAMILY):
            await bot.ask("/use notes", chat=chat)
    async with world.running() as bot:
        await bot.app.outbox.action(ConversationAddress("tg", str(HOUSEHOLD)), "typing")
        (taken_up,) = [call["params"] for call in await bot.people.calls("sendChatAction")]
        for chat, thread in ((HOUSEHOLD, None), (FAMILY, None), (HOUSEHOLD, NOTES)):
            world.model.stall(after_chunks=0, text="slow")
            before = len(await bot.people.calls("sendChatAction"))
            await bot.people.say(ADA, chat, f"{us} hello", thread=thread)

            async def typing(before: int = before) -> bool:
                return len(await bot.people.calls("sendChatAction")) > before

            await bot.people.until(typing)
            world.model.release.set()
            await settled(bot)
            world.model.release.clear()
        calls = [call["params"] for call in await bot.people.calls("sendChatAction")]
        sends = [call["params"] for call in await bot.people.calls("sendMessage")]

    shown = {(call["chat_id"], call.get("message_thread_id")) for call in calls}
    assert taken_up["message_thread_id"] == 1
    assert shown == {(HOUSEHOLD, 1), (FAMILY, None), (HOUSEHOLD, NOTES)}
    assert 1 not in [params.get("message_thread_id") for params in sends]


# Private chats with topics


async def test_topics_of_a_private_chat_are_conversations_of_their_own(private: World) -> None:
    """Behaviour 46: bound by title, answered where the question is, no badge and no mention."""
    async with private.running() as bot:
        await bot.ask("/use notes")
        main = await bot.ask("milk")
        words = await bot.people.topic_created(ADA, ADA, "Vocab")
        await said(private, "“vocab” answers here now.", ADA, words)
        answer = await bot.ask("der Hund", thread=words)
        other = await bot.people.topic_created(ADA, ADA, "kitchen")
        picker = await bot.ask("plums", thread=other)
        keys = await bot.rows("SELECT session_key FROM sessions ORDER BY session_key")

    assert (main.text, answer.text, answer.thread_id) == ("milk\n\n— notes", "der Hund", words)
    assert picker.text.startswith("Who shall answer “plums”?")
    assert [row["session_key"] for row in keys] == [
        f"tg:{ADA}:pack:notes",
        f"tg:{ADA}:thread:{words}:pack:vocab",
    ]
