"""Taps on buttons: what they mean, who may make them mean it, how long they last.

Source: contract ("Callback data prefixes"), issue 4, behaviours 21-24, 36 and 38 of the reference.
"""

from __future__ import annotations

import pytest

from aouo.emulator import HOUSEHOLD, ChatMessage
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.path.looking import answers, eventually, prompts, route, said, settled
from tests.path.world import ADA, BEN, Running, World
from tests.sampling import places

OLD = "This button is from an earlier time and does nothing any more."
LONG = "Повторить слова из набора «Путешествия по северным городам», урок 12"


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock(speed=1.0)
    return clock


def shows(world: World, *buttons: str, text: str = "More?", **more: object) -> None:
    """The model shows a keyboard and is done."""
    wish = {"type": "keyboard", "text": text, "buttons": [[one] for one in buttons], **more}
    world.model.calls(CallPart("msg", wish))
    world.model.say("shown")


async def keyboard(world: World, bot: Running, *, text: str = "More?") -> ChatMessage:
    await bot.people.say(ADA, ADA, "go")
    shown = await bot.people.next_message(ADA, contains=text)
    await said(world, "shown")
    await settled(bot)
    return shown


async def message(world: World, message_id: int) -> ChatMessage:
    return next(one for one in await world.people.messages(ADA) if one.id == message_id)


# Data that is too long


async def test_data_of_any_length_reaches_the_model_when_it_is_tapped(world: World) -> None:
    shows(world, f"Again|{LONG}", "No|no")
    async with world.running() as bot:
        shown = await keyboard(world, bot)
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await said(world, f"[callback] {LONG}")

    assert all(len(button.data.encode()) <= 64 for button in shown.buttons)
    assert [button.data for button in shown.buttons[1:]] == ["no"]


async def test_long_data_is_known_after_a_restart_and_until_its_message_is_forgotten(
    world: World, clock: FastClock
) -> None:
    shows(world, f"Again|{LONG}")
    async with world.running() as bot:
        shown = await keyboard(world, bot)
    async with world.running() as bot:
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await said(world, f"[callback] {LONG}")
        clock.jump(31 * 24 * 3600)
        await bot.app.tidying.prune()
        answer = await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await said(world, OLD)

    assert answer == {"text": "", "show_alert": False}
    assert prompts(world).count(f"[callback] {LONG}") == 1


@pytest.mark.parametrize(
    "data", ["kept_1", "kept_99:0", "kept_1:7", "kept_x:y", "kept_" + "9" * 40, "kept_"]
)
async def test_a_reference_to_nothing_is_an_old_button(world: World, data: str) -> None:
    async with world.running() as bot:
        answer = await bot.ask("hello")
        await bot.people.tap(ADA, ADA, answer.id, data)
        await said(world, OLD)

    assert prompts(world) == ["hello"]


async def test_a_reference_means_nothing_in_another_conversation(world: World) -> None:
    shows(world, f"Again|{LONG}")
    async with world.running() as bot:
        shown = await keyboard(world, bot)
        other = await bot.ask("hello", user=BEN)
        await bot.people.tap(BEN, BEN, other.id, shown.buttons[0].data)
        await said(world, OLD, BEN)

    assert LONG not in str(world.model.requests[2:])


# Buttons that a model forges


ID = "01arz3ndektsv4rrffq69g5fav"
FORGED = [
    "approval_{gate}:allow",
    "approval_{gate}:always",
    "choice_{gate}:0",
    "nav:budget_raise_{turn}",
    "nav:budget_cheaper_{turn}",
    "nav:again_1",
    "nav:edited_1",
    "nav:session_x",
    "nav:summary_1",
    "nav:unsummary_1",
    "nav:install_01arz3ndektsv4rrffq69g5fav_yes",
    "nav:cron_on_1",
    "nav:memory_undo",
    "nav:onboarding_skip",
    "kept_1:0",
    "c:new",
    "c:cron list",
    "do:delete:1",
]


def keyboard_of_what_is_said(body: Body) -> Reply | str:
    """The model shows a button with the person's words as its data, and repeats what a tap says."""
    newest = body["messages"][-1]
    data = words_of(newest)
    if not body.get("tools") or newest["role"] == "tool":
        return "shown"
    if data.startswith("[callback] "):
        return data
    wish = {"type": "keyboard", "text": f"Tap {data}?", "buttons": [[f"OK|{data}"]]}
    return Says(calls=(CallPart("msg", wish),))


