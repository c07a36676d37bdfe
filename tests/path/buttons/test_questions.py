"""The model asks the person: buttons, words, restarts and late answers. Source: design §3.3."""

from __future__ import annotations

import asyncio
import json

import pytest

from aouo.emulator import FAMILY, ChatMessage
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Arrival, Inbound, Person, Text
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Says, words_of
from tests.path.looking import Withholding, answers, eventually, prompts, said, settled
from tests.path.media.test_media_pictures import PICTURE
from tests.path.world import ADA, BEN, WAIT_S, Running, World

HOURS_24 = 24 * 3600
WAITS = "{} waits until you have answered my question above; /stop ends both."
CLOSED = "The person did not answer; the question is closed."


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock()
    return clock


def asks(world: World, *options: str) -> None:
    """The model asks for a colour, then says what it heard."""
    world.model.call("clarify", {"message": "Which colour?", "options": list(options)})
    world.model.say("noted")


async def question(bot: Running, *, user: int = ADA, chat: int = 0) -> ChatMessage:
    await bot.people.say(user, chat or user, "paint it")
    shown = await bot.people.next_message(chat or user, contains="Which colour?")
    await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE state = 'sent'"))
    return shown


def heard(world: World) -> str:
    """What the model read as the answer."""
    return words_of(world.model.requests[-1]["messages"][-1])


async def test_a_question_has_a_button_for_each_option(world: World) -> None:
    asks(world, "red", "green", "  ")
    async with world.running() as bot:
        shown = await question(bot)

    assert [button.text for button in shown.buttons] == ["red", "green"]
    assert all(button.data.startswith("choice_") for button in shown.buttons)
    assert all(len(button.data.encode()) <= 64 for button in shown.buttons)


async def test_a_tap_answers_and_the_message_shows_what_was_chosen(world: World) -> None:
    asks(world, "red", "green")
    async with world.running() as bot:
        shown = await question(bot)
        tapped = await bot.people.tap(ADA, ADA, shown.id, shown.buttons[1].data)
        await said(world, "noted")
        await said(world, "Which colour?\n→ green")
        after = next(m for m in await bot.people.messages(ADA) if m.id == shown.id)

    assert (tapped, heard(world)) == ({"text": "", "show_alert": False}, "green")
    assert (after.text, after.buttons) == ("Which colour?\n→ green", ())


@pytest.mark.parametrize("how", ["answered", "stopped", "expired"])
async def test_a_question_keeps_its_formatting_whatever_becomes_of_it(
    world: World, clock: FastClock, how: str
) -> None:
    ask = {"message": "😀 **Which** colour? See `paint.md`", "options": ["red", "green"]}
    world.model.call("clarify", ask)
    world.model.say("noted")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "paint it")
        shown = await bot.people.next_message(ADA, contains="colour?")
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE state = 'sent'"))
        match how:
            case "answered":
                await bot.people.say(ADA, ADA, "red")
            case "stopped":
                await bot.people.say(ADA, ADA, "/stop")
            case _:
                clock.jump(HOURS_24)
        outcome = {"answered": "red", "expired": "nobody answered in time"}.get(how, "stopped")
        after = await said(world, f"😀 Which colour? See paint.md\n→ {outcome}")

    assert [(e["type"], e["offset"]) for e in shown.raw["entities"]] == [("bold", 3), ("code", 21)]
    assert (after.id, after.raw["entities"], after.buttons) == (shown.id, shown.raw["entities"], ())


async def test_an_answer_that_is_too_long_for_the_questions_message_is_shortened_there(
    world: World,
) -> None:
    """The question stays whole: the answer is in the chat anyway."""
    question = f"{'word ' * 800}Which colour?"
    world.model.call("clarify", {"message": question, "options": []})
    world.model.say("noted")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "paint it")
        await bot.people.next_message(ADA, contains="Which colour?")
        await bot.people.say(ADA, ADA, "as blue as the sky " * 20)
        await said(world, "noted")
        await settled(bot)
        (after,) = [m for m in await bot.people.messages(ADA) if "Which colour?" in m.text]

    assert after.text.startswith(f"{question}\n→ as blue as the sky")
    assert (len(after.text), after.text[-1]) == (4096, "…")


@pytest.mark.parametrize(
    ("text", "answer"),
    [("2", "green"), ("GREEN", "green"), ("3", "3"), ("a bit of both", "a bit of both")],
)
async def test_a_number_a_label_or_free_words_answer_too(
    world: World, text: str, answer: str
) -> None:
    asks(world, "red", "green")
    async with world.running() as bot:
        await question(bot)
        await bot.people.say(ADA, ADA, text)
        await said(world, "noted")

    assert (heard(world), prompts(world)) == (answer, ["paint it", "paint it"])


