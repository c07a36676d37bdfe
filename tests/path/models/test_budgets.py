"""A budget that is used up: a sentence with buttons, and what each of them does.

Source: contract "Configuration" (budgets), issue 3 "Limits".
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from structlog.testing import capture_logs

from aouo.emulator import FAMILY, ChatMessage
from aouo.words.catalogue import text
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says, words_of
from tests.path.looking import answers, cut_off, eventually, prompts, said, settled
from tests.path.reloading.following import reload, save
from tests.path.world import ADA, BEN, ROOT, Running, World

PRICES = {
    "scripted": {"input": 10.0, "cached": 1.0, "output": 100.0},
    "small": {"input": 0.01, "output": 0.1},
}
REFUSED = "Today's budget does not allow this"


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.clock = clock = FastClock()
    return clock


def budgets(world: World, prices: dict[str, Any] | None = None, **ceilings: Any) -> None:
    """A model whose answers cost up to 50 cents."""
    world.config = {
        "budgets": {"prices": PRICES if prices is None else prices, **ceilings},
        "telegram": {"groups": "all"},
    }


def thrifty(world: World, budget: str) -> None:
    """A pack that allows itself so much a day, in its own pack.yml."""
    folder = world.home.packs / "notes"
    shutil.copytree(ROOT / "packs" / "notes", folder)
    manifest = folder / "pack.yml"
    manifest.write_text(f"{manifest.read_text()}\nbudget: {{{budget}}}\n")


async def refused(bot: Running, *, user: int = ADA, chat: int = 0) -> ChatMessage:
    await bot.people.say(user, chat or user, "hello")
    return await bot.people.next_message(chat or user, contains=REFUSED)


def button(message: ChatMessage, label: str) -> str:
    return next(button.data for button in message.buttons if button.text.startswith(label))


async def test_a_refusal_names_what_is_spent_what_it_may_cost_and_what_helps(
    world: World,
) -> None:
    """No model is asked; the buttons fit Telegram's 64 bytes."""
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        with capture_logs() as logs:
            shown = await refused(bot)
            await settled(bot)

    assert shown.text.startswith(
        "Today's budget does not allow this: $0.00 of $0.01 are spent, and this answer may cost "
        "up to $0."
    )
    assert shown.text.endswith(
        "It starts again at midnight, or the owner raises budgets.daily_usd."
    )
    assert [each.text for each in shown.buttons] == ["Raise today by $0.20", "Stop"]
    assert all(len(each.data.encode()) <= 64 for each in shown.buttons)
    assert world.model.requests == []
    assert "budget_exceeded" in [line["event"] for line in logs]


async def test_the_owner_raises_it_and_the_refused_words_are_answered(world: World) -> None:
    """The history that the model reads has them once."""
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        shown = await refused(bot)
        tapped = await bot.people.tap(ADA, ADA, shown.id, button(shown, "Raise"))
        await said(world, "hello")
        await settled(bot)
        after = next(m for m in await bot.people.messages(ADA) if m.id == shown.id)
        late = await bot.people.tap(ADA, ADA, shown.id, button(shown, "Raise"))

    assert (tapped, after.text) == (
        {"text": "", "show_alert": False},
        "Raised by $0.20 for today. Answering now.",
    )
    assert after.buttons == ()
    assert late == {"text": "This question is closed.", "show_alert": True}
    assert [words_of(m) for m in world.model.requests[0]["messages"]].count("hello") == 1


async def test_a_try_that_was_refused_is_answered_with_its_own_words_whatever_came_after_it(
    world: World,
) -> None:
    """The newest words are others by then, and their answer stays."""
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        first = await refused(bot)
        await bot.people.say(ADA, ADA, "/retry")
        shown = await bot.people.next_message(ADA, contains=REFUSED, after=first.id)
        save(world, budgets={"daily_usd": 100})
        await reload(world)
        await bot.ask("and this")
        await settled(bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "Raise"))
        await said(world, "hello")
        await settled(bot)
        rows = await bot.rows("SELECT text FROM messages WHERE visible = 1 ORDER BY id")

    assert [row["text"] for row in rows] == ["and this", "and this", "hello", "hello"]


