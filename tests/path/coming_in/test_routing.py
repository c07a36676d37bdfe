"""Which pack and session a message belongs to. Source: design §3.2 and the routing seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from aouo.emulator import FAMILY, HOUSEHOLD
from aouo.store.database import Tx
from aouo.words.catalogue import text
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Says, words_of
from tests.path.looking import answers, crossed_keys, prompts, route, said, settled
from tests.path.world import ADA, BEN, World


@pytest.fixture(autouse=True)
async def fast(world: World) -> None:
    world.clock = FastClock()


@pytest.fixture
async def us(world: World) -> str:
    """How people call the bot in a group."""
    return "@" + (await world.people.act("state"))["bot"]["username"]


# Which pack answers


async def test_the_only_pack_is_bound_without_asking(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        answer = await bot.ask("hello")
        bound = await route(bot)

    assert (answer.text, bound["active_pack"]) == ("hello", "notes")


async def test_without_packs_it_answers_in_general_mode(world: World) -> None:
    """The key has no `:pack:`; core tools only, so nothing keeps rows."""
    async with world.running() as bot:
        answer = await bot.ask("hello")
        keys = await bot.rows("SELECT session_key FROM sessions")
        wrong = await crossed_keys(bot)

    assert (answer.text, keys, wrong) == ("hello", [{"session_key": f"tg:{ADA}"}], [])


async def test_with_several_packs_it_asks_once_and_answers_what_waited_as_one(
    world: World,
) -> None:
    """Issue 28: the words are the question, what follows waits, one tap answers all of it."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        picker = await bot.ask("one")
        await bot.people.say(ADA, ADA, "two")
        await bot.people.say(ADA, ADA, "three")
        await settled(bot)
        assert prompts(world) == []
        assert len(await answers(world)) == 1
        await bot.people.tap(ADA, ADA, picker.id, "pack:vocab")
        await said(world, "one\ntwo\nthree\n\n— vocab")

    assert [(button.text, button.data) for button in picker.buttons] == [
        ("📝 Notes", "pack:notes"),
        ("🧠 Vocab", "pack:vocab"),
    ]
    assert picker.text.startswith("Who shall answer “one”? It waits")
    assert prompts(world) == ["one\ntwo\nthree"]
    assert (await answers(world))[0] == "“vocab” answers here now."


