"""For ten minutes the last act is known: a correction changes it, once, and can be put back.
Source: issue 43."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import pytest
import yaml

from aouo.emulator import FAMILY
from aouo.words.catalogue import text
from tests.fakes.clock import FastClock
from tests.path.buttons.test_menus import tap
from tests.path.looking import settled
from tests.path.world import ADA, BEN, Running, World

Rows: TypeAlias = dict[str, list[str]]
PUTS_BACK = (
    "Отменить",
    "Повторить",
    "撤销",
    "重做",
    "Undo",
    "Redo",
    "Annuler",
    "Rétablir",
    "Deshacer",
    "Rehacer",
    "Zurücknehmen",
    "Doch wieder",
)
BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 3, 4, 11, 0, tzinfo=UTC)
"""A Wednesday, noon in Berlin."""
TABLE: dict[str, list[list[Any]]] = yaml.safe_load(
    (Path(__file__).parent / "corrections.yml").read_text("utf-8")
)
TABLES = {
    "entries": ("notes", "SELECT text FROM entries ORDER BY id"),
    "spendings": (
        "expenses",
        "SELECT printf('%g %s ', amount, currency) || what FROM spendings ORDER BY id",
    ),
    "words": ("vocab", "SELECT word || ' = ' || meaning FROM words ORDER BY rowid"),
}


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("remind", "expenses", "notes", "vocab")
    world.config = {
        "provider": {"backend": "none"},
        "cron": {"timezone": "Europe/Berlin"},
        "packs": {"default": "notes"},
        "telegram": {"message_batch_ms": 0},
    }
    world.clock = clock = FastClock(start=NOON, speed=1)
    return clock


async def kept(bot: Running, entries: str = "") -> Rows:
    """All rows of packs, and what is coming with its local time."""
    rows: dict[str, list[str]] = {}
    for table, (pack, sql) in TABLES.items():
        bot.app.shared.stores.open(pack, f"tg_{ADA}")
        with closing(sqlite3.connect(bot.app.shared.stores.file(pack, f"tg_{ADA}"))) as file:
            rows[table] = [row[0] for row in file.execute((table == "entries" and entries) or sql)]
    made = await bot.rows("SELECT say, text FROM schedules WHERE origin <> 'default'")
    rows["reminders"] = [f"{row['say']} @ {_moment(row['text'])}" for row in made]
    return {table: found for table, found in rows.items() if found}


def since(before: Rows, after: Rows) -> dict[str, str]:
    """The rows that came."""
    counts = {table: Counter(rows) - Counter(before.get(table)) for table, rows in after.items()}
    return {table: " + ".join(count.elements()) for table, count in counts.items() if count}


def _moment(schedule: str) -> str:
    return schedule[5:16] if schedule.startswith("2026-") else schedule


@pytest.mark.parametrize("rows_of", [key for key in TABLE if key.startswith("corrected")])
async def test_a_correction_changes_the_last_act_and_is_put_back(
    world: World, clock: FastClock, rows_of: str
) -> None:
    wrong: list[str] = []
    async with world.running() as bot:
        await bot.ask(f"/language {rows_of.partition('-')[2] or 'en'}")
        for said, correction, rows in TABLE[rows_of]:
            clock.jump(11 * 60)
            before = await kept(bot)
            await bot.ask(said)
            first = await kept(bot)
            corrected = await bot.ask(correction)
            await settled(bot)
            after = since(before, await kept(bot))
            if after != rows:
                wrong.append(f"{said!r}, {correction!r}: {after} <- {corrected.text!r}")
            if label := next((one.text for one in corrected.buttons if one.text in PUTS_BACK), ""):
                await tap(bot, corrected, label)
                await settled(bot)
            if (undone := await kept(bot)) != first:
                wrong.append(f"{correction!r} put back by {label!r}: {since(before, undone)}")

    assert not wrong, "\n".join(wrong)


async def test_words_that_fit_nothing_of_the_last_act_change_nothing(
    world: World, clock: FastClock
) -> None:
    wrong: list[str] = []
    async with world.running() as bot:
        for said, words in TABLE["held"]:
            clock.jump(11 * 60)
            if said:
                await bot.ask(said)
            before = await kept(bot)
            answer = await bot.ask(words)
            await settled(bot)
            if (after := await kept(bot)) != before:
                wrong.append(f"{said!r}, {words!r}: {since(before, after)} <- {answer.text!r}")

    assert not wrong, "\n".join(wrong)


async def test_after_words_that_were_not_understood_it_is_asked_what_is_meant(
    world: World,
) -> None:
    async with world.running() as bot:
        await bot.ask("remind me tomorrow at 8 to call grandma")
        before = await kept(bot)
        await bot.ask("the vet wants to see the cat some time soon")
        asked = await bot.ask("no, at five")
        unchanged = await kept(bot)
        await tap(bot, asked, "scheduled: Call grandma · no, at five")
        await settled(bot)
        after = await kept(bot)

    assert asked.text == text("corrections.sure")
    assert unchanged == before == {"reminders": ["Call grandma @ 03-05T08:00"]}
    assert after == {"reminders": ["Call grandma @ 03-05T17:00"]}


async def test_the_last_act_is_the_last_one_also_where_the_clock_was_set_back(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        await bot.ask("remind me tomorrow at 8 to call grandma")
        clock.sleep_through(-60)
        await bot.ask("coffee 3.50 €")
        await bot.ask("sorry, it was 4.50")
        corrected = await kept(bot)
        undone = [await bot.ask(words) for words in ("undo", "undo", "undo", "undo")]
        left = await kept(bot)

    assert corrected["spendings"] == ["4.5 € coffee"]
    assert corrected["reminders"] == ["Call grandma @ 03-05T08:00"]
    assert "4.50" in undone[0].text
    assert "3.50" in undone[1].text
    assert "Call grandma" in undone[2].text
    assert undone[3].text == text("actions.no-undo")
    assert left == {}


async def test_words_that_are_edited_and_answered_again_take_the_place_of_the_old_ones(
    world: World,
) -> None:
    async with world.running() as bot:
        said = await bot.people.say(ADA, ADA, "lunch 9.80 €")
        await bot.people.next_message(ADA, contains="9.80")
        await bot.people.edit(ADA, ADA, said.id, "lunch 8.90 €")
        offer = await bot.people.next_message(ADA, contains=text("edits.too-late")[:20])
        await bot.people.tap(ADA, ADA, offer.id, offer.buttons[0].data)
        await bot.people.next_message(ADA, contains="8.90")
        await settled(bot)
        rows = await kept(bot)

    assert rows == {"spendings": ["8.9 € lunch"]}


async def test_an_act_is_known_for_ten_minutes_and_to_who_did_it(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        await bot.ask("lunch 9.80 €")
        before = await kept(bot)
        bens = await bot.ask("sorry, it was 12", user=BEN)
        clock.jump(601)
        late = await bot.ask("sorry, it was 12")
        after = await kept(bot)

    assert bens.text == late.text == text("corrections.nothing")
    assert after == before


async def test_what_was_changed_since_is_left_as_it_is(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("note: call Ben")
        await bot.ask("/undo")
        before = await kept(bot)
        told = await bot.ask("not Ben but Bill")
        after = await kept(bot)

    assert told.text == text("corrections.unsafe")
    assert after == before


async def test_what_a_tap_did_is_corrected_too_and_it_is_what_was_acted_on(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("note: milk")
        await bot.ask("note: bread")
        page = await bot.ask("my notes")
        await tap(bot, page, "📌 bread")
        await settled(bot)
        await bot.ask("the other one")
        rows = await kept(bot, "SELECT text FROM entries WHERE pinned")
        await bot.ask("remind me of it tomorrow at 8")
        reminded = (await kept(bot))["reminders"]
        await bot.ask("cancel that")
        left = await kept(bot)

    assert rows["entries"] == ["milk"]
    assert reminded == ["milk @ 03-05T08:00"]
    assert "reminders" not in left


async def test_in_a_group_a_correction_is_of_who_says_it(world: World) -> None:
    async with world.running() as bot:
        name = (await world.people.act("state"))["bot"]["username"]
        await bot.ask(f"/use@{name} remind", chat=FAMILY)
        await bot.ask(f"@{name} remind me tomorrow at 8 to buy bread", chat=FAMILY)
        bens = await bot.ask(f"@{name} no, at 9", chat=FAMILY, user=BEN)
        adas = await bot.ask(f"@{name} no, at 9", chat=FAMILY)
        reminders = (await kept(bot))["reminders"]

    assert bens.text == text("corrections.nothing")
    assert "09:00" in adas.text
    assert reminders == ["Buy bread @ 03-05T09:00"]


async def test_with_a_model_only_what_a_phrase_did_is_corrected_without_it(world: World) -> None:
    del world.config["provider"]
    world.model.say("Which one do you mean?")
    async with world.running() as bot:
        await bot.ask("lunch 9.80 €")
        corrected = await bot.ask("sorry, it was 12")
        rows = (await kept(bot))["spendings"]
        asked = await bot.ask("no, at 9")

    assert corrected.text.startswith("lunch: 12.00 €")
    assert rows == ["12 € lunch"]
    assert asked.text.startswith("Which one do you mean?")


MOVES = [
    ("en", ["dentist on Thursday at 15:00", "move the dentist to Friday"], "03-06 15:00"),
    ("en", ["sorry, Monday"], "03-09 15:00"),
    ("en", ["on Tuesday instead"], "03-10 15:00"),
    ("en", ["at 11 please"], "03-10 11:00"),
    ("en", ["make the dentist 4 pls", "actually nope, Friday"], "03-06 16:00"),
    ("de", ["verschieb den dentist bitte auf Montag", "um 5 bitte"], "03-09 17:00"),
    ("de", ["dentist bitte auf halb drei verschieben"], "03-09 14:30"),
    ("es", ["pasa el dentist por favor al martes", "no, mejor el viernes"], "03-06 14:30"),
    ("fr", ["décale le dentist stp à lundi", "nan mardi plutôt"], "03-10 14:30"),
    ("en", ["delete it"], ""),
]


async def test_a_reminder_that_was_moved_is_moved_on_from_where_it_is(world: World) -> None:
    wrong: list[str] = []
    async with world.running() as bot:
        for language, said, due in MOVES:
            await bot.ask(f"/language {language}")
            answers = [(await bot.ask(words)).text for words in said]
            await settled(bot)
            rows = await bot.rows(
                "SELECT next_due FROM schedules WHERE origin <> 'default' AND next_due <> ''"
            )
            moments = [datetime.fromisoformat(str(row["next_due"])) for row in rows]
            coming = ", ".join(f"{at.astimezone(BERLIN):%m-%d %H:%M}" for at in moments)
            if coming != due:
                wrong.append(f"{said!r}: {coming} <- {answers!r}")

    assert not wrong, "\n".join(wrong)


async def test_what_something_cost_is_corrected_in_another_language(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("kaffee 3,50")
        await bot.ask("der kaffee war 4 sorry")
        await settled(bot)
        rows = await kept(bot)

    assert rows == {"spendings": ["4  kaffee"]}
