"""The shipped packs as people use them: a week of words, notes found again, a draft sent as a file.

Source: issue 5, "Sample packs". What each call of a skill does is in tests/packs.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aouo.emulator.description import Upload
from aouo.plumbing.home import Home
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, ModelServer, Says, last_words
from tests.fakes.telegram import LocalTelegram
from tests.packs import sql_time
from tests.path.looking import said, settled
from tests.path.scripted import Chat, Lines, persist
from tests.path.world import ADA, BEN, Running, World

DAY_S = timedelta(days=1).total_seconds()
FIRST_REQUEST_BYTES = 6144
DUE = "SELECT word, meaning, example, hint, kind, lapses, left_today FROM due LIMIT 5"


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> FastClock:
    """Time for everybody, the databases of packs too."""
    clock = FastClock()
    sql_time.tell(monkeypatch, clock.now)
    return clock


@pytest.fixture
async def world(tmp_path: Path, clock: FastClock, lines: Lines) -> AsyncGenerator[World]:
    home = Home(tmp_path / "home")
    home.create()
    async with LocalTelegram() as emulator, ModelServer(lines) as model:
        world = World(home, emulator, model, clock=clock)
        yield world
        assert await emulator.client.violations() == []
        world.let_go()


@pytest.mark.parametrize("name", ["create", "notes", "vocab"])
async def test_the_first_request_with_a_pack_is_small(world: World, name: str) -> None:
    """At most 6 KB, tool schemas included. Source: design 1."""
    world.install(name)
    async with world.running() as bot:
        await bot.ask("Hello")
    body = json.dumps(world.model.requests[0], ensure_ascii=False, separators=(",", ":"))

    assert len(body.encode()) <= FIRST_REQUEST_BYTES


# Menus


async def menu_of(bot: Running, user: int, *taps: str) -> tuple[list[str], list[str]]:
    """The lines that `/menu` shows after these buttons are tapped, and its buttons."""
    shown = await bot.ask("/menu", user=user)
    await settled(bot)
    for label in taps:
        data = next(one.data for one in shown.buttons if one.text == label)
        await bot.people.tap(user, user, shown.id, data)
        await settled(bot)
        shown = next(m for m in await bot.people.messages(user) if m.id == shown.id)
    return list(filter(None, shown.text.split("\n"))), [one.text for one in shown.buttons]


async def test_a_german_person_reads_german_menus_with_their_own_rows(
    world: World, lines: Lines
) -> None:
    """Ada's Telegram is German, Ben's English; no model is asked, no row of the other is shown."""
    world.install("vocab")
    everybody = world.emulator.world.people
    everybody[ADA] = replace(everybody[ADA], language_code="de-AT")
    async with world.running() as bot:
        chat = Chat(world, bot, lines)
        await add(chat, "Baum", "laufen")
        await chat.turn(rate("Baum", "good"))
        asked = len(chat.requests)
        german, labels = await menu_of(bot, ADA)
        newest, _ = await menu_of(bot, ADA, "Neueste Wörter")
        english, words = await menu_of(bot, BEN)
        none, _ = await menu_of(bot, BEN, "Newest words")
        more_asked = len(chat.requests) - asked

    assert german == [
        "Wörter",
        "Jetzt fällig: 1",
        "Heute gefragt: 1",
        "Tage in Folge: 1",
        "Wörter: 2, davon sicher: 0",
    ]
    assert labels[:3] == ["Lernen", "Wort hinzufügen", "Neueste Wörter"]
    assert newest[1:] == ["laufen: meaning of laufen", "Baum: meaning of Baum"]
    assert english[-1] == "No words yet. Send me one."
    assert words[:3] == ["Study", "Add a word", "Newest words"]
    assert none[1:] == ["No words yet. Send me one."]
    assert more_asked == 0


# Vocab


async def add(chat: Chat, *words: str) -> None:
    rows = [{"word": word, "meaning": f"meaning of {word}"} for word in words]
    await chat.turn(*(persist("upsert", table="words", data=row) for row in rows))


async def due(chat: Chat) -> list[str]:
    """The words to ask now, in order; one that was forgotten has a "!"."""
    return [row["word"] + "!" * (row["kind"] == "again") for row in await chat.rows(DUE)]


def rate(word: str, grade: str) -> CallPart:
    return persist("save", table="reviews", data={"word": word, "grade": grade})


async def test_a_week_of_words_each_comes_when_it_is_due(
    world: World, clock: FastClock, lines: Lines
) -> None:
    """Intervals grow by themselves, a lapse begins anew; nobody but the database reckons a day."""
    world.install("vocab")
    both, baum, laufen = ["Baum", "laufen"], ["Baum"], ["laufen"]
    plan = [both, both, laufen, [], baum, laufen, [], []]
    seen: list[list[str]] = []
    async with world.running() as bot:
        chat = Chat(world, bot, lines)
        await add(chat, *both)
        for day, _ in enumerate(plan):
            seen.append(await due(chat))
            if day in (0, 1):
                await chat.turn(rate("laufen", "again"))
                assert (await due(chat))[-1] == "laufen!"
            if seen[-1]:
                await chat.turn(*(rate(word, "good") for word in seen[-1]))
                assert await due(chat) == []
            clock.jump(DAY_S)
        cards = await chat.rows("SELECT word, interval_days, lapses FROM cards ORDER BY word")

    assert seen == plan
    assert [tuple(row.values()) for row in cards] == [("Baum", 8, 0), ("laufen", 7, 1)]


async def test_a_card_is_one_message_with_a_hidden_meaning_and_a_rating_counts_once(
    world: World, lines: Lines
) -> None:
    world.install("vocab")
    card = CallPart(
        "msg",
        {
            "type": "keyboard",
            "text": "**Baum**\n||tree||",
            "buttons": [["Again|again Baum", "Good|good Baum"]],
        },
    )
    async with world.running() as bot:
        chat = Chat(world, bot, lines)
        await add(chat, "Baum")
        await chat.turn(card)
        shown = next(m for m in await bot.people.messages(ADA) if m.text == "Baum\ntree")
        await chat.turn(rate("Baum", "good"), tap=(shown, 1))
        heard = last_words(chat.asked)
        await chat.turn(rate("Baum", "good"))
        (after,) = await chat.rows("SELECT interval_days, reviews FROM cards")

    assert [mark["type"] for mark in shown.raw["entities"]] == ["bold", "spoiler"]
    assert heard == "[callback] good Baum"
    assert after == {"interval_days": 1, "reviews": 2}


# Notes


async def test_a_note_is_found_again_by_who_wrote_it_and_by_nobody_else(
    world: World, lines: Lines
) -> None:
    world.install("notes")
    find = "SELECT text FROM dated WHERE text LIKE ?"
    async with world.running() as bot:
        chat = Chat(world, bot, lines)
        await chat.turn(persist("save", data={"text": "The bike is at the station"}))
        of_ada = await chat.rows(find, "%bike%")
        before = len(world.model.requests)
        of_ben = await chat.rows(find, "%bike%", user=BEN)
        (summary,) = await chat.turn(persist("summary"), user=BEN)

    assert of_ada == [{"text": "The bike is at the station"}]
    assert of_ben == []
    assert [made["rows"] for made in summary["tables"].values()] == [0, 0]
    assert "station" not in json.dumps(world.model.requests[before:])


async def test_days_in_a_row_count_until_one_is_missed(
    world: World, clock: FastClock, lines: Lines
) -> None:
    world.install("notes")
    counted: list[int] = []
    async with world.running() as bot:
        chat = Chat(world, bot, lines)
        for writes in (True, True, True, False, False):
            if writes:
                await chat.turn(persist("save", data={"text": "a day"}))
            (row,) = await chat.rows("SELECT streak FROM progress")
            counted.append(row["streak"])
            clock.jump(DAY_S)

    assert counted == [1, 2, 3, 3, 0]


# Create


async def test_a_draft_is_made_of_materials_and_exported_as_a_file(
    world: World, lines: Lines
) -> None:
    world.install("create")
    body = "Meetings are a tax."
    post = {"title": "The meeting tax", "body": body, "state": "draft", "voice": "plain"}
    document = {"type": "document", "url": "posts/tax.md", "text": "The meeting tax"}
    async with world.running() as bot:
        chat = Chat(world, bot, lines)
        await chat.turn(persist("save", data={"content": "meetings are a tax"}))
        await chat.turn(
            persist("save", table="posts", data=post),
            persist("update", table="materials", where={"id": [1]}, data={"post_id": 1}),
        )
        lines.extend(
            (
                Says(calls=(CallPart("write_file", {"path": "posts/tax.md", "content": body}),)),
                Says(calls=(CallPart("msg", document),)),
                Says("Here it is."),
            )
        )
        await bot.people.say(ADA, ADA, "send it")
        await said(world, "Here it is.")
        sent = next(m.raw for m in await bot.people.messages(ADA) if "document" in m.raw)
        unused = await chat.rows("SELECT * FROM unused")
        uploaded = world.emulator.world.files[sent["document"]["file_id"]]

    assert isinstance(uploaded, Upload)
    assert (uploaded.content.decode(), sent["caption"]) == (body, "The meeting tax")
    assert unused == []
