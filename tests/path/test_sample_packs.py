"""The shipped packs as people use them: a week of words, notes found again, a draft sent as a file.

Source: issue 5, "Sample packs". What each call of a skill does is in tests/packs.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aouo.emulator import ChatMessage, Emulator
from aouo.emulator.description import Upload
from aouo.home import Home
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, ModelServer, Says
from tests.packs import sql_time
from tests.path.looking import said, settled
from tests.path.world import ADA, BEN, Running, World

DAY_S = timedelta(days=1).total_seconds()
FIRST_REQUEST_BYTES = 6144
DUE = "SELECT word, meaning, example, hint, kind, lapses, left_today FROM due LIMIT 5"


class Lines(deque[Says]):
    """What the model says next; with none left "ok", and so when it is asked for a title."""

    def __call__(self, body: dict[str, Any]) -> Says:
        return self.popleft() if body.get("tools") and self else Says("ok")


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
    async with Emulator() as emulator, ModelServer(lines) as model:
        yield World(home, emulator, model, clock=clock)
        assert await emulator.client.violations() == []


def persist(action: str, **arguments: Any) -> CallPart:
    return CallPart("persist", {"action": action, **arguments})


@dataclass
class Chat:
    """A conversation with the only pack that is there; the model says what a test tells it to."""

    world: World
    bot: Running
    lines: Lines
    turns: int = 0

    async def turn(
        self, *calls: CallPart, user: int = ADA, tap: tuple[ChatMessage, int] | None = None
    ) -> list[dict[str, Any]]:
        """One turn in which the model makes these calls, and what it reads as their results."""
        self.turns += 1
        end = f"end of turn {self.turns}"
        self.lines.extend((Says(calls=calls), Says(end)))
        if tap:
            await self.bot.people.tap(user, user, tap[0].id, tap[0].buttons[tap[1]].data)
        else:
            await self.bot.people.say(user, user, f"turn {self.turns}")
        await said(self.world, end, user)
        await settled(self.bot)
        results = [m for m in self.asked["messages"] if m["role"] == "tool"]
        return [json.loads(m["content"]) for m in results[-len(calls) :]]

    async def rows(self, sql: str, *params: object, user: int = ADA) -> list[dict[str, Any]]:
        """What the model reads when it queries."""
        (found,) = await self.turn(persist("query", sql=sql, params=list(params)), user=user)
        return found["rows"]

    @property
    def asked(self) -> dict[str, Any]:
        """The newest request of a turn."""
        return next(body for body in reversed(self.world.model.requests) if body.get("tools"))


@pytest.mark.parametrize("name", ["create", "notes", "vocab"])
async def test_the_first_request_with_a_pack_is_small(world: World, name: str) -> None:
    """At most 6 KB, tool schemas included. Source: design 1."""
    world.install(name)
    async with world.running() as bot:
        await bot.ask("Hello")
    body = json.dumps(world.model.requests[0], ensure_ascii=False, separators=(",", ":"))

    assert len(body.encode()) <= FIRST_REQUEST_BYTES


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
        shown = next(m for m in await bot.people.messages(ADA) if m.buttons)
        await chat.turn(rate("Baum", "good"), tap=(shown, 1))
        heard = next(m["content"] for m in chat.asked["messages"][::-1] if m["role"] == "user")
        await chat.turn(rate("Baum", "good"))
        (after,) = await chat.rows("SELECT interval_days, reviews FROM cards")

    assert shown.text == "Baum\ntree"
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