@pytest.mark.parametrize(
    ("chat", "place"), [(BEN, "their private chat"), (FAMILY, "the group “Family”")]
)
async def test_the_owner_is_asked_in_private_to_raise_it_for_somebody_else(
    world: World, chat: int, place: str
) -> None:
    """They see no chat of others, and may be in no group with them."""
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        shown = await refused(bot, user=BEN, chat=chat)
        card = await bot.people.next_message(ADA, contains="Raise it for today?")
        no = await bot.people.tap(BEN, chat, shown.id, button(card, "Raise"))
        unasked = len(world.model.requests)
        await bot.people.tap(ADA, ADA, card.id, button(card, "Raise"))
        await said(world, "hello", chat)
        await said(world, f"{card.text}\n→ raised by $0.20")
        await settled(bot)
        there, asked = await answers(world, chat), await answers(world)

    assert card.text.startswith(
        f"Ben in {place} is not answered: today's budget does not allow this: $0.00 of $0.01 are "
        "spent, and this answer may cost up to $0."
    )
    assert shown.text.endswith("or the owner raises budgets.daily_usd. I am asking them now.")
    assert [each.text for each in shown.buttons] == ["Stop"]
    assert no == {"text": "Only the owner can decide this.", "show_alert": True}
    assert unasked == 0
    assert there == ["Raised by $0.20 for today. Answering now.", "hello"]
    assert asked == [f"{card.text}\n→ raised by $0.20"]


async def test_a_card_of_the_owners_shows_that_the_person_left_it(world: World) -> None:
    budgets(world, per_person_daily_usd=0.01)
    async with world.running() as bot:
        await bot.people.say(BEN, BEN, "hello")
        shown = await bot.people.next_message(BEN, contains="Your budget of today")
        card = await bot.people.next_message(ADA, contains="Raise it for today?")
        await bot.people.tap(BEN, BEN, shown.id, button(shown, "Stop"))
        await said(world, f"{card.text}\n→ left unanswered")
        late = await bot.people.tap(ADA, ADA, card.id, button(card, "Raise"))

    assert card.text.startswith("Ben in their private chat is not answered: their budget of today ")
    assert late == {"text": "This question is closed.", "show_alert": True}
    assert world.model.requests == []


async def test_the_owners_card_outlives_a_restart_and_holds_no_word_off_the_record(
    world: World,
) -> None:
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        await bot.people.say(BEN, BEN, "/otr my secret")
        card = await bot.people.next_message(ADA, contains="Raise it for today?")
        await settled(bot)
    async with world.running() as bot:
        await bot.people.tap(ADA, ADA, card.id, button(card, "Raise"))
        await said(
            world, "Raised by $0.20 for today. Please say it again: your words were not kept.", BEN
        )
        await said(world, f"{card.text}\n→ raised by $0.20")

    assert "secret" not in card.text
    assert len(await answers(world, BEN)) == 1


async def test_the_owner_is_not_asked_without_end(world: World) -> None:
    """Then, and where the owner never wrote to the bot, nobody is told that they are asked."""
    budgets(world, daily_usd=0.01)
    world.config["security"] = {"approvals": {"per_hour": 1}}
    async with world.running() as bot:
        await refused(bot, user=BEN)
        await bot.people.next_message(ADA, contains="Raise it for today?")
        await bot.people.say(BEN, BEN, "again")
        await eventually(lambda: bot.rows("SELECT 1 FROM budget_refusals LIMIT 1 OFFSET 1"))
        await settled(bot)
        told, asked = await answers(world, BEN), await answers(world)

    assert [text.endswith("I am asking them now.") for text in told] == [True, False]
    assert len(asked) == 1


async def test_the_buttons_survive_a_restart(world: World) -> None:
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        shown = await refused(bot)
        await settled(bot)
    async with world.running() as bot:
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "Raise"))
        await said(world, "hello")

    assert prompts(world) == ["hello"]


async def test_words_off_the_record_are_not_kept_for_a_second_try(world: World) -> None:
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/otr my secret")
        shown = await bot.people.next_message(ADA, contains=REFUSED)
        await settled(bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "Raise"))
        await said(
            world, "Raised by $0.20 for today. Please say it again: your words were not kept."
        )
        await settled(bot)

    assert world.model.requests == []


async def test_stop_closes_the_message_and_nothing_else_happens(world: World) -> None:
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        shown = await refused(bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "Stop"))
        await said(world, "Left unanswered: today's budget did not allow it.")
        await settled(bot)

    assert (await answers(world), world.model.requests) == (
        ["Left unanswered: today's budget did not allow it."],
        [],
    )


