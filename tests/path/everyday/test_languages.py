"""People are spoken to in their language: that of their Telegram, or the one they choose."""

from __future__ import annotations

import itertools

from aouo.words.catalogue import speaking, text
from tests.path.looking import settled
from tests.path.world import ADA, World


async def test_a_person_chooses_and_takes_it_back(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        german = await bot.ask("/language Deutsch")
        assert german.text == "Ich spreche Deutsch mit dir."
        assert (await bot.ask("/retry")).text.startswith("Hier gibt es nichts")
        assert (await bot.ask("/language klingon")).text.startswith("„klingon“ spreche ich nicht")
        assert (await bot.ask("/language -")).text == "I speak English with you."


async def test_it_outlives_a_restart_and_what_begins_by_itself_speaks_it(world: World) -> None:
    world.install("notes")
    world.config = {"provider": {"backend": "none"}}
    async with world.running() as bot:
        await bot.ask("/language de")
    async with world.running() as bot:
        with speaking("de"):
            declined = text("actions.no-model").split("„")[0]
        assert (await bot.ask("wie tief ist das Meer?")).text.startswith(declined)
        listed = await bot.people.calls("setMyCommands")
        await settled(bot)

    assert {str(one["params"].get("language_code", "")) for one in listed} >= {"", "de"}
    assert ADA


async def test_small_talk_is_answered_in_the_language_of_the_words(world: World) -> None:
    """And never twice in the same words."""
    world.config = {"provider": {"backend": "none"}}
    async with world.running() as bot:
        heard = [(await bot.ask(word)).text for word in ("Danke!", "danke", "Dankeschön", "thanks")]

    assert all(one != then for one, then in itertools.pairwise(heard))
    assert set(heard[:3]) <= {"Gern geschehen.", "Jederzeit.", "Gerne."}
    assert heard[3] in {"You are welcome.", "Any time.", "Gladly."}
