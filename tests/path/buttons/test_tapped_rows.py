"""A key that is tapped is that row, or it is gone. Source: issue 43, item 3."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from aouo.emulator import HOUSEHOLD, NOTES, ChatMessage
from aouo.words.catalogue import text
from tests.path.buttons.test_menus import tap
from tests.path.everyday.test_second_places import asked, tapped
from tests.path.looking import said, settled
from tests.path.world import ADA, Running, World


@pytest.fixture(autouse=True)
def packs(world: World) -> None:
    world.install("notes", "vocab")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}


def notes(bot: Running, tenant: str = f"tg_{ADA}") -> list[str]:
    """All notes, the oldest first."""
    bot.app.shared.stores.open("notes", tenant)
    with closing(sqlite3.connect(bot.app.shared.stores.file("notes", tenant))) as file:
        return [row[0] for row in file.execute("SELECT text FROM entries ORDER BY id")]


def keep(bot: Running, *texts: str, pack: str = "notes") -> None:
    bot.app.shared.stores.open(pack, f"tg_{ADA}")
    with closing(sqlite3.connect(bot.app.shared.stores.file(pack, f"tg_{ADA}"))) as file:
        sql = "INSERT INTO entries (text) VALUES (?)"
        if pack == "vocab":
            sql = "INSERT INTO words (word, meaning) VALUES (?, '-')"
        file.executemany(sql, [(one,) for one in texts])
        file.commit()


async def now(bot: Running, shown: ChatMessage) -> ChatMessage:
    await settled(bot)
    return next(one for one in await bot.people.messages(ADA) if one.id == shown.id)


async def bin_of(bot: Running, shown: ChatMessage, number: int) -> ChatMessage:
    """Tap the bin of a row, counted from 0, and return what the page says then."""
    bins = [button.data for button in shown.buttons if button.text == "🗑"]
    await bot.people.tap(ADA, shown.chat_id, shown.id, bins[number])
    return await now(bot, shown)


async def test_a_row_that_is_gone_takes_no_other_with_it(world: World) -> None:
    async with world.running() as bot:
        keep(bot, "milk", "call at 10")
        first, second = await bot.ask("my notes"), await bot.ask("my notes")
        await bin_of(bot, first, 1)
        twice = await bin_of(bot, second, 1)

        assert notes(bot) == ["call at 10"]
    assert twice.text.startswith("That one is gone.\n\nNewest\n")
    assert "milk" not in twice.text


async def test_a_new_row_with_an_old_key_is_not_the_old_one(world: World) -> None:
    async with world.running() as bot:
        keep(bot, "milk", "bread")
        first, second = await bot.ask("my notes"), await bot.ask("my notes")
        await bin_of(bot, first, 0)
        keep(bot, "call Ben")
        after = await bin_of(bot, second, 0)

        assert notes(bot) == ["milk", "call Ben"]
    assert after.text.startswith(text("actions.row-changed"))


async def test_any_row_of_many_long_ones_is_found(world: World) -> None:
    async with world.running() as bot:
        keep(bot, *(f"{number} " + "long " * 60 for number in range(72)), "Dentist at 5 pm")
        page = await bot.ask("my notes")
        for _ in range(14):
            await tap(bot, page, "›")
            page = await now(bot, page)
        assert "15 of 15" in page.text
        await bin_of(bot, page, 2)

        assert len(notes(bot)) == 72
        assert "Dentist at 5 pm" in notes(bot)


async def test_a_card_is_the_word_that_it_shows(world: World) -> None:
    async with world.running() as bot:
        keep(bot, "see", *(f"w{number}" for number in range(602)), "seesaw", pack="vocab")
        await bot.ask("/use vocab")
        page = await bot.ask("/learn")
        await tap(bot, page, "Show what it means")
        page = await now(bot, page)
        await tap(bot, page, "Good")
        rated = await now(bot, page)

    assert rated.text.startswith("“see” comes again on")


async def test_a_page_of_other_data_changes_nothing(world: World) -> None:
    there = {"chat": HOUSEHOLD, "thread": NOTES}
    async with world.running() as bot:
        keep(bot, "the key is under the mat")
        page, told = await asked(bot, "my notes", **there)
        await tapped(bot, told, "group-own")
        await asked(bot, "note: group's own", **there)
        await tap(bot, page, "🗑")
        await settled(bot)
        messages = await bot.people.messages(HOUSEHOLD, NOTES)
        shown = next(one for one in messages if one.id == page.id)

        assert notes(bot) == ["the key is under the mat"]
    assert shown.text.startswith(text("actions.other-data"))
    assert "group's own" in shown.text


async def test_what_is_typed_is_what_a_row_is_called(world: World) -> None:
    async with world.running() as bot:
        keep(bot, "3", "1", "2")
        await bot.ask("delete a note")
        done = await bot.ask("1")

        assert notes(bot) == ["3", "2"]
    assert done.text.startswith("Deleted: “1”.")


async def test_rows_that_are_called_alike_are_told_apart(world: World) -> None:
    async with world.running() as bot:
        keep(bot, "milk", "bread", "milk")
        question = await bot.ask("delete the note milk")
        labels = [button.text for button in question.buttons]
        await tap(bot, question, labels[1])
        await settled(bot)

        assert notes(bot) == ["bread", "milk"]
    assert len(set(labels)) == 2
    assert all(label.startswith("milk (") for label in labels)


@pytest.mark.parametrize("words", ["überweisung", "ÜBERWEISUNG", "uberweisung", "cafe krumel"])
async def test_a_note_is_found_however_its_letters_are_written(world: World, words: str) -> None:
    async with world.running() as bot:
        keep(bot, "Überweisung an den Vermieter", "Café Krümel")
        found = await bot.ask(f"find {words}")

    assert ("Krümel" if words.startswith("cafe") else "Vermieter") in found.text


SCHEMA = """
CREATE TABLE days (id INTEGER PRIMARY KEY, name TEXT, mood TEXT);
"""
ACTIONS = """
actions:
  rate:
    title: Rate the day
    arguments: {mood: {kind: choice, choices: [good, bad], ask: "How was it?"}}
    sql: INSERT INTO days (name, mood) VALUES ('today', :mood)
    answer: "Kept: {mood}"
    command: rate
  score:
    title: Score the day
    arguments: {mood: {kind: choice, choices: ["0", "1", "2", "3"], ask: "How many?"}}
    sql: INSERT INTO days (name, mood) VALUES ('today', :mood)
    answer: "Kept: {mood}"
    command: score
  drop:
    title: Forget a day
    arguments: {day: {kind: row, table: days, label: name, ask: "Which day?"}}
    sql: DELETE FROM days WHERE id = :day
    answer: "“{day}” is gone."
    confirm: "Forget {day}?"
    command: drop
