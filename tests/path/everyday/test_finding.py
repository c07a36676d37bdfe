"""What was kept is found by how people ask for it, and changed by what they call it, without a
model. Source: issue 43."""

from __future__ import annotations

import pytest

from aouo.words.catalogue import text
from tests.path.buttons.test_menus import tap
from tests.path.looking import settled
from tests.path.world import World

FOUND = [
    ("note: passport is in the blue drawer", "where did I put my passport?", "blue drawer"),
    ("note: the drill is with Tom", "who has the drill?", "with Tom"),
    ("note: wifi password is hunter2", "what was the wifi password again?", "hunter2"),
    ("notiz: Der Reisepass liegt im Schrank", "wo ist mein Reisepass?", "im Schrank"),
    ("notiz: Bohrmaschine an Tom verliehen", "wer hat meine Bohrmaschine?", "Tom"),
    ("notiz: Überweisung an den Vermieter", "habe ich etwas zu überweisung notiert?", "Vermieter"),
    ("note: ollie takes a size 31", "what shoe size is ollie", "size 31"),
    ("note: boiler is from 2014", "how old is the boiler?", "2014"),
    ("notiz: tor code 5512", "welchen code hat das tor", "5512"),
    ("nota: lucia calza un 37", "q numero calza lucia", "calza un 37"),
    ("note: léo chausse du 28", "il chausse du combien léo", "du 28"),
    ("parapluie = Regenschirm", "was hieß parapluie nochma", "Regenschirm"),
    ("notiz: Treffen im Café Krümel", "wo ist das cafe krumel?", "Treffen"),
]


@pytest.fixture(autouse=True)
def packs(world: World) -> None:
    world.install("remind", "expenses", "notes", "vocab")
    world.config = {
        "provider": {"backend": "none"},
        "packs": {"default": "notes"},
        "telegram": {"message_batch_ms": 0},
    }


async def test_questions_after_what_was_kept_are_answered_from_it(world: World) -> None:
    wrong: list[str] = []
    async with world.running() as bot:
        for kept, question, answer in FOUND:
            await bot.ask(kept)
            found = await bot.ask(question)
            if answer not in found.text:
                wrong.append(f"{question!r}: {found.text!r}")
        nothing = await bot.ask("where did I put my umbrella?")

    assert not wrong, "\n".join(wrong)
    assert "umbrella" in nothing.text
    assert not nothing.text.startswith(text("actions.no-model"))


async def test_a_question_that_shares_little_with_what_is_kept_is_not_answered_from_it(
    world: World,
) -> None:
    async with world.running() as bot:
        await bot.ask("note: the trip to Berlin costs 80")
        declined = await bot.ask("who won the cup final in berlin")
        near = await bot.ask("how long is the trip with the coach")

    assert declined.text.startswith(text("actions.no-model"))
    assert near.text.startswith(text("actions.nearly-kept"))


@pytest.mark.parametrize(
    ("language", "put", "ask", "off", "left"),
    [
        (
            "en",
            "put milk, 1,5 l juice and bread on the list",
            "what do we need",
            "got the milk",
            "bread",
        ),
        (
            "de",
            "schreib Milch und Brot auf die Liste",
            "was steht aufm zettel",
            "Milch hab ich",
            "Brot",
        ),
        ("es", "añade leche y pan a la compra", "q me falta comprar", "tacha la leche", "pan"),
        (
            "fr",
            "ajoute du lait et du pain à la liste",
            "il reste quoi à acheter",
            "barre le lait",
            "pain",
        ),
    ],
)
async def test_each_thing_on_a_list_is_ticked_off_by_itself(
    world: World, language: str, put: str, ask: str, off: str, left: str
) -> None:
    async with world.running() as bot:
        await bot.ask(f"/language {language}")
        await bot.ask(put)
        ticked = await bot.ask(off)
        shown = await bot.ask(ask)

    assert text("actions.no-model") not in ticked.text
    assert left.casefold() in shown.text.casefold()
    assert len(shown.text.splitlines()) <= 4
    assert not any(word in shown.text.casefold() for word in ("milk", "milch", "leche", "lait"))


async def test_a_note_that_is_on_no_list_is_not_ticked_off(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("note: milk teeth of Ada")
        refused = await bot.ask("cross off milk teeth")
        kept = await bot.ask("find milk teeth")

    assert "no list" in refused.text
    assert "Ada" in kept.text


async def test_two_notes_on_two_lines_are_two(world: World) -> None:
    async with world.running() as bot:
        two = await bot.ask("note: call the bank\nnote: bins on monday")
        one = await bot.ask("note: for the cake\nflour\neggs")

    assert "call the bank" in two.text
    assert len(two.buttons) == 2
    assert "flour" in one.text
    assert len(one.buttons) == 1


async def test_one_that_is_the_only_one_is_not_asked_for(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("remind me tomorrow at 8 to water the plants")
        reminder = await bot.ask("delete my reminder")
        await bot.ask("lunch 9 €")
        expense = await bot.ask("remove that last expense")

    assert reminder.text.startswith("Removed: Water the plants")
    assert expense.text.startswith("The newest is deleted.")


@pytest.mark.parametrize(
    "wish", ["delete all my reminders", "alle Erinnerungen löschen", "lösche alle Erinnerungen"]
)
async def test_all_reminders_go_after_a_yes_to_their_number_and_come_back(
    world: World, wish: str
) -> None:
    async with world.running() as bot:
        await bot.ask("remind me tomorrow at 8 to water the plants")
        await bot.ask("remind me every Monday at 9 to run")
        before = await bot.ask("my reminders")
        question = await bot.ask(wish)
        gone = await bot.ask("Yes")
        none = await bot.ask("my reminders")
        await tap(bot, gone, "Undo")
        await settled(bot)
        after = await bot.ask("my reminders")
        await bot.ask(wish)
        await bot.ask("No")
        kept = await bot.ask("my reminders")

    assert question.text == "Remove all reminders (2)?"
    assert gone.text.startswith("Removed: 2")
    assert "Nothing is planned" in none.text
    assert before.text == after.text == kept.text
    assert "↻ every Monday at 09:00" in before.text