async def test_a_button_that_a_model_made_never_acts_as_one_of_ours(world: World) -> None:
    """Whoever taps it, even the owner: it is told to the model."""
    world.model.script = keyboard_of_what_is_said
    forged, told = [data.format(gate=ID, turn=ID) for data in places(FORGED)], list[str]()
    async with world.running() as bot:
        for data in forged:
            await bot.people.say(ADA, ADA, data)
            shown = await bot.people.next_message(ADA, contains=f"Tap {data}?")
            await settled(bot)
            assert shown.buttons[0].data.startswith("kept_")
            before = await answers(world)
            await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
            await said(world, f"[callback] {data}")
            await settled(bot)
            told += (await answers(world))[len(before) :]

    assert told == [f"[callback] {data}" for data in forged]


@pytest.mark.parametrize(
    "data", ["nav:cron_on_1", "nav:memory_undo_1", "nav:session_x", "nav:summary_1", "do:x:1", "c:"]
)
async def test_a_button_of_an_earlier_or_a_later_time_says_so(world: World, data: str) -> None:
    async with world.running() as bot:
        answer = await bot.ask("hello")
        await bot.people.tap(ADA, ADA, answer.id, data)
        await said(world, OLD)

    assert prompts(world) == ["hello"]


async def test_a_button_of_ours_is_the_command_that_it_says(world: World) -> None:
    """In place of the message that it stood in, and with the words that refuse it."""
    async with world.running() as bot:
        answer = await bot.ask("hello")
        await bot.people.tap(ADA, ADA, answer.id, "c:id")
        there = await said(world, f"Your Telegram id is {ADA}.")
        await bot.people.tap(ADA, ADA, answer.id, "c:nothing")
        await said(world, "I do not know /nothing. /help lists what I know.")

    assert there.id == answer.id
    assert prompts(world) == ["hello"]


async def test_an_approval_that_waits_is_not_answered_by_a_button_of_the_model(
    world: World,
) -> None:
    """The attack: a question is open, and the model shows "Continue" beside it."""
    world.model.call("clarify", {"message": "Delete everything?", "options": ["yes", "no"]})
    async with world.running() as bot:
        await bot.people.say(BEN, BEN, "go")
        card = await bot.people.next_message(BEN, contains="Delete everything?")
        gate = card.buttons[0].data
        shows(world, f"Continue|{gate}")
        await bot.people.say(ADA, ADA, "go")
        shown = await bot.people.next_message(ADA, contains="More?")
        await said(world, "shown")
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await bot.people.next_message(ADA, contains=f"[callback] {gate}")
        gates = await bot.rows("SELECT state FROM gates")
        world.model.say("fine")
        await bot.people.tap(BEN, BEN, card.id, gate)
        await bot.people.next_message(BEN, contains="fine")

    assert gates == [{"state": "open"}]


async def test_a_model_may_offer_another_pack_since_the_person_sees_what_it_did(
    world: World,
) -> None:
    world.install("vocab")
    async with world.running() as bot:
        await bot.ask("/use notes")
        shows(world, "Words|pack:vocab")
        await bot.people.say(ADA, ADA, "go")
        shown = await bot.people.next_message(ADA, contains="More?")
        await bot.people.next_message(ADA, contains="shown")
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await said(world, "“vocab” answers here now.")
        bound = (await route(bot))["active_pack"]
        after = await message(world, shown.id)

    assert (bound, after.text) == ("vocab", "More?")


# What a tap does


async def test_a_tap_is_shown_below_its_message_once_and_its_buttons_go(world: World) -> None:
    """As in a chat with buttons everywhere: one sees what one has chosen, and chooses once."""
    shows(world, "Yes|y", "No|n", text="**More?**")
    async with world.running() as bot:
        shown = await keyboard(world, bot)
        await bot.people.tap(ADA, ADA, shown.id, "y")
        await said(world, "[callback] y")
        await said(world, "More?\n→ Yes")
        late = await bot.people.tap(ADA, ADA, shown.id, "n")
        await settled(bot)
        after = await message(world, shown.id)

    assert (after.text, after.buttons) == ("More?\n→ Yes", ())
    assert [entity["type"] for entity in after.raw["entities"]] == ["bold"]
    assert late == {"text": "", "show_alert": False}
    assert prompts(world)[-1] == "[callback] y"