async def test_a_question_without_options_is_answered_in_words(world: World) -> None:
    asks(world)
    async with world.running() as bot:
        shown = await question(bot)
        await bot.people.say(ADA, ADA, "blue")
        await said(world, "noted")

    assert (shown.buttons, heard(world)) == ((), "blue")


async def test_only_the_person_who_was_asked_may_answer(world: World) -> None:
    """Somebody else's tap is explained; somebody else's words wait their turn."""
    world.config = {"telegram": {"groups": "all"}}
    asks(world, "red", "green")
    async with world.running() as bot:
        shown = await question(bot, chat=FAMILY)
        refused = await bot.people.tap(BEN, FAMILY, shown.id, shown.buttons[0].data)
        await bot.people.say(BEN, FAMILY, "green")
        gates = await bot.rows("SELECT state FROM gates")
        await bot.people.tap(ADA, FAMILY, shown.id, shown.buttons[0].data)
        await said(world, "noted", FAMILY)
        await said(world, "green", FAMILY)

    assert refused == {"text": "This question is for somebody else.", "show_alert": True}
    assert gates == [{"state": "open"}]
    assert prompts(world) == ["paint it", "paint it", "green"]


async def test_a_late_tap_is_explained(world: World) -> None:
    asks(world, "red", "green")
    async with world.running() as bot:
        shown = await question(bot)
        await bot.people.say(ADA, ADA, "red")
        await said(world, "noted")
        late = await bot.people.tap(ADA, ADA, shown.id, shown.buttons[1].data)
        made_up = await bot.people.tap(ADA, ADA, shown.id, "choice_nothing:1")

    assert late == {"text": "This question is closed.", "show_alert": True}
    assert made_up["text"].startswith("This button is from an earlier time")


async def test_two_texts_in_a_row_are_an_answer_and_a_message_of_its_own(world: World) -> None:
    """Both were stored while the question was open; the second waits for its own turn."""
    world.model.call("clarify", {"message": "Which colour?", "options": ["red"]})
    world.model.reply(Says("noted", chunks=2, stall_after=1))
    here, ada = ConversationAddress("tg", str(ADA)), Person(str(ADA))
    both = [Inbound(here, ada, Text(text)) for text in ("red", "and thanks")]
    async with world.running() as bot:
        await question(bot)
        arrivals = [Arrival(10**6 + n, "{}", fact) for n, fact in enumerate(both)]
        await bot.app.inbox.accept("another bot", arrivals, 10**6 + 2)
        async with asyncio.timeout(WAIT_S):
            await world.model.stalled.wait()
        await eventually(
            lambda: bot.rows("SELECT 1 FROM jobs WHERE lane = ? AND state = 'ready'", str(ADA))
        )
        during = len(world.model.requests)
        world.model.release.set()
        await said(world, "and thanks")

    assert during == 2
    assert (await answers(world))[-2:] == ["noted", "and thanks"]


async def test_a_question_survives_a_restart_and_is_not_asked_again(world: World) -> None:
    asks(world, "red", "green")
    async with world.running() as bot:
        shown = await question(bot)
    async with world.running() as bot:
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await said(world, "noted")

    assert (heard(world), len(world.model.requests)) == ("red", 2)
    asked = [text for text in await answers(world) if "Which colour?" in text]
    assert asked == ["Which colour?\n→ red"]


async def test_words_that_came_while_the_process_was_down_answer_too(world: World) -> None:
    asks(world, "red", "green")
    async with world.running() as bot:
        await question(bot)
    await world.people.say(ADA, ADA, "green")
    async with world.running():
        await said(world, "noted")

    assert heard(world) == "green"


async def test_a_waiting_turn_gives_its_place_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aouo.app.wiring.CONCURRENCY", 1)
    asks(world, "red")
    async with world.running() as bot:
        shown = await question(bot)
        other = await bot.ask("hello", user=BEN)
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await said(world, "paint it")

    assert other.text == "noted"


async def test_the_turns_clock_stands_still_while_it_waits(world: World) -> None:
    """A limit of a second; the person takes longer, and the answer still comes."""
    world.config = {"advanced": {"turn_timeout_s": 1}}
    asks(world, "red")
    async with world.running() as bot:
        shown = await question(bot)
        begun_s = asyncio.get_running_loop().time()
        await eventually(lambda: _past(bot, begun_s + 1.2))
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await said(world, "noted")