async def test_a_button_of_a_refusal_does_nothing_in_another_chat_nor_made_up(
    world: World,
) -> None:
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        shown = await refused(bot)
        greeting = await bot.people.say(BEN, BEN, "/start")
        elsewhere = await bot.people.next_message(BEN, after=greeting.id)
        leave = button(shown, "Stop")
        told = [
            await bot.people.tap(BEN, BEN, elsewhere.id, leave),
            await bot.people.tap(ADA, ADA, shown.id, f"{leave}x"),
        ]
        await settled(bot)
        there = await answers(world)

    assert [one["text"] for one in told] == [text("taps.unknown")] * 2
    assert there == [shown.text]


@pytest.mark.parametrize("what", ["Stop", "Cheaper"])
async def test_in_a_group_nobody_but_who_asked_and_the_owner_decides_a_refusal(
    world: World, what: str
) -> None:
    """Everybody there sees the buttons. The bot answers a stranger's tap and does nothing."""
    budgets(world, daily_usd=0.01)
    world.config["providers"] = {
        "fake": {
            "base_url": world.model.base_url,
            "api_key": "key",
            "prices": {"small": {"input": 0.01, "output": 0.1}},
        }
    }
    async with world.running() as bot:
        shown = await refused(bot, chat=FAMILY)
        card = await bot.people.next_message(ADA, contains="Raise it for today?")
        strangers = [
            await bot.people.tap(BEN, FAMILY, shown.id, data)
            for data in (button(shown, what), button(card, "Raise"))
        ]
        await settled(bot)
        there = await answers(world, FAMILY)
        askers = await bot.people.tap(ADA, FAMILY, shown.id, button(shown, what))
        await settled(bot)
        after = await answers(world, FAMILY)

    assert strangers == [
        {"text": "This question is for somebody else.", "show_alert": True},
        {"text": "Only the owner can decide this.", "show_alert": True},
    ]
    assert there == [shown.text]
    assert askers == {"text": "", "show_alert": False}
    assert shown.text not in after


async def test_in_a_group_the_owner_may_leave_somebody_elses_refusal_unanswered(
    world: World,
) -> None:
    budgets(world, daily_usd=0.01)
    async with world.running() as bot:
        shown = await refused(bot, user=BEN, chat=FAMILY)
        await bot.people.tap(ADA, FAMILY, shown.id, button(shown, "Stop"))
        await said(world, "Left unanswered: today's budget did not allow it.", FAMILY)


async def test_a_cheaper_model_answers_here_for_the_rest_of_the_day(
    world: World, clock: FastClock
) -> None:
    """It is offered only if its worst case fits; other conversations keep theirs."""
    budgets(world, daily_usd=0.01)
    world.config["providers"] = {
        "fake": {
            "base_url": world.model.base_url,
            "api_key": "key",
            "prices": {"small": {"input": 0.01, "output": 0.1}},
        }
    }
    async with world.running() as bot:
        shown = await refused(bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "Cheaper"))
        await said(world, "small answers here until midnight. Answering now.")
        await said(world, "hello")
        await settled(bot)
        await refused(bot, user=BEN)
    async with world.running() as bot:
        await bot.ask("again")
        clock.jump(24 * 3600)
        await bot.people.say(ADA, ADA, "tomorrow")
        await bot.people.next_message(ADA, contains=REFUSED)

    assert [body["model"] for body in world.model.requests] == ["small", "small"]


async def test_a_person_and_a_pack_have_budgets_of_their_own(world: World) -> None:
    world.install("notes")
    budgets(world, per_person_daily_usd=0.01, per_pack_daily_usd={"notes": 0.02})
    async with world.running() as bot:
        mine = await bot.ask("hello")
    budgets(world, per_pack_daily_usd={"notes": 0.02})
    async with world.running() as bot:
        packs = await bot.ask("hello")

    assert mine.text.startswith("Your budget of today does not allow this: ")
    assert mine.text.endswith("or the owner raises budgets.per_person_daily_usd.")
    assert packs.text.startswith("Today's budget of “notes” does not allow this: ")
    assert packs.text.endswith("or the owner raises budgets.per_pack_daily_usd.notes.")