async def test_use_instead_of_a_tap_answers_what_waited(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("one")
        await bot.people.say(ADA, ADA, "two")
        await bot.ask("/use notes")
        await said(world, "one\ntwo\n\n— notes")

    assert prompts(world) == ["one\ntwo"]


async def test_the_pack_that_the_owner_names_answers_where_none_is_chosen(world: World) -> None:
    world.install("notes", "vocab")
    world.config = {"packs": {"default": "vocab"}}
    async with world.running() as bot:
        answer = await bot.ask("one")
        bound = await route(bot)

    assert (answer.text, bound["active_pack"]) == ("one\n\n— vocab", "vocab")


async def test_a_skill_command_instead_of_a_tap_answers_what_waited_too(world: World) -> None:
    """`/study` binds its pack like a tap does; nothing that waits may stay behind."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("one")
        await bot.ask("/study")
        await said(world, "one\n\n— vocab")

    assert prompts(world) == ["/study", "one"]


async def test_two_topics_wait_for_their_own_choice(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        first = await bot.people.topic_created(ADA, HOUSEHOLD, "kitchen")
        second = await bot.people.topic_created(ADA, HOUSEHOLD, "garden")
        picker = await bot.ask("/pack", chat=HOUSEHOLD, thread=first)
        await bot.ask("/pack", chat=HOUSEHOLD, thread=second)
        await bot.people.tap(ADA, HOUSEHOLD, picker.id, "pack:vocab")
        await said(world, "“vocab” answers here now.", HOUSEHOLD, first)
        bound = [await route(bot, HOUSEHOLD, str(one)) for one in (first, second)]

    assert [row["active_pack"] for row in bound] == ["vocab", ""]


async def test_a_tapped_picker_turns_into_what_was_chosen(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        picker = await bot.ask("/pack")
        await bot.people.tap(ADA, ADA, picker.id, "pack:vocab")
        shown = await said(world, "“vocab” answers here now.")

    assert (shown.id, shown.buttons) == (picker.id, ())


async def test_a_pack_that_is_gone_is_asked_for_again_and_never_replaced(world: World) -> None:
    """Also when only one other pack is left: a conversation stays until a person moves it."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("/use notes")
    (world.home.packs / "notes").unlink()
    async with world.running() as bot:
        picker = await bot.ask("hello")
        assert prompts(world) == []
        await bot.people.tap(ADA, ADA, picker.id, "pack:vocab")
        await said(world, "hello")

    assert picker.text.startswith("The pack “notes” is not installed any more.")


async def test_what_waited_for_a_pack_survives_a_restart(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("one")
    async with world.running() as bot:
        await bot.ask("/use notes")
        await said(world, "one\n\n— notes")


# Sessions


async def test_the_session_always_has_the_key_of_its_conversation_and_pack(world: World) -> None:
    """Invariant 1, on every path: text, /use, /new, skills, buttons, topics."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        picker = await bot.ask("one")
        await bot.people.tap(ADA, ADA, picker.id, "pack:notes")
        await said(world, "one\n\n— notes")
        for text in ("/use vocab", "hi", "/new", "again", "/use notes", "/review", "/new"):
            await bot.ask(text)
            assert await crossed_keys(bot) == [], text
        sessions = await bot.ask("/sessions")
        await bot.people.tap(ADA, ADA, sessions.id, sessions.buttons[-1].data)
        await bot.people.next_message(ADA, after=sessions.id, contains="Back in")
        assert await crossed_keys(bot) == []
        await bot.ask("/use vocab", chat=HOUSEHOLD, thread=2)
        await bot.ask("word", chat=HOUSEHOLD, thread=2)
        wrong = await crossed_keys(bot)
        keys = {row["session_key"] for row in await bot.rows("SELECT * FROM sessions")}

    assert wrong == []
    assert keys == {
        f"tg:{ADA}:pack:notes",
        f"tg:{ADA}:pack:vocab",
        f"tg:{HOUSEHOLD}:thread:2:pack:vocab",
    }


async def test_a_stale_session_pointer_heals_itself_and_is_logged(world: World) -> None:
    """Seed: the classic "I switched packs but the bot still remembers the wrong domain"."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("/use vocab")
        await bot.ask("der Hund")
        await bot.ask("/use notes")
        await bot.ask("buy milk")

        def cross(tx: Tx) -> None:
            tx.run(
                "UPDATE conversation_routes SET session_id = "
                "(SELECT id FROM sessions WHERE session_key LIKE '%vocab')"
            )

        await bot.app.shared.database.transact(cross)
        with capture_logs() as logs:
            await bot.ask("buy bread")
        wrong = await crossed_keys(bot)

    stale = [line for line in logs if line["event"] == "tg_route_session_stale"]
    assert [(line["stored"], line["computed"]) for line in stale] == [
        (f"tg:{ADA}:pack:vocab", f"tg:{ADA}:pack:notes")
    ]
    assert wrong == []
    last = json.dumps(world.model.requests[-1]["messages"])
    assert ("buy milk" in last, "der Hund" in last) == (True, False)


async def test_each_pack_remembers_only_its_own_talk(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("/use notes")
        await bot.ask("my note")
        await bot.ask("/use vocab")
        await bot.ask("my word")
        await bot.ask("/use notes")
        await bot.ask("more")

    word, more = (json.dumps(body["messages"]) for body in world.model.requests[1:])
    assert ("my note" in word, "my note" in more, "my word" in more) == (False, True, False)


async def test_new_starts_truly_fresh_and_sessions_goes_back(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        await bot.ask("the first thing")
        fresh = await bot.ask("/new")
        await bot.ask("the second thing")
        listed = await bot.ask("/sessions")
        await bot.people.tap(ADA, ADA, listed.id, listed.buttons[1].data)
        await bot.people.next_message(ADA, after=listed.id, contains="Back in “the first thing”")
        await bot.ask("the third thing")

    assert fresh.text.startswith("Started a fresh session.")
    assert [button.text[:18] for button in listed.buttons] == [
        "✓ the second thing",
        "the first thing · ",
    ]
    second, third = (json.dumps(body["messages"]) for body in world.model.requests[1:])
    assert "first thing" not in second
    assert ("first thing" in third, "second thing" in third) == (True, False)


async def test_empty_sessions_do_not_crowd_out_those_that_hold_something(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        await bot.ask("the first thing")
        for _ in range(9):
            await bot.ask("/new")
        listed = await bot.ask("/sessions")

    assert [button.text[:15] for button in listed.buttons] == ["the first thing"]


# Skills


async def test_a_skill_is_stored_qualified_however_it_was_named(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("/use notes:review")
        used = (await route(bot))["active_skill"]
        await bot.ask("hello")
        await bot.ask("/daily_note")
        pinned = await bot.rows("SELECT active_skill FROM sessions")
        turns = await bot.rows("SELECT skill FROM turns ORDER BY id")

    assert (used, pinned) == ("notes:review", [{"active_skill": "notes:daily-note"}])
    assert [row["skill"] for row in turns] == ["notes:review", "notes:daily-note"]


async def test_a_fresh_session_leaves_the_skill_of_the_one_before(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        await bot.ask("/review the week")
        during = (await route(bot))["active_skill"]
        await bot.ask("/new")
        await bot.ask("hello")
        systems = [str(body["messages"][0]["content"]) for body in world.model.requests]
        after = (await route(bot))["active_skill"]

    assert (during, after) == ("notes:review", "")
    assert "Without a wish, the last seven days. Cho" in systems[0]
    assert "Without a wish, the last seven days. Cho" not in systems[-1]


async def test_the_newest_choice_of_a_skill_counts(world: World) -> None:
    """`/use pack:skill`, then `/skill`, then `/use` again: each replaces the one before.

    Without one it is time for the pack's first conversation.
    """
    world.install("notes")
    async with world.running() as bot:
        for text in ("/daily_note", "a", "/use notes:review", "b", "/daily_note", "c"):
            await bot.ask(text)
        await bot.ask("/use notes")
        await bot.ask("d")
        turns = await bot.rows("SELECT skill FROM turns ORDER BY id")

    daily, review = "notes:daily-note", "notes:review"
    chosen = [daily, daily, review, daily, daily, "notes:onboarding"]
    assert [row["skill"] for row in turns] == chosen


async def test_a_skill_of_the_turns_own_pack_is_read_and_another_packs_is_refused(
    world: World,
) -> None:
    """Invariant 4: the pack is frozen at turn start, whatever happens meanwhile."""
    world.install("notes", "vocab")
    world.model.call("skill_view", {"name": "review"})
    world.model.call("skill_view", {"name": "vocab:study"})
    world.model.call("skill_view", {"name": "study"})
    world.model.say("done")
    async with world.running() as bot:
        await bot.ask("/use notes")
        await said(world, "“notes” answers here now.")
        await bot.people.say(ADA, ADA, "go")
        await said(world, "done\n\n— notes")

    results = [words_of(body["messages"][-1]) for body in world.model.requests[1:]]
    assert results[0].startswith("# Look back")
    assert [text.startswith("#") for text in results] == [True, False, False]


async def test_use_during_a_turn_waits_and_changes_nothing_in_it(world: World) -> None:
    world.install("notes", "vocab")
    world.model.stall(after_chunks=1, text="slow answer")
    async with world.running() as bot:
        await bot.ask("/use notes")
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "/use vocab")
        during = (await route(bot))["active_pack"]
        world.model.release.set()
        await said(world, "“vocab” answers here now.")
        turns = await bot.rows("SELECT pack FROM turns")

    assert (during, turns) == ("notes", [{"pack": "notes"}])
    assert "slow answer\n\n— notes" in await answers(world)


async def test_a_skill_command_of_another_pack_says_how_to_change(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("/use notes")
        answer = await bot.ask("/study")

    assert answer.text == "/study belongs to “vocab”; another pack answers here. Change: /use vocab"
    assert prompts(world) == []


async def test_the_prompt_holds_the_active_pack_only(world: World) -> None:
    """Invariant 5."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        for pack in ("notes", "vocab"):
            await bot.ask(f"/use {pack}")
            await bot.ask("hello")

    notes, vocab = (json.dumps(body).lower() for body in world.model.requests)
    assert ("vocab" in notes, "daily-note" in notes) == (False, True)
    assert ("daily-note" in vocab, "study" in vocab) == (False, True)


# Topics


@pytest.mark.parametrize("title", ["vocab", "VOCAB", " Vocab "])
async def test_a_topic_named_like_a_pack_is_bound_when_it_is_created(
    world: World, title: str
) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        with capture_logs() as logs:
            thread = await bot.people.topic_created(ADA, HOUSEHOLD, title)
            await said(world, "“vocab” answers here now.", HOUSEHOLD, thread)
        answer = await bot.ask("der Hund", chat=HOUSEHOLD, thread=thread)

    assert answer.text == "der Hund"
    assert [line["pack"] for line in logs if line["event"] == "tg_topic_auto_bound"] == ["vocab"]


async def test_a_topic_that_is_renamed_to_a_pack_is_bound(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        thread = await bot.people.topic_created(ADA, HOUSEHOLD, "words")
        await bot.people.topic_renamed(ADA, HOUSEHOLD, thread, "Vocab")
        await said(world, "“vocab” answers here now.", HOUSEHOLD, thread)
        await bot.people.topic_renamed(ADA, HOUSEHOLD, thread, "something else")
        answer = await bot.ask("der Hund", chat=HOUSEHOLD, thread=thread)

    assert answer.text == "der Hund"


async def test_the_first_message_in_a_topic_that_was_there_before_binds_it(world: World) -> None:
    """The home's topics existed before the bot heard of them; no mention is needed there."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        answer = await bot.ask("der Hund", chat=HOUSEHOLD, thread=3)
        bound = await route(bot, HOUSEHOLD, "3")

    assert (answer.text, bound["active_pack"]) == ("der Hund", "vocab")


async def test_a_chain_of_replies_in_a_plain_supergroup_is_not_a_topic(
    world: World, us: str
) -> None:
    """It carries a `message_thread_id` too. Source: Telegram, design §3.2."""
    world.install("notes")
    async with world.running() as bot:
        group = await bot.people.create_chat("Club", [ADA, BEN], kind="supergroup")
        first = await bot.people.say(ADA, group, f"{us} hello")
        answer = await bot.people.next_message(group, after=first.id)
        reply = await bot.people.say(BEN, group, "and again", reply_to=answer.id)
        second = await bot.people.next_message(group, after=reply.id)
        keys = await bot.rows("SELECT session_key FROM sessions")

    assert "message_thread_id" in reply.raw
    assert "and again" in second.text
    assert keys == [{"session_key": f"tg:{group}:pack:notes"}]


async def test_the_general_topic_is_the_forum_itself_and_wants_a_mention(
    world: World, us: str
) -> None:
    world.install("notes")
    async with world.running() as bot:
        once = await bot.ask("not for the bot", chat=HOUSEHOLD)
        await bot.people.say(ADA, HOUSEHOLD, "nor this")
        answer = await bot.ask(f"{us} hello", chat=HOUSEHOLD)
        keys = await bot.rows("SELECT session_key FROM sessions")

    assert (answer.text, keys) == ("hello", [{"session_key": f"tg:{HOUSEHOLD}:pack:notes"}])
    assert answer.thread_id is None
    assert once.text == text("talk.call-me")


# Groups


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("{us} hello", "hello"),
        ("hello {us}", "hello {us}"),
        ("/review", "/review"),
        ("/review{us}", "/review"),
        ("/review@another_bot", ""),
        ("hello", ""),
        ("@another_bot hello", ""),
        ("mail me at x{us}.example", ""),
    ],
)
async def test_in_a_group_only_what_is_meant_for_the_bot_is_heard(
    world: World, us: str, text: str, heard: str
) -> None:
    """contract: `telegram.groups = mention`; exact entity, reply to the bot, or command."""
    world.install("notes")
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, text.format(us=us))
        await bot.ask(f"{us} end", chat=FAMILY)
        await settled(bot)

    asked = [heard.format(us=us)] if heard else []
    assert sorted(prompts(world)) == sorted([*asked, "end"])


async def test_a_reply_to_the_bot_is_heard_in_a_group(world: World, us: str) -> None:
    world.install("notes")
    async with world.running() as bot:
        answer = await bot.ask(f"{us} hello", chat=FAMILY)
        reply = await bot.people.say(BEN, FAMILY, "why?", reply_to=answer.id)
        second = await bot.people.next_message(FAMILY, after=reply.id)

    assert second.text.endswith('"hello"]\nwhy?')


async def test_with_groups_set_to_all_every_text_is_heard(world: World) -> None:
    world.install("notes")
    world.config = {"telegram": {"groups": "all"}}
    async with world.running() as bot:
        answer = await bot.ask("hello", chat=FAMILY)

    assert answer.text == "hello"


async def test_a_command_for_another_bot_is_ignored_in_a_topic_with_a_pack(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, "/roll@another_bot 6", thread=3)
        await bot.ask("der Hund", chat=HOUSEHOLD, thread=3)
        await settled(bot)

    assert prompts(world) == ["der Hund"]


async def test_group_talk_that_is_not_for_the_bot_is_never_stored(world: World, us: str) -> None:
    """design §3.5: not a word of it, wherever one looks in the database."""
    world.install("notes")
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, "the pearl necklace is under the stairs")
        await bot.people.say(BEN, HOUSEHOLD, "pearl again", thread=2)
        await bot.ask(f"{us} hello", chat=FAMILY)
        await settled(bot)

    heard = b"".join(file.read_bytes() for file in world.home.data.rglob("aouo.db*"))
    assert b"necklace" not in heard
    assert b"pearl again" in heard  # a topic named `notes` has a pack, so it was for us


async def test_a_group_that_becomes_a_supergroup_keeps_pack_and_history(
    world: World, us: str
) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("/use vocab", chat=FAMILY)
        await bot.ask(f"{us} der Hund", chat=FAMILY)
        group = await bot.people.upgrade(ADA, FAMILY)
        await settled(bot)
        answer = await bot.ask(f"{us} what did I say?", chat=group)
        keys = await bot.rows("SELECT session_key FROM sessions")

    assert answer.text == "what did I say?"
    assert "der Hund" in json.dumps(world.model.requests[-1]["messages"])
    assert keys == [{"session_key": f"tg:{group}:pack:vocab"}]


async def test_what_waits_behind_a_migration_is_answered_in_the_new_group(
    world: World, us: str
) -> None:
    world.install("notes")
    world.model.stall(after_chunks=1, text="slow answer")
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, f"{us} first")
        await world.model.stalled.wait()
        await bot.people.say(BEN, FAMILY, f"{us} second")
        group = await bot.people.upgrade(ADA, FAMILY)
        world.model.release.set()
        await said(world, "second", group)
        await said(world, "slow answer", group)


# Commands


async def test_commands_are_answered_without_the_model(world: World) -> None:
    """contract, "In the chat": whoami and the like never cost a token."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        start = await bot.ask("/start")
        help_ = await bot.ask("/help")
        own = await bot.ask("/id")
        where = await bot.ask("/whereami")
        await bot.ask("/use vocab")
        bound = await bot.ask("/whereami")
        await bot.ask("/otr")
        off_record = await bot.ask("/whereami")
        await bot.ask("/otr")
        again = await bot.ask("/use vocab")
        wrong = await bot.ask("/use nothing")
        wrong_skill = await bot.ask("/use vocab:nothing")
        bare = await bot.ask("/use")
        unknown = await bot.ask("/frobnicate now")
        stop = await bot.ask("/stop")
        nothing = await bot.ask("/sessions")

    assert start.text.startswith("Hello! I am aouo")
    assert start.text.splitlines()[2:] == [
        "📝 Notes – Keep what you write, find it by a word",
        "🧠 Vocab – Add words, I ask them at the right time",
    ]
    assert "/use – talk to a pack: /use notes" in help_.text
    assert own.text == f"Your Telegram id is {ADA}."
    assert where.text.splitlines() == [
        "Platform: tg",
        f"Chat: {ADA}",
        "Topic: none",
        "Pack: none chosen",
        "Skill: none",
        "Session: none yet",
        "Installed packs: notes, vocab",
    ]
    assert "Pack: vocab" in bound.text
    assert "Off the record" not in bound.text
    assert off_record.text == (f"{bound.text}\nOff the record: nothing is kept. /otr ends it.")
    assert again.text == "“vocab” answers here already."
    assert wrong.text == "There is no pack “nothing”. Installed: notes, vocab."
    assert wrong_skill.text.startswith("“vocab” has no skill “nothing”. It has: ")
    assert bare.text == "“vocab” answers here. Tap another one to change it."
    assert unknown.text == "I do not know /frobnicate. /help lists what I know."
    assert stop.text == "Nothing is running here."
    assert nothing.text == "There is no earlier session here."
    assert world.model.requests == []


async def test_help_names_the_skills_of_the_active_pack(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("/use notes")
        answer = await bot.ask("/help")

    assert "/daily_note – Take today's note with one question" in answer.text
    assert "/study" not in answer.text


async def test_help_says_in_the_persons_language_what_a_packs_commands_do(world: World) -> None:
    world.install("vocab")
    world.config = {"telegram": {"allowed_user_ids": [ADA, 4711]}}
    async with world.running() as bot:
        karl = await bot.people.create_user("Karl", user_id=4711, language="de-AT")
        await bot.ask("/use vocab", user=karl)
        answer = await bot.ask("/help", user=karl)

    assert "/study – Die fälligen Wörter abfragen" in answer.text


async def test_a_button_of_an_earlier_time_is_explained(world: World) -> None:
    """The pack has no menu, so no button can open one."""
    folder = world.home.packs / "tiny"
    folder.mkdir()
    (folder / "pack.yml").write_text("name: tiny\nversion: 0.1.0\ndisplay_name: Tiny\n")
    async with world.running() as bot:
        message = await bot.ask("hello")
        for data in ("nav:something", "menu", "pack:gone"):
            await bot.people.tap(ADA, ADA, message.id, data)
        await settled(bot)

    old = "This button is from an earlier time and does nothing any more."
    assert (await answers(world))[1:] == [
        old,
        old,
        "There is no pack “gone”. Installed: tiny.",
    ]


async def test_a_packs_own_button_is_heard_as_a_new_message(world: World) -> None:
    """Seed: an unknown callback is a fresh inbound; the tap itself is answered at once."""
    world.install("notes")
    world.model.call("msg", {"type": "keyboard", "text": "More?", "buttons": [["Yes|more_yes"]]})
    world.model.say("asked")
    async with world.running() as bot:
        keyboard = await bot.ask("hello")
        await said(world, "asked")
        answer = await bot.people.tap(ADA, ADA, keyboard.id, "more_yes")
        await said(world, "[callback] more_yes")

    assert answer == {"text": "", "show_alert": False}


async def test_a_new_person_is_told_of_each_pack_once(world: World) -> None:
    """Whichever comes first, /start or words, has a line and a button for each. Issue 11, 28."""
    world.install("notes", "vocab")
    lines = "\n📝 Notes – Keep what you write, find it by a word\n🧠 Vocab – Add words"
    async with world.running() as bot:
        for user, first in ((ADA, "/start"), (BEN, "The plums are ripe")):
            shown = await bot.ask(first, user=user)
            await bot.people.say(user, user, "So are the pears")
            await settled(bot)
            later = (await answers(world, user))[1:]

            assert lines in shown.text
            assert [button.text for button in shown.buttons] == ["📝 Notes", "🧠 Vocab"]
            assert not [text for text in later if lines in text]


# Strangers


async def test_a_stranger_is_refused_once_an_hour_and_may_learn_their_id(world: World) -> None:
    """contract: `/id` and `/start` tell the id and what this is, and count as the refusal; who asks
    for the id again is told it again, five times an hour at most."""
    world.install("notes")
    clock = world.clock = FastClock()
    async with world.running() as bot:
        eve, zoe = [await bot.people.create_user(name) for name in ("Eve", "Zoe")]
        with capture_logs() as logs:
            refused = await bot.ask("let me in", user=eve)
            told = await bot.ask("/start", user=zoe)
            for text in ("please", "/help", *["/id"] * 9):
                await bot.people.say(eve, eve, text)
            await bot.ask("hello")
            await settled(bot)
            clock.jump(3601)
            again = await bot.ask("/id", user=eve)
        to_eve = await answers(world, eve)

    assert refused.text.startswith("You are not authorized to use this bot.")
    assert told.text.startswith(f"Your Telegram id is {zoe}. It is somebody's own assistant")
    assert again.text.startswith(f"Your Telegram id is {eve}.")
    assert to_eve[1:] == [again.text] * 5
    denied = [line for line in logs if line["event"] == "tg_auth_denied"]
    assert [line["person"] for line in denied][:2] == [str(eve), str(zoe)]
    aouo = f"aouo --home {world.home.path}"
    key, ids = "telegram.allowed_user_ids", f"[{ADA}, {BEN}, {eve}]"
    assert denied[0]["let_in"] == f"{aouo} config set {key} '{ids}'"
    assert prompts(world) == ["hello"]


async def test_of_a_refused_update_the_id_and_the_name_are_stored(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        eve = await bot.people.create_user("Evangeline", username="evangeline_x")
        message = await bot.ask("open sesame", user=eve)
        await bot.people.send_file(eve, eve, "document", b"loot", name="loot.txt", caption="mine")
        await bot.people.act("tap", user=eve, chat=eve, message_id=message.id, data="pack:notes")
        await bot.ask("hello")
        await settled(bot)

    stored = b"".join(file.read_bytes() for file in world.home.data.rglob("aouo.db*"))
    for words in (b"sesame", b"angeline_x", b"loot", b"mine"):
        assert words not in stored


async def test_a_strangers_tap_and_words_in_a_group_change_nothing(world: World, us: str) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        eve = await bot.people.create_user("Eve")
        await bot.people.join(eve, FAMILY)
        picker = await bot.ask("/pack", chat=FAMILY)
        with capture_logs() as logs:
            tapped = await bot.people.tap(eve, FAMILY, picker.id, "pack:notes")
        await bot.people.say(eve, FAMILY, "talk among people")
        await bot.people.say(eve, FAMILY, "/stop")
        await bot.ask("/whereami", chat=FAMILY)
        await settled(bot)
        shown = await answers(world, FAMILY)

    assert tapped == {"text": "You are not authorized to use this bot.", "show_alert": True}
    denied = [line["person"] for line in logs if line["event"] == "tg_auth_denied"]
    assert denied == [str(eve)]
    assert sum("Pack: none chosen" in text for text in shown) == 1
    assert sum("not authorized" in text for text in shown) == 1


async def test_with_nobody_on_the_list_everybody_is_refused(world: World) -> None:
    world.install("notes")
    world.config = {"telegram": {"allowed_user_ids": []}}
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text.startswith("You are not authorized to use this bot.")
    assert prompts(world) == []


# Limits


async def test_a_reached_limit_names_used_cap_key_and_what_helps(world: World) -> None:
    """contract, "Limits"; no model call is made."""
    world.install("notes")
    world.config = {"advanced": {"daily_tokens_max": 1200}}
    world.model.reply(Says("costly", usage=(1000, 0, 500)))
    async with world.running() as bot:
        await bot.ask("hello")
        with capture_logs() as logs:
            refused = await bot.ask("more")
            await settled(bot)

    assert len(world.model.requests) == 1
    assert refused.text == (
        "The daily limit is reached: 1,500 of 1,200 tokens. It starts again at midnight, "
        "or the owner raises advanced.daily_tokens_max."
    )
    assert "quota_exceeded" in [line["event"] for line in logs]


async def test_one_answer_takes_no_more_than_a_whole_session_may(world: World) -> None:
    """A session's limit refuses no message; a turn that goes on and on ends by it all the same."""
    world.install("notes")
    world.config = {"advanced": {"session_tokens_max": 1200}}
    world.model.reply(
        Says(
            "",
            calls=(CallPart("skill_view", {"name": "x"}),),
            usage=(1000, 0, 500),
        )
    )
    async with world.running() as bot:
        refused = await bot.ask("hello")
        answer = await bot.ask("more")

    assert refused.text == (
        "The limit of one answer is reached: 1,500 of 1,200 tokens. Ask for a smaller piece, "
        "or the owner raises advanced.session_tokens_max."
    )
    assert answer.text == "more"


async def test_a_broken_pack_leaves_the_good_one_alone(world: World, tmp_path: Path) -> None:
    world.install("notes")
    broken = world.home.packs / "broken"
    broken.mkdir()
    (broken / "pack.yml").write_text("name: [not a name\n")
    async with world.running() as bot:
        answer = await bot.ask("hello")
        missing = await bot.ask("/use broken")

    assert answer.text == "hello"
    assert missing.text == "There is no pack “broken”. Installed: notes."


# However it is written


@pytest.mark.parametrize(
    ("text", "pack", "skill"),
    [
        ("/use Alpha", "alpha", ""),
        ("/use ALPHA", "alpha", ""),
        ("/use First things", "alpha", ""),
        ("/pack Alpha", "alpha", ""),
        ("/use Notes:Review", "notes", "notes:review"),
    ],
)
async def test_a_pack_is_found_by_its_name_whichever_letters_are_large(
    world: World, text: str, pack: str, skill: str
) -> None:
    """By its name, or by what the buttons call it."""
    world.install("notes")
    (world.home.packs / "alpha").mkdir()
    (world.home.packs / "alpha" / "pack.yml").write_text(
        "name: alpha\nversion: 0.1.0\ndisplay_name: First Things\n"
    )
    async with world.running() as bot:
        await bot.ask(text)
        there = await route(bot)

    assert (there["active_pack"], there["active_skill"]) == (pack, skill)


async def test_a_pack_that_is_not_there_is_named_as_it_was_written(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        told = await bot.ask("/use Beta")

    assert told.text == "There is no pack “Beta”. Installed: notes."
