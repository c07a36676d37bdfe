"""A session near its limit goes on in a fresh one; nobody has to say /new. Source: issue 11, 31."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from typing import Any

import pytest

from aouo.app import lifecycle
from aouo.facts.ids import SessionId
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, Fails, Reply, Says, text_of, words_of
from tests.path.looking import answers, eventually, said, settled
from tests.path.schedules.scheduled import made
from tests.path.world import ADA, BEN, ROOT, WAIT_S, Running, World
from tests.sampling import count

CAP = 10_000
EACH = 700
"""Tokens of a turn, so that a session is near its limit after twelve."""
SUMMARY = "Ada counts sheep."


class Model:
    """Answers `<what was said>!`, and the runtime's own calls with a summary and no facts."""

    def __init__(self) -> None:
        self.failing = False
        self.stalls = False
        self.prompts: list[str] = []

    def __call__(self, body: Body) -> Reply | str:
        wish = str(body["messages"][0]["content"])
        if "Summarise the conversation" in wish:
            if self.stalls:
                return Says("Slowly", chunks=5, stall_after=1)
            return Fails(503) if self.failing else SUMMARY
        if "about to leave your view" in wish:
            return "NONE"
        if "Name this conversation" in wish:
            return "Sheep"
        self.prompts.append("\n".join(text_of(entry) for entry in body["messages"]))
        newest = words_of(body["messages"][-1])
        return Says(f"{newest.rpartition(chr(10))[2]}!", usage=(EACH - 5, 0, 5))


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def talk(world: World, model: Model) -> World:
    world.install("notes")
    world.clock = FastClock()
    world.model.script = model
    provider = {"backend": "fake", "model": "scripted", "max_retries": 0}
    world.config = {"advanced": {"session_tokens_max": CAP}, "provider": provider}
    return world


async def count_sheep(world: World, bot: Running, first: int, last: int) -> None:
    for number in range(first, last + 1):
        await bot.people.say(ADA, ADA, f"sheep {number}")
        await said(world, f"sheep {number}!")
        await settled(bot)


async def sessions(bot: Running) -> list[dict[str, Any]]:
    return await bot.rows(
        "SELECT s.id, coalesce(sum(u.input_tokens + u.output_tokens), 0) AS used "
        "FROM sessions AS s LEFT JOIN usage_events AS u ON u.session_id = s.id GROUP BY s.id"
    )


async def test_many_short_messages_are_all_answered_and_no_session_passes_its_limit(
    talk: World, model: Model
) -> None:
    async with talk.running() as bot:
        await count_sheep(talk, bot, 1, 60)
        told = await answers(talk, ADA)
        used = [row["used"] for row in await sessions(bot)]

    renewed = [text for text in told if text.startswith("This session was near its limit")]
    assert [text for text in told if text.startswith("sheep")] == [
        f"sheep {number}!" for number in range(1, 61)
    ]
    assert len(renewed) == len(used) - 1 == 4
    assert all(tokens <= CAP for tokens in used)
    assert not [text for text in told if "limit of" in text and text not in renewed]


async def test_the_fresh_session_begins_with_the_summary_and_the_newest_words(
    talk: World, model: Model
) -> None:
    """Nobody notices it in the answer to "make it shorter"."""
    async with talk.running() as bot:
        await count_sheep(talk, bot, 1, 12)
        await count_sheep(talk, bot, 13, 14)
        rows = await bot.rows("SELECT upto_message_id, through_message_id, text FROM summaries")
        told = [m for m in await talk.people.messages(ADA) if m.from_bot and m.buttons]
        undo = next(b.data for b in told[-1].buttons if b.text == "Undo")
        await talk.people.tap(ADA, ADA, told[-1].id, undo)
        await settled(bot)
        await count_sheep(talk, bot, 15, 15)

    [row] = rows
    assert (row["text"], row["upto_message_id"] < row["through_message_id"]) == (SUMMARY, True)
    for prompt in model.prompts[12:14]:
        assert SUMMARY in prompt
        assert "sheep 12!" in prompt
        assert "sheep 1!" not in prompt
    assert SUMMARY not in model.prompts[14]
    assert all(f"sheep {number}!" in model.prompts[14] for number in range(1, 15))


async def test_without_a_summary_the_session_goes_on_as_it_is(talk: World, model: Model) -> None:
    model.failing = True
    async with talk.running() as bot:
        await count_sheep(talk, bot, 1, 20)
        told = await answers(talk, ADA)
        used = await sessions(bot)

    assert told == [f"sheep {number}!" for number in range(1, 21)]
    assert len(used) == 1


async def test_stop_ends_a_message_whose_session_is_being_renewed(
    talk: World, model: Model
) -> None:
    async with talk.running() as bot:
        await count_sheep(talk, bot, 1, 12)
        model.stalls = True
        await talk.people.say(ADA, ADA, "sheep 13")
        async with asyncio.timeout(WAIT_S):
            await talk.model.stalled.wait()
        await talk.people.say(ADA, ADA, "/stop")
        await said(talk, "Stopped.")
        await settled(bot)
        told = await answers(talk, ADA)
        model.stalls = False
        await count_sheep(talk, bot, 14, 14)
        used = await sessions(bot)
        paid = await bot.rows("SELECT 1 FROM usage_events WHERE scope = 'summary'")

    assert paid
    assert told[-1] == "Stopped."
    assert "sheep 13" not in model.prompts[-1]
    assert len(used) in (1, 2)