async def _past(bot: Running, moment_s: float) -> bool:
    await bot.rows("SELECT 1")
    return asyncio.get_running_loop().time() > moment_s


async def test_after_a_day_the_question_closes_and_the_model_is_told(
    world: World, clock: FastClock
) -> None:
    asks(world, "red")
    async with world.running() as bot:
        shown = await question(bot)
        clock.jump(HOURS_24 - 600)
        assert await bot.rows("SELECT state FROM gates") == [{"state": "open"}]
        clock.jump(600)
        await said(world, "noted")
        late = await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)

    assert (heard(world), late["text"]) == (CLOSED, "This question is closed.")


async def test_a_question_that_expired_while_the_process_was_down_is_closed(
    world: World, clock: FastClock
) -> None:
    asks(world, "red")
    async with world.running() as bot:
        await question(bot)
    clock.jump(HOURS_24)
    async with world.running():
        await said(world, "noted")

    assert heard(world) == CLOSED


async def test_stop_closes_the_question(world: World) -> None:
    asks(world, "red")
    async with world.running() as bot:
        shown = await question(bot)
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await settled(bot)
        late = await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await bot.people.say(ADA, ADA, "red")
        await said(world, "noted")

    assert late["text"] == "This was stopped, so the question is closed."
    assert prompts(world) == ["paint it", "red"]


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("/start", "Hello!"),
        ("/sessions", "There is no"),
        ("/usage", "7 days"),
        ("/pack", "“notes”"),
    ],
)
async def test_what_only_looks_is_answered_while_a_question_is_open(
    world: World, command: str, answer: str
) -> None:
    asks(world, "red", "green")
    async with world.running() as bot:
        shown = await question(bot)
        await bot.people.say(ADA, ADA, command)
        await bot.people.next_message(ADA, contains=answer, after=shown.id)
        states = await bot.rows("SELECT state FROM gates")
        await bot.people.say(ADA, ADA, "red")
        await said(world, "noted")

    assert (states, heard(world)) == ([{"state": "open"}], "red")


async def test_a_new_session_leaves_the_question_unanswered(world: World) -> None:
    """As /stop does; what is said next begins a turn of its own."""
    asks(world, "red")
    async with world.running() as bot:
        await question(bot)
        await bot.people.say(ADA, ADA, "/new")
        await said(world, "Which colour?\n→ stopped")
        await bot.people.next_message(ADA, contains="Started a fresh session.")
        await bot.people.say(ADA, ADA, "red")
        await said(world, "noted")
        await settled(bot)
        shown = await answers(world)

    assert prompts(world) == ["paint it", "red"]
    assert not any("waits" in text for text in shown)


async def test_a_retry_leaves_the_question_unanswered_and_asks_the_model_again(
    world: World,
) -> None:
    asks(world, "red")
    async with world.running() as bot:
        await question(bot)
        await bot.people.say(ADA, ADA, "/retry")
        await said(world, "Which colour?\n→ stopped")
        await said(world, "noted")
        await settled(bot)
        gates = await bot.rows("SELECT state FROM gates")

    assert (prompts(world), gates) == (["paint it", "paint it"], [{"state": "closed"}])


async def test_a_new_session_after_a_restart_leaves_the_question_unanswered_too(
    world: World,
) -> None:
    """The turn that asked is not at work when the command comes."""
    asks(world, "red")
    async with world.running() as bot:
        await question(bot)
    await world.people.say(ADA, ADA, "/new")
    async with world.running() as bot:
        await bot.people.next_message(ADA, contains="Started a fresh session.")
        await settled(bot)
        jobs = await bot.rows("SELECT state FROM jobs")
        gates = await bot.rows("SELECT state FROM gates")

    assert ({job["state"] for job in jobs}, gates) == ({"done"}, [{"state": "closed"}])


async def test_a_command_that_has_to_wait_for_the_answer_says_so_once(world: World) -> None:
    asks(world, "red", "green")
    async with world.running() as bot:
        shown = await question(bot)
        for command in ("/otr", "/use notes"):
            await bot.people.say(ADA, ADA, command)
        await said(world, WAITS.format("/otr"))
        await said(world, WAITS.format("/use"))
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await said(world, "“notes” answers here already.")
        await settled(bot)
        told = [text for text in await answers(world) if "waits" in text]

    assert (heard(world), len(told)) == ("red", 2)


