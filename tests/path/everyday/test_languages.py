"""People are spoken to in their language: that of their Telegram, or the one they choose."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from aouo.facts import languages
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


ZAZU = {
    "spelling": "{name: Zazu, typed: {zh: ž}}",
    "talk": "{greeting: [zalu], halt: [zop]}",
    "sentences": """{talk: {greeting-1: Zalu bo!, greeting-2: Zalu bo!, greeting-3: Zalu bo!},
      actions: {button-undo: Zuruk}}""",
    "phrases": "{before: [zepli], reminders: ['žimi {when} zo {text}'], common: zo}",
    "claims": "{done: [zud], effects: zavi, claims: ['zu {effects}'], asks: zan}",
}


async def test_a_language_is_a_folder_and_nothing_else(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source: issue 43 item 13. What it does not say is said in English."""
    folder = tmp_path / "words"
    shutil.copytree(Path(str(languages.FOLDER)), folder)
    (folder / "zz").mkdir()
    for name, table in ZAZU.items():
        (folder / "zz" / f"{name}.yml").write_text(table, "utf-8")
    monkeypatch.setattr(languages, "FOLDER", folder)
    languages.forget()
    world.install("notes", "remind")
    world.config = {"provider": {"backend": "none"}}
    try:
        async with world.running() as bot:
            await bot.ask("/language Zazu")
            assert (await bot.ask("Zalu!")).text == "Zalu bo!"
            assert "Ta bo" in (await bot.ask("zepli zhimi 18:30 zo ta bo")).text
            noted = await bot.ask("note: ta")
            assert [button.text for button in noted.buttons] == ["Zuruk"]
            assert (await bot.ask("/help")).text
    finally:
        monkeypatch.undo()
        languages.forget()


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