async def test_a_shutdown_while_a_session_is_renewed_gives_the_message_back(
    talk: World, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "_DRAIN_S", 0.1)
    async with talk.running() as bot:
        await count_sheep(talk, bot, 1, 12)
        model.stalls = True
        await talk.people.say(ADA, ADA, "sheep 13")
        async with asyncio.timeout(WAIT_S):
            await talk.model.stalled.wait()
    model.stalls = False
    async with talk.running() as bot:
        await said(talk, "sheep 13!")
        await settled(bot)
        told = await answers(talk, ADA)

    assert told[-1] == "sheep 13!"
    assert sum(text == "sheep 13!" for text in told) == 1


async def test_without_a_limit_no_session_is_renewed(talk: World, model: Model) -> None:
    talk.config["advanced"] = {"session_tokens_max": 0}
    async with talk.running() as bot:
        await count_sheep(talk, bot, 1, 20)
        used = await sessions(bot)

    assert len(used) == 1


# A hundred rotations later a session's id still reads back, and is no longer than the first


ROTATIONS = count(100, 20)


def short(body: Body) -> str:
    del body
    return "Short."


async def test_ids_of_all_sessions_read_back_after_a_hundred_rotations(world: World) -> None:
    world.clock = clock = FastClock()
    world.model.script = short
    async with world.running() as bot:
        await bot.ask("Hello")
        for number in range(ROTATIONS):
            if number % 10:
                await bot.ask("/new")
            else:
                for _ in range(3):
                    await bot.ask("What was said? " * 20)
                assert "are a summary now" in (await bot.ask("/compact")).text
        await settled(bot)
        await made(bot)
        clock.jump(61)
        await eventually(lambda: bot.rows("SELECT 1 FROM schedule_runs WHERE state = 'done'"))
        await settled(bot)
        rows = await bot.rows("SELECT id, session_key FROM sessions ORDER BY created_at")
        bound = await bot.rows("SELECT session_id FROM conversation_routes")
    found = [SessionId.parse(row["id"]) for row in rows]
    kinds = Counter(one.kind for one in found)

    assert [str(one) for one in found] == [row["id"] for row in rows]
    assert kinds["chat"] == ROTATIONS + 1
    assert kinds["cron"] == 1
    assert {one.conversation for one in found} == {f"tg:{ADA}"}
    assert {len(row["id"]) for row in rows if row["id"].startswith("chat")} == {len(rows[0]["id"])}
    assert bound == [{"session_id": str(next(o for o in reversed(found) if o.kind == "chat"))}]


# `sessions`: the model looks up what was said long ago. Source: issue 3, Tools


def install(world: World, name: str) -> None:
    """The notes pack under another name, with leave to search."""
    folder = world.home.packs / name
    shutil.copytree(ROOT / "packs" / "notes", folder)
    manifest = folder / "pack.yml"
    text = manifest.read_text().replace("name: notes", f"name: {name}")
    manifest.write_text(text.replace("tools: [msg,", "tools: [sessions, msg,"))


async def say(world: World, bot: Running, text: str, answer: str, user: int = ADA) -> None:
    world.model.say(answer)
    await world.people.say(user, user, text)

    async def answered() -> bool:
        return any(text.startswith(answer) for text in await answers(world, user))

    await eventually(answered)
    await settled(bot)


async def look_up(world: World, bot: Running, query: str) -> str:
    """What the model reads when it searches."""
    world.model.call("sessions", {"query": query})
    await say(world, bot, f"what did I say about {query}?", f"looked for {query}")
    return words_of(world.model.requests[-1]["messages"][-1])


async def test_the_model_finds_what_was_said_in_an_earlier_session(world: World) -> None:
    install(world, "diary")
    async with world.running() as bot:
        await say(world, bot, "我们六月去东京", "好的")
        await say(world, bot, "The fence shall be green", "Green it is")
        await world.people.say(ADA, ADA, "/new")
        await said(world, "Started a fresh session. What we said before is kept: /sessions")
        fence = await look_up(world, bot, "fence")
        tokyo = await look_up(world, bot, "东京")
        nothing = await look_up(world, bot, "submarine")

    day = fence[2:12]
    assert fence == f"- {day}, in “我们六月去东京”, the person: The fence shall be green"
    assert tokyo == f"- {day}, in “我们六月去东京”, the person: 我们六月去东京"
    assert nothing.startswith("Nothing was said here about 'submarine'.")


async def test_nothing_of_other_packs_or_people_is_found(world: World) -> None:
    install(world, "diary")
    install(world, "journal")
    async with world.running() as bot:
        for user, pack in ((ADA, "journal"), (BEN, "diary")):
            await world.people.say(user, user, f"/use {pack}")
            await said(world, f"“{pack}” answers here now.", user)
            await say(world, bot, f"my secret for {pack}", f"kept, {user}", user)
        await world.people.say(ADA, ADA, "/use diary")
        await said(world, "“diary” answers here now.")
        found = await look_up(world, bot, "secret")

    assert found.startswith("Nothing was said here")