async def test_a_tap_on_a_picture_is_shown_in_its_caption(world: World) -> None:
    shows(world, "Yes|y", text="Nice?", type="photo", url="https://example.org/a.png")
    async with world.running() as bot:
        shown = await keyboard(world, bot, text="Nice?")
        await bot.people.tap(ADA, ADA, shown.id, "y")
        await said(world, "[callback] y")
        await said(world, "Nice?\n→ Yes")

    assert "photo" in shown.raw


async def test_two_quick_taps_act_once_and_both_are_answered(world: World) -> None:
    shows(world, "Yes|y")
    async with world.running() as bot:
        shown = await keyboard(world, bot)
        first = await bot.people.tap(ADA, ADA, shown.id, "y")
        second = await bot.people.tap(ADA, ADA, shown.id, "y")
        await said(world, "[callback] y")
        await settled(bot)

    assert first == second == {"text": "", "show_alert": False}
    assert prompts(world).count("[callback] y") == 1


async def test_two_quick_taps_on_a_button_of_ours_act_once_too(world: World) -> None:
    """*Show again* shows the message again, once."""
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault("drop_before", method="sendMessage", chat=ADA)
        await bot.people.say(ADA, ADA, "important")
        note = await bot.people.next_message(ADA, contains="may not have arrived")
        both = [await bot.people.tap(ADA, ADA, note.id, note.buttons[0].data) for _ in range(2)]
        await said(world, "important")
        await settled(bot)

    shown_already = {"text": "I have shown it again already.", "show_alert": True}
    assert both == [{"text": "", "show_alert": False}, shown_already]
    assert (await answers(world)).count("important") == 1


async def test_a_tap_is_answered_at_once_while_its_conversation_is_busy(world: World) -> None:
    """Behaviour 38: within 2 s, even when the work takes 60 s."""
    shows(world, "Yes|y")
    async with world.running() as bot:
        shown = await keyboard(world, bot)
        world.model.reply(Says("slowly", chunks=3, stall_after=1))
        await bot.people.say(ADA, ADA, "long work")
        await world.model.stalled.wait()
        answer = await bot.people.tap(ADA, ADA, shown.id, "y", timeout_s=2.0)
        waiting = prompts(world)
        world.model.release.set()
        await said(world, "[callback] y")

    assert answer == {"text": "", "show_alert": False}
    assert waiting[-1] == "long work"


async def test_a_tap_on_a_message_that_is_gone_is_answered_and_said_in_its_topic(
    world: World,
) -> None:
    """Telegram tells neither text nor topic of it. Behaviours 22 and 41."""
    world.config = {"telegram": {"groups": "all"}}
    shows(world, "Yes|y")
    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, "go", thread=2)
        shown = await bot.people.next_message(HOUSEHOLD, contains="More?", thread=2)
        await said(world, "shown", HOUSEHOLD, 2)
        await bot.people.delete(ADA, HOUSEHOLD, shown.id)
        answer = await bot.people.tap(ADA, HOUSEHOLD, shown.id, "y")
        await said(world, "[callback] y", HOUSEHOLD, 2)
        await settled(bot)
        everywhere = await answers(world, HOUSEHOLD)

    assert answer == {"text": "", "show_alert": False}
    assert "More?\n→ Yes" not in everywhere


# Buttons that name a skill


async def test_a_button_that_names_a_skill_begins_a_session_with_it(world: World) -> None:
    shows(world, "Review|review")
    async with world.running() as bot:
        shown = await keyboard(world, bot)
        before = await route(bot)
        await bot.people.tap(ADA, ADA, shown.id, "review")
        await said(world, "[callback] review")
        after = await route(bot)
        kept = await message(world, shown.id)

    assert after["session_id"] != before["session_id"]
    assert after["active_skill"] == "notes:review"
    assert [button.text for button in kept.buttons] == ["Review"]
    assert "go" not in prompts(world)[-1:]
    assert len(world.model.requests[-1]["messages"]) < len(world.model.requests[1]["messages"]) + 1


