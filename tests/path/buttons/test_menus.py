"""Menus answer at once, in the person's language, and no model is asked. Source: issue 5.

The original's `menu` never matched, and pages of different packs overwrote each other
(reference, §13 B 8).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from aouo.emulator import FAMILY, ChatMessage
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, BEN, Running, World

US = "@aouo_try_bot"
PAGES: list[dict[str, Any]] = [
    {
        "id": "home",
        "title": "Words",
        "text": "What now?",
        "rows": [
            [{"text": "List", "callback": "nav:list"}, {"text": "Top", "callback": "menu"}],
            [{"text": "Add", "callback": "skill:add"}, {"text": "Ask", "callback": "surprise me"}],
        ],
    },
    {
        "id": "list",
        "title": "All words",
        "sql": "SELECT word, meaning, seen FROM words ORDER BY word",
        "row": "{word}: {meaning} ({seen}) {nobody}",
        "empty": "No words yet.",
        "rows": [[{"text": "Back", "callback": "nav:home"}]],
    },
    {"id": "broken", "title": "Broken", "sql": "SELECT nothing FROM nowhere", "row": "{x}"},
]
GERMAN = {
    "Lexicon": "Wörterbuch",
    "Keeps words": "Merkt sich Wörter",
    "Words": "Wörter",
    "What now?": "Was jetzt?",
    "List": "Liste",
    "All words": "Alle Wörter",
    "{word}: {meaning} ({seen}) {nobody}": "{word} heißt {meaning}",
    "No words yet.": "Noch keine Wörter.",
}
SCHEMA = "CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY, meaning TEXT, seen REAL);\n"


def write(world: World, name: str, *, pages: list[dict[str, Any]] | None = None) -> None:
    """A pack with a menu, in two languages."""
    folder = world.home.packs / name
    skill = folder / "skills" / "add"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: add\ndescription: Adds\n---\n\nAdd a word.\n")
    (folder / "i18n").mkdir()
    (folder / "i18n" / "de.json").write_text(json.dumps(GERMAN))
    (folder / "schema.sql").write_text(SCHEMA)
    (folder / "pack.yml").write_text(
        f"name: {name}\nversion: 0.1.0\ndisplay_name: {name.title()}\n"
        "description: Keeps words\nprovided_skills: [add]\n"
        "schema: {owned_tables: [words], scope: person}\n"
        + ("" if pages == [] else "fast_paths: {menu: menu.json, i18n: i18n}\n")
    )
    if pages != []:
        (folder / "menu.json").write_text(json.dumps(PAGES if pages is None else pages))


@pytest.fixture(autouse=True)
def lexicon(world: World) -> None:
    write(world, "lexicon")


def speaks(world: World, language: str) -> None:
    """Ada's Telegram is in that language."""
    people = world.emulator.world.people
    people[ADA] = replace(people[ADA], language_code=language)


def keeps(world: World, *rows: tuple[str, str | None, float]) -> None:
    """The model puts these rows in and is done."""
    world.model.calls(
        *(
            CallPart(
                "persist",
                {"action": "save", "data": {"word": word, "meaning": meaning, "seen": seen}},
            )
            for word, meaning, seen in rows
        )
    )
    world.model.say("kept")


async def tap(
    bot: Running, shown: ChatMessage, label: str, *, user: int = ADA, **raw: Any
) -> dict[str, Any]:
    (data,) = [button.data for button in shown.buttons if button.text == label]
    return await bot.people.tap(user, shown.chat_id, shown.id, data, **raw)


async def until_text(world: World, message: ChatMessage, beginning: str) -> ChatMessage:
    """Wait until a message reads so."""

    async def look() -> ChatMessage | None:
        found = await world.people.messages(message.chat_id)
        return next((m for m in found if m.id == message.id and m.text.startswith(beginning)), None)

    return await world.people.until(look)


async def test_menu_opens_the_first_page_and_a_tap_turns_it_into_another(world: World) -> None:
    keeps(world, ("Baum", "tree", 3.0), ("Haus", None, 0.5))
    async with world.running() as bot:
        await bot.ask("keep them")
        asked = len(world.model.requests)
        home = await bot.ask("/menu")
        await tap(bot, home, "List")
        listed = await until_text(world, home, "All words")
        await tap(bot, listed, "Back")
        back = await until_text(world, home, "Words")
        sessions = await bot.rows("SELECT id FROM sessions")

    assert home.text == "Words\n\nWhat now?"
    assert home.raw["entities"] == [{"type": "bold", "offset": 0, "length": 5}]
    assert [b.data for b in home.buttons] == ["nav:list", "menu", "skill:add", "surprise me"]
    assert listed.text == "All words\n\nBaum: tree (3) {nobody}\nHaus:  (0.5) {nobody}"
    assert (back.text, back.buttons) == (home.text, home.buttons)
    assert (len(world.model.requests), len(sessions)) == (asked, 1)