@pytest.mark.parametrize("caption", ["", "what is this?"])
async def test_a_photo_is_no_answer_and_waits_its_turn(world: World, caption: str) -> None:
    world.config = {"provider": {"backend": "fake", "model": "scripted", "vision": "on"}}
    asks(world, "red", "green")
    world.model.say("a photo")
    async with world.running() as bot:
        await question(bot)
        await bot.people.send_file(ADA, ADA, "photo", PICTURE, caption=caption)
        await said(
            world,
            "This is no answer to my question above, so it waits until you tap or write one; "
            "/stop ends both.",
        )
        gates = await bot.rows("SELECT state FROM gates")
        await bot.people.say(ADA, ADA, "green")
        await said(world, "noted")
        await said(world, "a photo")

    assert gates == [{"state": "open"}]


async def test_what_is_said_behind_a_stop_answers_no_question(world: World) -> None:
    """Both come in one getUpdates: the turn that asked has not ended when the words are read."""
    asks(world, "red")
    updates = Withholding(world, lambda content: content.get("text") in ("/stop", "red"))
    async with world.running() as bot:
        await question(bot)
        for text in ("/stop", "red"):
            await bot.people.say(ADA, ADA, text)
        updates.let_go()
        await bot.people.say(BEN, BEN, "/id")
        await said(world, "noted")
        await settled(bot)
        shown = await answers(world)

    assert prompts(world) == ["paint it", "red"]
    assert [text for text in shown if text.startswith("Which colour?")] == [
        "Which colour?\n→ stopped"
    ]


async def test_a_message_that_broke_us_three_times_leaves_no_question_open(world: World) -> None:
    """Or the next words would answer a question that nobody waits for."""
    asks(world, "red")
    async with world.running() as bot:
        await question(bot)
        await bot.app.shared.database.transact(lambda tx: tx.run("UPDATE jobs SET deaths = 9"))
    async with world.running() as bot:
        await bot.people.next_message(ADA, contains="three times")
        gates = await bot.rows("SELECT state FROM gates")
        await bot.people.say(ADA, ADA, "red")
        await said(world, "noted")

    assert gates == [{"state": "closed"}]
    assert prompts(world)[-1] == "red"


async def test_crashes_while_a_person_is_asked_are_not_the_questions_fault(world: World) -> None:
    """A day of waiting outlasts many of them."""
    asks(world, "red")
    async with world.running() as bot:
        await question(bot)
        await bot.app.shared.database.transact(lambda tx: tx.run("UPDATE jobs SET deaths = 2"))
    async with world.running() as bot:
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE deaths = 0"))


async def test_two_questions_in_one_response_are_asked_one_after_the_other(world: World) -> None:
    def ask(number: int) -> CallPart:
        return CallPart("clarify", {"message": f"Number {number}?", "options": ["a", "b"]})

    world.model.calls(ask(1), ask(2))
    world.model.say("noted")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        for number in (1, 2):
            shown = await bot.people.next_message(ADA, contains=f"Number {number}?")
            await bot.people.tap(ADA, ADA, shown.id, shown.buttons[number - 1].data)
        await said(world, "noted")

    results = [words_of(m) for m in world.model.requests[1]["messages"] if m["role"] == "tool"]
    assert results == ["a", "b"]


async def test_a_question_nobody_can_answer_is_refused_to_the_model(world: World) -> None:
    world.model.call("clarify", {"message": "", "options": []})
    world.model.call("clarify", {"message": "Many?", "options": [str(n) for n in range(11)]})
    world.model.call("clarify", {"message": "\u200b", "options": []})
    world.model.call("clarify", {"message": "long " * 1000, "options": []})
    world.model.say("never mind")
    async with world.running() as bot:
        await bot.ask("go")

    results = [json.dumps(body["messages"][-1]) for body in world.model.requests[1:]]
    assert "clarify needs a message" in results[0]
    assert "at most 10 options" in results[1]
    assert "holds nothing that can be shown" in results[2]
    assert "longer than one message" in results[3]


async def test_a_button_with_a_number_that_no_column_holds_breaks_nothing(world: World) -> None:
    """Anybody's client may send what data it likes."""
    async with world.running() as bot:
        shown = await bot.ask("hello")
        await bot.people.tap(ADA, ADA, shown.id, f"nav:again_{'9' * 40}")
        await said(world, "This button is from an earlier time and does nothing any more.")
        states = {row["state"] for row in await bot.rows("SELECT state FROM jobs")}

    assert states == {"done"}