async def test_what_a_pack_allows_itself_holds_across_a_restart_though_the_owner_sets_no_budget(
    world: World,
) -> None:
    """What a former life spent counts, and the cheaper model that was chosen answers."""
    thrifty(world, "daily_usd: 0.6")
    world.config["providers"] = {
        "fake": {
            "base_url": world.model.base_url,
            "api_key": "key",
            "prices": {"scripted": PRICES["scripted"], "small": PRICES["small"]},
        }
    }
    world.model.say("dear", usage=(1_000, 0, 5_000))
    async with world.running() as bot:
        await bot.ask("first")
        await settled(bot)
    async with world.running() as bot:
        shown = await bot.ask("hello")
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "Cheaper"))
        await said(world, "hello")
        await settled(bot)

    assert shown.text.startswith(
        "Today's budget of “notes” does not allow this: $0.51 of $0.60 are spent, "
    )
    assert shown.text.endswith("or the owner raises budget.daily_usd in the pack.yml of “notes”.")
    assert [body["model"] for body in world.model.requests] == ["scripted", "small"]


async def test_the_tokens_that_a_pack_allows_itself_are_its_own_and_not_another_packs(
    world: World,
) -> None:
    world.install("vocab")
    thrifty(world, "daily_tokens: 1000")
    world.model.say("long", usage=(900, 0, 100))
    async with world.running() as bot:
        await bot.ask("/use notes")
        await bot.ask("hello")
        await settled(bot)
        notes = await bot.ask("again")
        await bot.ask("/use vocab")
        vocab = await bot.ask("hello there")

    assert "budget.daily_tokens in the pack.yml of “notes”" in notes.text
    assert vocab.text.startswith("hello there\n")


async def test_a_model_without_a_price_is_not_asked_under_a_budget(world: World) -> None:
    budgets(world, {}, daily_usd=5)
    async with world.running() as bot:
        await bot.people.next_message(ADA, contains="a budget is set and scripted has no price")
        await bot.people.say(ADA, ADA, "hello")
        answer = await bot.people.next_message(ADA, contains="I did not ask it")

    assert world.model.requests == []
    assert answer.text == (
        "A budget is set, and I do not know what scripted costs, so I did not ask it. "
        "The owner sets budgets.prices.scripted."
    )


async def test_a_turn_says_what_it_cost_in_the_log_and_in_the_usage_rows(world: World) -> None:
    """Cached tokens at their own price."""
    world.install("notes")
    budgets(world)
    world.model.call("persist", {"action": "recent"})
    world.model.reply(Says("done", usage=(1000, 400, 50)))
    async with world.running() as bot:
        with capture_logs() as logs:
            await bot.ask("hello")
            await settled(bot)
        rows = await bot.rows("SELECT scope, cost_usd FROM usage_events ORDER BY id")

    first = (10 * 10.0 + 5 * 100.0) / 1e6
    second = (600 * 10.0 + 400 * 1.0 + 50 * 100.0) / 1e6
    line = next(line for line in logs if line["event"] == "turn_done")
    assert line["cost_usd"] == pytest.approx(first + second)
    assert [row["cost_usd"] for row in rows if row["scope"] == "llm"] == [
        pytest.approx(first),
        pytest.approx(second),
    ]


async def test_an_answer_without_words_is_asked_for_again_with_more_room_or_not_at_all(
    world: World,
) -> None:
    """With less than before it would be paid for and no better: the budget is what is short."""
    budgets(world, daily_usd=0.6)
    world.model.reply(Says("", reason="length", thoughts="Hm. ", usage=(1_500, 0, 2_000)))
    async with world.running() as bot:
        message = await refused(bot)
        rows = await bot.rows("SELECT output_tokens FROM usage_events WHERE scope = 'llm'")

    room = [request["max_tokens"] for request in world.model.requests]
    assert len(room) == 1
    assert 1_024 < room[0] < 16_384
    assert [row["output_tokens"] for row in rows] == [2_000]
    assert button(message, "Raise today")