async def test_no_session_and_no_model_for_somebody_who_only_looks(world: World) -> None:
    async with world.running() as bot:
        home = await bot.ask("/menu")
        await tap(bot, home, "List")
        empty = await until_text(world, home, "All words")

        assert await bot.rows("SELECT id FROM sessions") == []

    assert empty.text == "All words\n\nNo words yet."
    assert world.model.requests == []


@pytest.mark.parametrize("language", ["de", "de-AT", "de_ch"])
async def test_pages_speak_the_persons_language(world: World, language: str) -> None:
    speaks(world, language)
    world.clock = clock = FastClock(speed=1.0)
    keeps(world, ("Baum", "tree", 3.0))
    async with world.running() as bot:
        first = await bot.ask("/menu")
        await tap(bot, first, "Liste")
        empty = await until_text(world, first, "Alle Wörter")
        await bot.ask("keep it")
        await tap(bot, empty, "Back")
        again = await until_text(world, first, "Wörter")
        clock.jump(5)
        await tap(bot, again, "Liste")
        listed = await until_text(world, first, "Alle Wörter\n\nBaum")
        other = await bot.ask("/menu", user=BEN)

    assert first.text == "Wörter\n\nWas jetzt?"
    assert [b.text for b in first.buttons] == ["Liste", "Top", "Add", "Ask"]
    assert empty.text == "Alle Wörter\n\nNoch keine Wörter."
    assert listed.text == "Alle Wörter\n\nBaum heißt tree"
    assert other.text == "Words\n\nWhat now?"


async def test_a_page_does_not_wait_behind_a_running_turn(world: World) -> None:
    """It only reads, and belongs to the pack of its message."""
    async with world.running() as bot:
        home = await bot.ask("/menu")
        world.model.stall(text="Slowly")
        await bot.people.say(ADA, ADA, "think")
        await world.model.stalled.wait()
        answer = await tap(bot, home, "List")
        shown = await until_text(world, home, "All words")
        world.model.release.set()
        await said(world, "Slowly")

    assert shown.text == "All words\n\nNo words yet."
    assert answer == {"text": "", "show_alert": False}


async def test_a_skills_button_begins_a_session_with_it_and_the_menu_stays(world: World) -> None:
    async with world.running() as bot:
        home = await bot.ask("/menu")
        await tap(bot, home, "Add")
        await said(world, "[callback] skill:add")
        await settled(bot)
        await tap(bot, home, "Ask")
        await said(world, "[callback] surprise me")
        await settled(bot)
        turns = await bot.rows("SELECT skill FROM turns ORDER BY id")
        shown = next(m for m in await world.people.messages(ADA) if m.id == home.id)

    assert turns[0]["skill"] == "lexicon:add"
    assert "Add a word." in str(world.model.requests[0]["messages"][0])
    assert (shown.text, shown.buttons) == (home.text, home.buttons)


async def test_a_page_of_another_pack_says_which_and_what_to_do(world: World) -> None:
    write(world, "atlas")
    world.clock = clock = FastClock(speed=1.0)
    async with world.running() as bot:
        await bot.ask("/use lexicon")
        home = await bot.ask("/menu")
        await bot.ask("/use atlas")
        await tap(bot, home, "List")
        await said(
            world, "This menu is of “lexicon”, and “atlas” answers here. Change: /use lexicon"
        )
        await bot.ask("/use lexicon")
        clock.jump(5)  # the same tap at once would be a finger that was too quick
        await tap(bot, home, "List")
        await until_text(world, home, "All words")

    assert world.model.requests == []


async def test_a_page_that_is_gone_since_is_the_first_one_with_a_line(world: World) -> None:
    async with world.running() as bot:
        home = await bot.ask("/menu")
    (world.home.packs / "lexicon" / "menu.json").write_text(json.dumps(PAGES[:1]))
    async with world.running() as bot:
        await tap(bot, home, "List")
        shown = await until_text(world, home, "That page is not there any more")

    assert shown.text.endswith("this is the first one.\n\nWords\n\nWhat now?")
    assert shown.raw["entities"] == [{"type": "bold", "offset": 57, "length": 5}]


