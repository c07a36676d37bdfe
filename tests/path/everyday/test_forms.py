"""An answer that fits the open question of an action is its answer; a phrase leaves the question.
Source: issue 43 item 10."""

from __future__ import annotations

import pytest

from tests.path.looking import settled
from tests.path.world import ADA, Running, World


@pytest.fixture(autouse=True)
def packs(world: World) -> None:
    world.install("remind", "expenses", "notes", "vocab")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}


async def reminders(bot: Running) -> list[tuple[str, bool]]:
    """What comes, each with whether it is for once."""
    rows = await bot.rows("SELECT say, text FROM schedules WHERE origin <> 'default'")
    return [(str(row["say"]), str(row["text"])[:4].isdecimal()) for row in rows]


@pytest.mark.parametrize(
    ("language", "answers"),
    [
        ("en", ("remind me", "tea", "in 20 minutes")),
        ("de", ("remind me", "tea", "in 20 minutes")),
        ("de", ("erinnere mich", "Tee", "in 20 Minuten")),
        ("en", ("erinnere mich", "Tee", "in 20 Minuten")),
        ("en", ("remind me to drink", "tomorrow")),
        ("en", ("remind me to drink", "at 18:30")),
    ],
)
async def test_a_form_takes_its_own_examples(
    world: World, language: str, answers: tuple[str, ...]
) -> None:
    async with world.running() as bot:
        await bot.ask(f"/language {language}")
        *questions, last = answers
        for said in questions:
            await bot.ask(said)
        answer = await bot.ask(last)
        await settled(bot)
        made = await reminders(bot)

    assert "⏰" in answer.text
    assert [once for _, once in made] == [True]


async def test_an_amount_answers_how_much_and_is_no_expense_of_its_own(world: World) -> None:
    async with world.running() as bot:
        assert (await bot.ask("new expense")).text.endswith("?")
        assert (await bot.ask("12.50 €")).text.endswith("?")
        assert "12.50 €" in (await bot.ask("lunch")).text


async def test_a_phrase_leaves_the_question_and_that_is_told(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("remind me to drink tea")
        before = len(await bot.people.messages(ADA))
        await bot.ask("note: milk")
        await settled(bot)
        after = [one.text for one in (await bot.people.messages(ADA))[before:]]

        assert any("I do not ask any more: When?" in one for one in after)
        assert any(one.startswith("Saved: “milk”") for one in after)
        assert await reminders(bot) == []