async def test_a_button_that_names_another_packs_skill_says_how_to_change(world: World) -> None:
    world.install("vocab")
    async with world.running() as bot:
        await bot.ask("/use notes")
        shows(world, "Study|vocab:study")
        await bot.people.say(ADA, ADA, "go")
        shown = await bot.people.next_message(ADA, contains="More?")
        await bot.people.next_message(ADA, contains="shown")
        await bot.people.tap(ADA, ADA, shown.id, "vocab:study")
        told = await bot.people.next_message(ADA, contains="“vocab”")
        bound = (await route(bot))["active_pack"]

    assert told.text.startswith("/study belongs to “vocab”")
    assert bound == "notes"


# Questions that are stopped


async def test_a_question_that_was_stopped_says_so_and_a_late_tap_is_explained(
    world: World,
) -> None:
    world.model.call("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "paint it")
        card = await bot.people.next_message(ADA, contains="Which colour?")
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE state = 'sent'"))
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Which colour?\n→ stopped")
        late = await bot.people.tap(ADA, ADA, card.id, card.buttons[0].data)
        after = await message(world, card.id)

    assert after.buttons == ()
    assert late == {"text": "This was stopped, so the question is closed.", "show_alert": True}


async def test_a_question_nobody_answered_says_so_after_a_day(
    world: World, clock: FastClock
) -> None:
    world.model.call("clarify", {"message": "Which colour?", "options": ["red"]})
    world.model.say("never mind")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "paint it")
        await bot.people.next_message(ADA, contains="Which colour?")
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE state = 'sent'"))
        clock.jump(24 * 3600 + 1)
        await said(world, "never mind")
        await said(world, "Which colour?\n→ nobody answered in time")


def test_only_buttons_of_ours_bypass_a_lane() -> None:
    from aouo.facts.events import Button

    own = Button("approval_x:allow", "", "1")
    forged = Button("approval_x:allow", "", "1", by_model=True)

    assert (own.bypasses, forged.bypasses) == (True, False)


# What waits for a choice


async def test_a_picture_that_waited_for_a_pack_is_answered_when_one_is_tapped_after_a_restart(
    world: World,
) -> None:
    """The picker, the tap and the parked message each in another life."""
    world.install("vocab")
    world.config = {"provider": {"backend": "fake", "model": "scripted", "vision": "on"}}
    world.model.say("A red bicycle.")
    picture = b"\x89PNG\r\n\x1a\n" + bytes(40) + b"a red bicycle"
    async with world.running() as bot:
        await bot.people.send_file(ADA, ADA, "photo", picture, caption="what is this?")
        picker = await bot.people.next_message(ADA, contains="Which pack")
        await settled(bot)
        before = len(world.model.requests)
    await world.people.act("tap", user=ADA, chat=ADA, message_id=picker.id, data="pack:notes")
    async with world.running() as bot:
        await bot.people.next_message(ADA, contains="A red bicycle.")
        await settled(bot)

    request = str(world.model.requests[0]["messages"])
    assert (before, "image_url" in request, "what is this?" in request) == (0, True, True)


async def test_a_button_of_the_model_that_waits_for_a_pack_is_heard_when_one_is_chosen(
    world: World,
) -> None:
    shows(world, f"Again|{LONG}")
    async with world.running() as bot:
        shown = await keyboard(world, bot)
    world.install("vocab")
    (world.home.packs / "notes").unlink()
    async with world.running() as bot:
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        picker = await bot.people.next_message(ADA, contains="Which one shall answer here?")
        await bot.people.tap(ADA, ADA, picker.id, "pack:vocab")
        await bot.people.next_message(ADA, contains=f"[callback] {LONG}")
        await said(world, "More?\n→ Again")


@pytest.mark.parametrize(
    "fields",
    [
        {"inline_message_id": "somewhere", "data": "hello"},
        {"game_short_name": "chess"},
        {"message": {"chat": {"id": ADA, "type": "private"}, "message_id": 4, "date": 0}},
    ],
)
async def test_a_tap_that_means_nothing_here_is_answered_and_never_reaches_the_model(
    world: World, fields: dict[str, object]
) -> None:
    """A message sent through somebody else's inline query, a game, a button without data."""
    who = {"id": ADA, "is_bot": False, "first_name": "Ada"}
    tap = {"id": "77", "from": who, "chat_instance": "x", **fields}
    async with world.running() as bot:
        await bot.ask("hello")
        assert bot.app.shared.telegram
        await bot.app.shared.telegram._store([{"update_id": 10**6, "callback_query": tap}], 0)
        await eventually(lambda: world.people.calls("answerCallbackQuery"))
        await settled(bot)

    assert len(world.model.requests) == 1
