"""What is kept of somebody is shown to them, and is nowhere in the home after their yes.

Source: issue 29, "Forget me".
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from aouo.emulator import FAMILY
from aouo.words.catalogue import text
from tests.path.dashboard.chatting import WebChat
from tests.path.dashboard.looking import dashboard
from tests.path.going_out.test_long_answers import file_of
from tests.path.looking import settled
from tests.path.people.test_letting_in import tapped
from tests.path.world import ADA, BEN, Running, World

SAID = ("quinces", "medlars", "loquats")
"""Words that nothing but Ben says."""


@pytest.fixture(autouse=True)
def notes_are_there(world: World) -> None:
    world.install("notes")
    world.config = {"telegram": {"allowed_user_ids": [ADA, BEN]}}


def places_of(world: World, word: str) -> list[Path]:
    """The files of the home that hold a word, in their content or their name."""
    raw = word.encode()
    home = world.home.path
    found = [file for file in home.rglob("*") if file.is_file() and file != world.home.log_file]
    return [file for file in found if raw in file.read_bytes() or word in file.name]


async def speaks(world: World, bot: Running, person: int, word: str) -> None:
    """Somebody tells a model and an app something, in private and in a group."""
    world.model.say(f"You like {word}.")
    await bot.people.say(person, person, f"I like {word}")
    await bot.people.next_message(person, contains=f"You like {word}")
    await bot.people.say(person, person, f"note: buy {word}")
    await settled(bot)
    world.model.say(f"So do I, {word} too.")
    await bot.people.say(person, FAMILY, f"@aouo_try_bot do you like {word}?")
    await settled(bot)


async def test_what_somebody_said_is_shown_and_gone_and_what_others_said_stays(
    world: World,
) -> None:
    word = SAID[0]
    async with world.running() as bot:
        await speaks(world, bot, ADA, "medlars")
        await speaks(world, bot, BEN, word)
        folder = world.home.pack_data / "notes" / f"tg_{BEN}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "USER.md").write_text(f"Eats {word}")
        await bot.people.say(BEN, BEN, "/forget")
        asked = await bot.people.next_message(BEN, contains=text("forget.shown")[:30])
        _, shown = file_of(world.emulator, asked.raw)
        content = f"{word} and more".encode()
        world.model.say("I see.")
        await bot.people.send_file(
            BEN, FAMILY, "document", content, name="list.txt", caption="@aouo_try_bot look"
        )
        await bot.people.next_message(FAMILY, contains="I see.")
        await settled(bot)
        before = places_of(world, word)
        done = await tapped(bot, asked, text("forget.button"), by=BEN)
        await bot.people.next_message(BEN, contains=text("forget.erased")[:20])
        await settled(bot)
    assert done
    assert {"I like quinces", "Eats quinces"} <= set(re.findall(r"(?:I like|Eats) \w+", shown))
    assert "buy quinces" in shown
    assert "medlars" not in shown
    assert len(before) > 1
    assert any(world.home.media in file.parents for file in before)
    assert places_of(world, word) == []
    assert len(places_of(world, "medlars")) > 1
    async with world.running() as bot:  # the bot goes on with both
        await speaks(world, bot, ADA, "apples")
        await speaks(world, bot, BEN, "pears")


async def test_what_the_bot_quoted_of_them_in_a_group_is_gone_too(world: World) -> None:
    """Source: issue 44, number 16."""
    word = SAID[0]
    world.install("remind")
    async with world.running() as bot:
        await bot.people.say(BEN, FAMILY, f"@aouo_try_bot {word} for whom?")
        quoted = await bot.people.next_message(FAMILY, contains=word)
        await settled(bot)
        before = await bot.rows(f"SELECT id FROM deliveries WHERE body LIKE '%{word}%'")
        await bot.people.tap(BEN, FAMILY, quoted.id, quoted.buttons[0].data)
        await settled(bot)
        await bot.people.say(BEN, BEN, "/forget yes")
        await bot.people.next_message(BEN, contains=text("forget.erased")[:20])
        await settled(bot)
        after = await bot.rows(f"SELECT key FROM deliveries WHERE body LIKE '%{word}%'")

    assert before
    assert after == []


SHARED = """
name: lists
version: 0.1.0
display_name: Lists
permissions: {database: true}
schema: {scope: shared}
"""


async def test_the_owner_asks_it_for_others_and_of_a_shared_app_only_their_rows_go(
    world: World,
) -> None:
    pack = world.home.packs / "lists"
    pack.mkdir()
    (pack / "pack.yml").write_text(SHARED)
    schema = "CREATE TABLE items (id INTEGER PRIMARY KEY, person TEXT, text TEXT);\n"
    (pack / "schema.sql").write_text(schema)
    file = world.home.pack_database("lists")
    async with world.running() as bot:
        with closing(sqlite3.connect(file)) as opened:
            opened.execute(schema)
            rows = [(str(ADA), "figs"), (str(BEN), SAID[2]), ("", "plums")]
            opened.executemany("INSERT INTO items (person, text) VALUES (?, ?)", rows)
            opened.commit()
        await bot.people.say(BEN, BEN, f"/forget {ADA} yes")
        refused = await bot.people.next_message(BEN, contains=text("forget.owners"))
        await bot.people.say(BEN, FAMILY, "/forget@aouo_try_bot")
        elsewhere = await bot.people.next_message(FAMILY, contains=text("forget.in-private"))
        await bot.people.say(ADA, ADA, f"/forget {BEN}")
        asked = await bot.people.next_message(ADA, contains=text("forget.shown")[:30])
        _, shown = file_of(world.emulator, asked.raw)
        await tapped(bot, asked, text("forget.button"))
        await bot.people.next_message(ADA, contains=text("forget.erased")[:20])
        with closing(sqlite3.connect(file)) as opened:
            left = [row[0] for row in opened.execute("SELECT text FROM items")]

    assert refused
    assert elsewhere
    assert SAID[2] in shown
    assert "figs" not in shown
    assert left == ["figs", "plums"]


async def test_the_owners_page_and_terminal_are_theirs_too(world: World) -> None:
    async with dashboard(world) as shown:
        chat = WebChat(shown, "notes")
        await chat.say(f"note: buy {SAID[1]}")
        await settled(shown.bot)
        before = places_of(world, SAID[1])
        await chat.say("/forget yes")
        await settled(shown.bot)
        await shown.bot.ask("hello")
    after = places_of(world, SAID[1])

    assert before
    assert after == []