async def test_a_menu_that_is_gone_since_is_an_old_button(world: World) -> None:
    async with world.running() as bot:
        home = await bot.ask("/menu")
    (world.home.packs / "lexicon" / "menu.json").write_text("[]")
    async with world.running() as bot:
        await tap(bot, home, "List")
        await said(world, "This button is from an earlier time and does nothing any more.")


async def test_rows_that_cannot_be_read_are_said_and_logged(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    async with world.running() as bot:
        home = await bot.ask("/menu")
        await bot.people.tap(ADA, ADA, home.id, "nav:broken")
        shown = await until_text(world, home, "Broken")

    assert shown.text.endswith("could not be read. The owner finds out why in the log.")
    assert "menu_page_failed" in capsys.readouterr().out


async def test_what_a_row_holds_is_never_formatted_and_never_too_long(world: World) -> None:
    keeps(
        world,
        ("a*b*_c_", "<b>\n" + "x" * 500, 1e300),
        *((f"w{n}", "y" * 400, n) for n in range(30)),
    )
    async with world.running() as bot:
        await bot.ask("keep them")
        home = await bot.ask("/menu")
        await tap(bot, home, "List")
        listed = await until_text(world, home, "All words")

    lines = listed.text.splitlines()[2:]
    assert lines[0].startswith("a*b*_c_: <b> xxx")
    assert max(map(len, lines)) < 250
    assert len(lines) <= 20
    assert [entity["type"] for entity in listed.raw["entities"]] == ["bold"]


async def test_each_owner_sees_their_own_rows(world: World) -> None:
    keeps(world, ("Baum", "tree", 3.0))
    async with world.running() as bot:
        await bot.ask("keep it")
        for user, chat in ((BEN, BEN), (ADA, FAMILY)):
            await bot.people.say(user, chat, f"/menu{US}")
            home = await bot.people.next_message(chat, contains="What now?")
            await tap(bot, home, "List", user=user)
            listed = await until_text(world, home, "All words")

            assert listed.text == "All words\n\nNo words yet."


async def test_a_page_that_the_model_offers_opens_in_its_message(world: World) -> None:
    wish = {"type": "keyboard", "text": "Look:", "buttons": [["Words|nav:list"]]}
    world.model.calls(CallPart("msg", wish))
    world.model.say("shown")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        shown = await bot.people.next_message(ADA, contains="Look:")
        await said(world, "shown")
        await settled(bot)
        await tap(bot, shown, "Words")
        await until_text(world, shown, "All words")


async def test_a_tap_that_a_question_does_not_carry_leaves_the_question_as_it_is(
    world: World,
) -> None:
    """Found by `test_interleaved_events.py`: a page stood over it, and nobody could answer."""
    wish = {"message": "Which?", "options": ["red", "green"]}
    world.model.calls(CallPart("clarify", wish))
    world.model.say("chosen")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        asked = await bot.people.next_message(ADA, contains="Which?")
        await bot.people.tap(ADA, ADA, asked.id, "nav:nothing")
        await bot.people.next_message(ADA, contains="this is the first one.")
        await tap(bot, await until_text(world, asked, "Which?"), "red")
        await said(world, "chosen")


async def test_a_pack_without_a_menu_says_so_and_help_does_not_name_it(world: World) -> None:
    write(world, "plain", pages=[])
    async with world.running() as bot:
        which = await bot.ask("/menu")
        await bot.ask("/use plain")
        none = await bot.ask("/menu")
        help_plain = await bot.ask("/help")
        await bot.ask("/use lexicon")
        help_menu = await bot.ask("/help")

    assert which.text == "Which pack shall answer here?"
    assert none.text == "“plain” has no menu. Just write, or see /help."
    assert "/menu" not in help_plain.text
    assert "/menu – " in help_menu.text


async def test_the_picker_and_use_speak_the_persons_language(world: World) -> None:
    write(world, "atlas")
    speaks(world, "de")
    async with world.running() as bot:
        picker = await bot.ask("/pack")
        used = await bot.ask("/use lexicon")
        other = await bot.ask("/use lexicon", user=BEN)
        await eventually(lambda: _has(world, "lexicon"))

    assert [b.text for b in picker.buttons] == ["Atlas", "Wörterbuch"]
    assert used.text == "Hier antwortet jetzt „lexicon“.\nWörterbuch: Merkt sich Wörter"
    assert other.text == "“lexicon” answers here now."


async def _has(world: World, text: str) -> bool:
    return any(text in answer for answer in await answers(world))
