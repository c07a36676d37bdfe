"""People are spoken to in their language: that of their Telegram, or the one they choose."""

from __future__ import annotations

import itertools

from aouo.words.catalogue import speaking, text
from tests.path.looking import eventually, settled
from tests.path.world import ADA, Running, World


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


async def test_what_nobody_asked_for_is_said_in_its_readers_language(world: World) -> None:
    """The card of a pack, and what the owner has to know."""
    world.install("notes")
    world.config = {"provider": {"backend": "none"}}
    async with world.running() as bot:
        await bot.ask("/language de")
        card = await bot.ask("/install vocab")
        assert card.text.startswith("Vokabeln (vocab) 1.")
        assert "Es darf" in card.text
        assert [button.text for button in card.buttons] == ["Installieren", "Nein"]
        world.home.config.write_text("{", "utf-8")
        await eventually(lambda: _told(bot, "config.json hat einen Fehler"))


async def _told(bot: Running, words: str) -> bool:
    return any(words in one.text for one in await bot.people.messages(ADA))
