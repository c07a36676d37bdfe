"""Several wishes in one message are each done, once and in order; else it is one, or asked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.fakes.clock import FastClock
from tests.path.buttons.test_menus import tap
from tests.path.everyday.test_corrections import kept
from tests.path.looking import settled
from tests.path.world import World

REMINDERS = "SELECT say AS kept FROM schedules WHERE origin <> 'default' ORDER BY created_at, id"


@pytest.mark.parametrize(
    ("said", "texts"),
    [
        ("remind me at 18:00 to call and at 19:00 to leave", ["Call", "Leave"]),
        ("remind me tomorrow at 8 to call; remind me on Friday at 9 to pay", ["Call", "Pay"]),
        ("remind me tomorrow at 8 to buy milk and bread", ["Buy milk and bread"]),
        ("erinnere mich um 18:00 an den Tee und um 19:00 an die Wäsche", ["Den Tee", "Die Wäsche"]),
    ],
)
async def test_each_reminder_of_a_message_is_made(
    world: World, said: str, texts: list[str]
) -> None:
    world.install("remind", "notes")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}
    async with world.running() as bot:
        answer = await bot.ask(said)
        await settled(bot)
        made = [str(row["kept"]) for row in await bot.rows(REMINDERS)]

    assert made == texts
    assert all(one in answer.text for one in texts)


@pytest.mark.parametrize(
    ("said", "due"),
    [
        ("remind me tomorrow at 8 to call and at 9 to leave", ["29 08", "29 09"]),
        ("remind me tomorrow at 8 to call\nand at 9 to leave", ["29 08", "29 09"]),
        ("remind me tomorrow morning at 8 to call and at 5pm to leave", ["29 08", "29 17"]),
        ("remind me on monday at 8 to call and on tuesday at 9 to pay", ["30 08", "01 09"]),
        ("remind me at 18:00 to call and tomorrow at 9 to leave", ["28 18", "29 09"]),
        ("erinnere mich morgen um 8 an den Tee und um 9 an die Post", ["29 08", "29 09"]),
        ("remind me to call tomorrow at 8 and at 9 to leave", []),
        ("remind me at 18:00 to call and at 19:00 to leave tomorrow", []),
        ("remind me in 10 minutes to call and in 20 to leave", []),
    ],
)
async def test_a_day_before_the_first_reminder_is_that_of_all_or_it_is_asked(
    world: World, said: str, due: list[str]
) -> None:
    world.install("remind", "notes")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}
    world.clock = FastClock(start=datetime(2026, 11, 28, 10, 0, tzinfo=UTC), speed=1)
    async with world.running() as bot:
        await bot.ask(said)
        rows = await bot.rows(REMINDERS.replace("say", "next_due"))

    made = [datetime.fromisoformat(str(row["kept"])) for row in rows]
    assert [f"{moment:%d %H}" for moment in made] == due


@pytest.mark.parametrize("said", ["coffee 3.50 € + cake 4.20 €", "coffee 3.50 €, cake 4.20 €"])
async def test_each_expense_of_a_message_is_kept_with_its_undo(world: World, said: str) -> None:
    world.install("expenses", "notes")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}
    async with world.running() as bot:
        answer = await bot.ask(said)
        await settled(bot)

    assert "3.50 €" in answer.text
    assert "4.20 €" in answer.text
    assert [button.text for button in answer.buttons] == ["Undo 1", "Undo 2"]


@pytest.mark.parametrize(
    ("language", "said", "texts"),
    [
        ("en", "stamps 7.25 and remind me at 18:00 to post it", ["stamps: 7.25", "Post it"]),
        ("en", "put rice on the shopping list and remind me at 18:00 to cook", ["rice", "Cook"]),
        ("en", "need to ring Ben at 18:00 and go at 17:00, remind me pls", ["Ring Ben", "“Go”"]),
        ("de", "Brot 4,20 und erinner mich um 18 Uhr ans Kochen", ["Brot: 4,20", "Kochen"]),
        (
            "de",
            "muss um 18 Uhr Ben anrufen und um 17 Uhr los, erinner mich",
            ["Ben anrufen", "Los"],
        ),
        ("es", "pan 4,20 y recuérdame a las 18 llamar a Ben", ["pan: 4,20", "Llamar a Ben"]),
        ("es", "quedar con Jo a las 18 y recoger la ropa a las 17, recuérdamelo", ["Jo”", "ropa"]),
        ("fr", "pain 4,20 et rappelle-moi à 18h d'appeler Ben", ["pain : 4,20", "Appeler Ben"]),
    ],
)
async def test_wishes_of_two_kinds_are_both_done(
    world: World, language: str, said: str, texts: list[str]
) -> None:
    world.install("expenses", "notes")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}
    world.clock = FastClock(start=datetime(2026, 11, 28, 10, 0, tzinfo=UTC), speed=1)
    async with world.running() as bot:
        await bot.ask(f"/language {language}")
        answer = await bot.ask(said)
        await settled(bot)

    assert [one for one in texts if one not in answer.text] == []
    assert len(answer.buttons) == 2


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ("milk 2.50 and put eggs on the shopping list", ["milk · 2.50", "eggs"]),
        ("Milch 2,50 und setz Eier auf die Einkaufsliste", ["Milch · 2,50", "Eier"]),
        ("leche 2,50 y pon huevos en la lista de la compra", ["leche · 2,50", "huevos"]),
        ("lait 2,50 et mets des œufs sur la liste de courses", ["lait · 2,50", "des œufs"]),
    ],
)
async def test_of_wishes_that_one_turn_cannot_do_each_is_offered(
    world: World, said: str, labels: list[str]
) -> None:
    world.install("remind", "expenses", "notes", "vocab")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}
    async with world.running() as bot:
        answer = await bot.ask(said)
        await tap(bot, answer, answer.buttons[0].text)
        await tap(bot, answer, answer.buttons[1].text)
        await settled(bot)
        made = await kept(bot)

    assert [button.text.partition(": ")[2] for button in answer.buttons] == labels
    assert sorted(made) == ["entries", "spendings"]