@pytest.mark.parametrize(
    "error",
    [
        {"message": "the valid range of max_tokens is [1, 8192]", "code": 400},
        {"message": "invalid temperature", "param": "temperature", "code": 400},
    ],
    ids=["room", "field"],
)
async def test_a_refusal_after_the_model_began_to_think_counts_at_its_worst_case(
    world: World, error: dict[str, Any]
) -> None:
    """Nobody says what the thoughts cost; the request is made again, and paid for too."""
    budgets(world, daily_usd=5.0)
    world.config["provider"] = {"backend": "fake", "model": "scripted", "temperature": 0.7}
    thought = {"choices": [{"delta": {"reasoning_content": "Hm."}}]}
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in (thought, {"error": error})]
    world.model.raw(*lines)
    world.model.say("Hello.")
    async with world.running() as bot:
        answer = await bot.ask("hello")
        await settled(bot)
        rows = await bot.rows("SELECT cost_usd FROM usage_events WHERE scope = 'llm'")

    assert answer.text == "Hello."
    assert [row["cost_usd"] > 1.6 for row in rows] == [True, False]


async def test_a_stopped_answer_counts_at_its_worst_case(world: World) -> None:
    budgets(world, daily_usd=5)
    world.model.stall(after_chunks=1)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "/stop")
        await bot.people.next_message(ADA, contains="Stopped")
        await settled(bot)
        rows = await bot.rows("SELECT cost_usd, input_tokens FROM usage_events")
        held = await bot.rows("SELECT id FROM holds")

    assert len(rows) == 1
    assert (rows[0]["cost_usd"] > 0.4, rows[0]["input_tokens"], held) == (True, 0, [])


async def test_a_call_that_the_end_of_the_process_cut_off_counts_when_it_starts_again(
    world: World,
) -> None:
    """The money may have been spent; the turn is taken up and asks once more."""
    budgets(world, daily_usd=5)
    world.model.stall(after_chunks=1)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        await world.model.stalled.wait()
        await cut_off(bot)
    async with world.running() as bot:
        await said(world, "hello")
        await settled(bot)
        rows = await bot.rows("SELECT cost_usd FROM usage_events ORDER BY id")
        held = await bot.rows("SELECT id FROM holds")

    lost, answered = (row["cost_usd"] for row in rows)
    assert (lost > 0.4, answered, held) == (True, pytest.approx(6e-4), [])


async def test_two_conversations_that_fit_only_one_after_the_other_are_both_answered(
    world: World,
) -> None:
    """What is only held refuses nobody: whoever comes second waits until it is known."""
    budgets(world, daily_usd=0.7)
    world.model.stall(after_chunks=1, text="for Ada")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        await world.model.stalled.wait()
        await bot.people.say(BEN, BEN, "me too")
        await eventually(
            lambda: bot.rows("SELECT 1 FROM turns WHERE status = 'open' LIMIT 1 OFFSET 1")
        )
        asked = len(world.model.requests)
        world.model.release.set()
        await said(world, "for Ada")
        await said(world, "me too", BEN)

    assert asked == 1


async def test_usage_answers_without_a_model_and_shows_everybodys_only_to_the_owner(
    world: World,
) -> None:
    world.install("notes")
    budgets(world)
    async with world.running() as bot:
        await bot.ask("hello")
        await bot.ask("hello", user=BEN)
        mine = await bot.ask("/usage")
        bens = await bot.ask("/usage", user=BEN)

    cost = (10 * 10.0 + 5 * 100.0) / 1e6
    one = f"15 tokens, ${cost:.4f}, 1 call"
    two = f"30 tokens, ${2 * cost:.4f}, 2 calls"
    own = f"You, with “notes”:\ntoday – {one}\n7 days – {one}"
    assert bens.text == own
    assert mine.text == f"{own}\n\nEverybody, with everything:\ntoday – {two}\n7 days – {two}"
    assert len(world.model.requests) == 2


async def test_what_was_read_from_a_cache_is_told_apart(world: World) -> None:
    world.install("notes")
    world.model.say("Hello.", usage=(1_000, 800, 5))
    async with world.running() as bot:
        await bot.ask("hello")
        usage = await bot.ask("/usage")

    assert "today – 1,005 tokens (800 cached), " in usage.text


async def test_looking_up_too_much_is_ended_and_said(world: World) -> None:
    """Nobody waits for it meanwhile: see tests/store/test_snapshots.py."""
    world.install("notes")
    async with world.running() as bot:
        await bot.ask("hello")
        bot.app.shared.database._snapshots.rows_max = 0
        refused = await bot.ask("/usage")
        bot.app.shared.database._snapshots.rows_max = 10
        answer = await bot.ask("/sessions")

    assert refused.text == (
        "Looking this up takes too long here. The owner can do it in a terminal, with: "
        "aouo usage, aouo session list"
    )
    assert "hello" in answer.text or answer.buttons
