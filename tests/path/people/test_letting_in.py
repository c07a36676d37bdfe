"""A stranger writes, the owner lets them in with a tap, and puts them out again.

Source: issue 29 "Letting in".
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from aouo.emulator import FAMILY, ChatMessage
from aouo.words.catalogue import text
from tests.fakes.clock import START, FastClock
from tests.path.looking import prompts, settled
from tests.path.world import ADA, BEN, Running, World

TOMORROW = START + timedelta(days=1, minutes=9)
WELCOME = text("people.welcome-member")


@pytest.fixture(autouse=True)
def ada_is_alone(world: World) -> None:
    world.config = {"telegram": {"allowed_user_ids": [ADA]}}


async def card_of(bot: Running) -> ChatMessage:
    await bot.people.say(BEN, BEN, "hello?")
    card = await bot.people.next_message(ADA, contains=str(BEN))
    await settled(bot)
    return card


async def tapped(bot: Running, on: ChatMessage, label: str, *, by: int = ADA) -> ChatMessage:
    data = next(one.data for one in on.buttons if one.text == label)
    await bot.people.tap(by, on.chat_id, on.id, data)
    await settled(bot)
    return next(one for one in await bot.people.messages(on.chat_id) if one.id == on.id)


async def texts(bot: Running, chat: int) -> list[str]:
    return [one.text for one in await bot.people.messages(chat) if one.from_bot]


async def test_a_stranger_is_let_in_by_a_tap_and_stays_in(world: World) -> None:
    async with world.running() as bot:
        card = await card_of(bot)
        said = (await texts(bot, BEN))[-1]
        assert str(BEN) in said
        assert text("people.owner-asked") in said
        shown = await tapped(bot, card, text("people.answer-member"))
        assert shown.text.endswith("/people puts them out again.")
        assert not shown.buttons
        assert WELCOME in await texts(bot, BEN)
        await bot.ask("plums", chat=BEN, user=BEN)
    async with world.running() as bot:
        await bot.ask("figs", chat=BEN, user=BEN)

    assert prompts(world) == ["plums", "figs"]


async def test_an_address_as_a_name_is_text_on_the_card_and_after_it(world: World) -> None:
    async with world.running() as bot:
        name, eve = "http://evil.example/", 1066
        await bot.people.create_user(name, user_id=eve)
        await bot.people.say(eve, eve, "hello?")
        card = await bot.people.next_message(ADA, contains=str(eve))
        await settled(bot)
        shown = await tapped(bot, card, text("people.answer-member"))
        listed = await bot.ask("/people")

    for message in (card, shown, listed):
        marks = [
            (one["type"], message.text[one["offset"] :][: one["length"]])
            for one in message.raw["entities"]
        ]
        assert ("code", name) in marks, message.text
        assert not [one for one in marks if one[0] == "url"]


async def test_what_a_stranger_said_is_not_kept(world: World) -> None:
    async with world.running() as bot:
        await card_of(bot)
        kept = await bot.rows("SELECT person, role FROM people")
        assert kept == [{"person": str(BEN), "role": "asked"}]
        for table in ("jobs", "updates", "deliveries", "messages"):
            assert "hello?" not in str(await bot.rows(f"SELECT * FROM {table}"))


async def test_the_owner_is_asked_once_and_a_no_is_final(world: World) -> None:
    world.clock = FastClock(speed=1)
    async with world.running() as bot:
        card = await card_of(bot)
        await bot.people.say(BEN, FAMILY, "@aouo_try_bot may I?")
        await settled(bot)
        await tapped(bot, card, text("people.answer-no"))
    world.clock = FastClock(speed=1, start=TOMORROW)
    async with world.running() as bot:
        await bot.ask("and now?", chat=BEN, user=BEN)
        assert sum(str(BEN) in one for one in await texts(bot, ADA)) == 1
        assert (await texts(bot, BEN))[-1].startswith(text("conversations.not-authorized"))
        assert text("people.owner-asked") not in (await texts(bot, BEN))[-1]
    assert prompts(world) == []


async def test_a_guest_is_out_after_a_day_and_is_asked_about_again(world: World) -> None:
    world.clock = FastClock(speed=1)
    async with world.running() as bot:
        await tapped(bot, await card_of(bot), text("people.answer-guest"))
        await bot.ask("plums", chat=BEN, user=BEN)
    world.clock = FastClock(speed=1, start=TOMORROW)
    async with world.running() as bot:
        await bot.ask("figs", chat=BEN, user=BEN)
        assert text("people.owner-asked") in (await texts(bot, BEN))[-1]
    assert prompts(world) == ["plums"]


async def test_put_out_wins_over_the_list_at_once_and_after_a_restart(world: World) -> None:
    world.config = {"telegram": {"allowed_user_ids": [ADA, BEN]}}
    async with world.running() as bot:
        await bot.ask("plums", chat=BEN, user=BEN)
        shown = await bot.ask("/people")
        assert f"• {BEN}: {text('people.is-member')}" in shown.text
        after = await tapped(bot, shown, text("people.button-out", name=str(BEN)))
        assert "although on telegram.allowed_user_ids" in after.text
        await bot.ask("figs", chat=BEN, user=BEN)
    async with world.running() as bot:
        await bot.people.say(BEN, BEN, "pears")
        assert text("people.is-member") in (await bot.ask(f"/people member {BEN}")).text
        await bot.ask("quinces", chat=BEN, user=BEN)
    assert prompts(world) == ["plums", "quinces"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/people boss 8", "people.usage"),
        ("/people out Ben", "people.usage"),
        (f"/people out {ADA}", "people.is-owner"),
    ],
)
async def test_what_cannot_be_is_said(world: World, line: str, said: str) -> None:
    async with world.running() as bot:
        assert (await bot.ask(line)).text == text(said)


async def test_nobody_but_the_owner_sees_or_decides(world: World) -> None:
    world.config = {"telegram": {"allowed_user_ids": [ADA, BEN]}}
    async with world.running() as bot:
        answer = await bot.ask(f"/people out {ADA}", chat=BEN, user=BEN)
        assert answer.text == text("people.owners")
        assert await bot.rows("SELECT * FROM people") == []


async def test_a_role_has_its_packs(world: World) -> None:
    world.install("notes")
    world.config = {
        "telegram": {"allowed_user_ids": [ADA, BEN]},
        "roles": {"member": {"packs": ["other"]}},
    }
    async with world.running() as bot:
        said = await bot.ask("plums", chat=BEN, user=BEN)
        assert said.text == text("people.not-this-pack", pack="notes")
        await bot.ask("plums")
    assert len(prompts(world)) == 1


async def test_what_a_role_does_not_use_is_not_offered_to_it(world: World) -> None:
    world.install("notes", "vocab")
    world.config = {
        "telegram": {"allowed_user_ids": [ADA, BEN]},
        "roles": {"member": {"packs": ["notes"]}},
    }
    async with world.running() as bot:
        bens = await bot.ask("/pack", chat=BEN, user=BEN)
        gone = await bot.ask("/use vocab", chat=BEN, user=BEN)
        adas = await bot.ask("/pack")

    assert [one.text for one in bens.buttons] == ["📝 Notes"]
    assert "vocab" in gone.text
    assert len(adas.buttons) == 2


async def test_a_name_of_many_lines_is_one_line_of_the_card(world: World) -> None:
    async with world.running() as bot:
        eve = await bot.people.create_user("Eve\n\nThe owner said yes\n" + "x" * 99)
        await bot.people.say(eve, eve, "hi")
        card = await bot.people.next_message(ADA, contains=str(eve))
        assert card.text.startswith("Let Eve")
        assert "\n\nThe owner" not in card.text
        shown = await tapped(bot, card, text("people.answer-no"))
        assert "\n" not in shown.text


async def test_a_role_has_its_budget_which_is_not_the_owners(world: World) -> None:
    world.config = {
        "telegram": {"allowed_user_ids": [ADA, BEN]},
        "roles": {"member": {"daily_usd": 0.000001}},
        "budgets": {"prices": {"scripted": {"input": 1, "output": 1}}},
    }
    async with world.running() as bot:
        said = await bot.ask("plums", chat=BEN, user=BEN)
        await bot.ask("figs")
    assert "roles.member.daily_usd" in said.text
    assert prompts(world) == ["figs"]


async def test_an_owner_who_is_missing_in_the_list_is_not_asked_about_themselves(
    world: World,
) -> None:
    world.config = {"telegram": {"allowed_user_ids": [BEN], "owner_id": ADA}}
    async with world.running() as bot:
        said = await bot.ask("plums")
        assert text("people.owner-asked") not in said.text
        assert await bot.rows("SELECT * FROM people") == []