"""
MENU = [
    {
        "id": "list",
        "title": "Days",
        "sql": "SELECT id, name, mood FROM days ORDER BY id",
        "row": "{mood}",
        "each": [
            {"text": "{name}", "callback": "do:drop:{id}"},
            *({"text": sign, "callback": "do:drop:{id}"} for sign in "abcd"),
        ],
        "rows": [[{"text": "More", "callback": f"do:{name}"}] for name in ("rate", "score") * 3],
    }
]


def days(world: World) -> None:
    folder = world.home.packs / "days"
    (folder / "i18n").mkdir(parents=True)
    (folder / "pack.yml").write_text(
        "name: days\nversion: 0.1.0\ndisplay_name: Days\ndescription: Rates days\n"
        "schema: {file: schema.sql, scope: person, owned_tables: [days]}\n"
        "fast_paths: {menu: menu.json, i18n: i18n}\n"
    )
    (folder / "schema.sql").write_text(SCHEMA)
    (folder / "actions.yml").write_text(ACTIONS)
    (folder / "menu.json").write_text(json.dumps(MENU))
    (folder / "i18n" / "de.json").write_text(json.dumps({"good": "gut", "bad": "schlecht"}))
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "days"}}


@pytest.mark.parametrize("taps", [True, False])
async def test_a_choice_is_made_in_the_persons_language(world: World, taps: bool) -> None:
    days(world)
    async with world.running() as bot:
        await bot.ask("/language de")
        question = await bot.ask("/rate")
        if taps:
            await tap(bot, question, "gut")
        else:
            await bot.people.say(ADA, ADA, "Gut")
        await said(world, "Kept: gut\n\n— days")
        kept = bot.app.shared.stores.open("days", f"tg_{ADA}").read("SELECT mood FROM days")

    assert kept == [{"mood": "good"}]


async def test_a_number_that_is_typed_is_the_option_that_is_called_so(world: World) -> None:
    days(world)
    async with world.running() as bot:
        await bot.ask("/score")
        assert (await bot.ask("2")).text.startswith("Kept: 2\n")


async def test_a_yes_is_asked_by_name_and_a_row_without_one_has_a_button(world: World) -> None:
    days(world)
    async with world.running() as bot:
        store = bot.app.shared.stores.open("days", f"tg_{ADA}")
        rows = "INSERT INTO days (name, mood) VALUES (NULL, 'calm'), ('Monday', 'good')"
        store.act([rows], {}, call_id="made", now="n")
        question = await bot.ask("/drop")
        labels = [button.text for button in question.buttons]
        await tap(bot, question, "Monday")
        await said(world, "Forget Monday?")

    assert labels == ["Monday", "(calm)"]


async def test_a_page_with_many_buttons_is_shown_in_parts(world: World) -> None:
    """26 rows of buttons, some without a label: Telegram refuses both."""
    days(world)
    async with world.running() as bot:
        store = bot.app.shared.stores.open("days", f"tg_{ADA}")
        made = "INSERT INTO days (name, mood) VALUES ('', 'm'), ('', 'm'), ('a', 'm'), ('b', 'm')"
        for number in range(10):
            store.act([made], {}, call_id=f"c{number}", now="n")
        page = await bot.ask("/menu")

    assert page.text.startswith("Days · 1 of 3\n")
    assert len(page.buttons) <= 100
    assert all(button.text for button in page.buttons)


async def test_a_note_as_long_as_a_message_can_be_deleted_and_come_back(world: World) -> None:
    async with world.running() as bot:
        keep(bot, "x" * 4_090)
        page = await bot.ask("my notes")
        after = await bin_of(bot, page, 0)
        assert notes(bot) == []
        await tap(bot, after, "Undo")
        await settled(bot)

        assert notes(bot) == ["x" * 4_090]
    assert after.text.startswith("Deleted: “xxx")
