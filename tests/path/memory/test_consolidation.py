"""The journal's lines are worked into MEMORY.md, with where they come from. Source: issue 14."""

from __future__ import annotations

from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Says, text_of
from tests.path.looking import eventually, settled
from tests.path.memory.test_journal import YEAR_S, line, noted, over, pass_s, said
from tests.path.memory.test_memory import card, memory_file, pack
from tests.path.memory.test_retrieval import anew
from tests.path.world import Running, World

DAY_S = 86_400.0


@pytest.fixture
def diary(world: World) -> World:
    pack(world, "diary", "person")
    world.config["memory"] = {"journal": True, "consolidate": {"enabled": True, "every": "24h"}}
    return world


async def noted_line(world: World, bot: Running, words: str, text: str, basis: str = "said") -> int:
    """Say something of which the journal notes a line; return the line's id."""
    before = await bot.rows("SELECT 1 FROM jobs WHERE origin = 'journal'")
    message = await said(world, bot, words)
    world.model.calls(line(text, message, basis))
    world.model.say("DONE")
    await noted(world, bot, len(before) + 1)
    rows = await bot.rows("SELECT max(id) AS id FROM journal")
    return int(rows[0]["id"])


async def consolidated(world: World, bot: Running, count: int = 1) -> None:
    """Let days pass until so many consolidations are over."""

    await over(world, bot, "consolidate", count, DAY_S / 4)


def edit(do: str, sources: list[int], text: str = "", at: int = 0) -> dict[str, Any]:
    return {"do": do, "sources": sources, "text": text, "line": at}


def edits(world: World, *found: dict[str, Any]) -> None:
    """What the model wants to change."""
    world.model.calls(CallPart("memory_edits", {"edits": list(found)}))
    world.model.say("DONE")


def asked(world: World) -> list[dict[str, Any]]:
    return [
        body
        for body in world.model.requests
        if "consolidation runs this by itself" in text_of(body["messages"][-1])
    ]


async def test_new_lines_become_notes_with_their_message_and_undo_takes_them_back(
    diary: World,
) -> None:
    memory_file(diary).parent.mkdir(parents=True)
    memory_file(diary).write_text("# Notes\n- has a cat\n")
    async with diary.running() as bot:
        one = await noted_line(diary, bot, "I have moved to Bremen", "lives in Bremen")
        edits(diary, edit("add", [one], "lives in Bremen"))
        await consolidated(diary, bot)
        text = memory_file(diary).read_text()
        shown = await card(bot)
        diary.model.say("Yes.")
        await bot.ask("Where do I live?")
        prompt = str(diary.model.requests[-1])
        undone = await card(bot, "/memory undo")

    (request,) = asked(diary)
    material = text_of(request["messages"][-1])
    assert [tool["function"]["name"] for tool in request["tools"]] == ["memory_edits"]
    assert "1| # Notes\n2| - has a cat\nJournal:" in material
    assert f"{one}, " in material
    assert text == "# Notes\n- has a cat\n- lives in Bremen\n"
    assert shown.text.splitlines()[-1].endswith(
        "gathered from “I have moved to Bremen”: + lives in Bremen"
    )
    assert "- lives in Bremen" in prompt
    assert undone.text.startswith("Undone: MEMORY.md is as it was before that change.")
    assert memory_file(diary).read_text() == "# Notes\n- has a cat\n"


async def test_without_new_lines_no_model_is_asked(diary: World) -> None:
    async with diary.running() as bot:
        one = await noted_line(diary, bot, "I have moved to Bremen", "lives in Bremen")
        edits(diary, edit("add", [one], "lives in Bremen"))
        await consolidated(diary, bot)
        requests = len(diary.model.requests)
        for _ in range(12):
            await pass_s(diary, DAY_S / 2)
            await settled(bot)
        jobs = await bot.rows("SELECT 1 FROM jobs WHERE origin = 'consolidate'")

    assert len(jobs) == 1
    assert len(diary.model.requests) == requests


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"do": "add", "sources": [4711], "text": "x"}, "its sources have to be"),
        ({"do": "add", "sources": [], "text": "x"}, "its sources have to be"),
        ({"do": "replace", "sources": [1], "text": "x", "line": 9}, "there is no note in line 9"),
        ({"do": "drop", "sources": [1], "line": 1}, "there is no note in line 1"),
        ({"do": "add", "sources": [1], "text": "  "}, "its text has to be one line"),
        ({"do": "forget", "sources": [1]}, "Wrong arguments"),
    ],
)
async def test_edits_that_are_not_well_formed_change_nothing(
    diary: World, wrong: dict[str, Any], why: str
) -> None:
    memory_file(diary).parent.mkdir(parents=True)
    memory_file(diary).write_text("# Notes\n- has a cat\n")
    async with diary.running() as bot:
        await noted_line(diary, bot, "I have moved to Bremen", "lives in Bremen")
        edits(diary, edit("add", [1], "lives in Bremen"), wrong)
        await consolidated(diary, bot)
        (call,) = await bot.rows("SELECT result FROM tool_calls WHERE name = 'memory_edits'")

    assert why in call["result"]
    assert memory_file(diary).read_text() == "# Notes\n- has a cat\n"


async def test_what_was_said_never_gives_way_to_what_is_inferred(diary: World) -> None:
    async with diary.running() as bot:
        said_one = await noted_line(diary, bot, "I live in Bremen", "lives in Bremen")
        guess = await noted_line(diary, bot, "What a fog", "is sad", "inferred")
        edits(diary, edit("add", [said_one], "lives in Bremen"), edit("add", [guess], "is sad"))
        await consolidated(diary, bot)
        await anew(diary, bot)  # a long session would ask for a title
        other = await noted_line(diary, bot, "The Spree is near", "lives in Berlin", "inferred")
        edits(diary, edit("replace", [other], "lives in Berlin", 1))
        await consolidated(diary, bot, 2)
        refused = memory_file(diary).read_text()
        last = await noted_line(diary, bot, "A fine day", "is cheerful", "inferred")
        edits(diary, edit("replace", [last], "is cheerful", 2))
        await consolidated(diary, bot, 3)
        shown = await card(bot)

    assert refused == "- lives in Bremen\n- is sad\n"
    assert memory_file(diary).read_text() == "- lives in Bremen\n- is cheerful\n"
    assert "concluded from “A fine day”: + is cheerful, − is sad" in shown.text


async def test_a_file_that_is_changed_meanwhile_is_not_overwritten_and_the_lines_wait(
    diary: World,
) -> None:
    memory_file(diary).parent.mkdir(parents=True)
    memory_file(diary).write_text("- has a cat\n")
    async with diary.running() as bot:
        one = await noted_line(diary, bot, "I have moved to Bremen", "lives in Bremen")
        wrong = {"edits": [edit("replace", [one], "lives in Bremen", 1)]}
        call = CallPart("memory_edits", wrong)
        diary.model.reply(Says("Let me think", (call,), chunks=5, stall_after=1))
        diary.model.say("DONE")
        await pass_until_stalled(diary, bot)
        memory_file(diary).write_text("- has a dog\n")
        diary.model.release.set()
        await consolidated(diary, bot)
        edits(diary, edit("add", [one], "lives in Bremen"))
        await consolidated(diary, bot, 2)

    assert memory_file(diary).read_text() == "- has a dog\n- lives in Bremen\n"


async def test_two_consolidations_of_the_same_notes_never_overlap_and_the_one_left_out_is_logged(
    diary: World,
) -> None:
    """Source: seed 000; issue 30, number 18."""
    async with diary.running() as bot:
        one = await noted_line(diary, bot, "I have moved to Bremen", "lives in Bremen")
        call = CallPart("memory_edits", {"edits": [edit("add", [one], "lives in Bremen")]})
        diary.model.reply(Says("Let me think", (call,), chunks=5, stall_after=1))
        diary.model.say("DONE")
        await pass_until_stalled(diary, bot)
        with capture_logs() as logs:

            async def left_out() -> bool:
                await pass_s(diary, DAY_S)
                return any(one["event"] == "consolidation_left_out" for one in logs)

            await eventually(left_out)
        jobs = await bot.rows("SELECT state FROM jobs WHERE origin = 'consolidate'")
        diary.model.release.set()
        await consolidated(diary, bot)

    assert jobs == [{"state": "running"}]


async def pass_until_stalled(world: World, bot: Running) -> None:
    async def look() -> bool:
        if not await bot.rows("SELECT 1 FROM jobs WHERE origin = 'consolidate'"):
            await pass_s(world, DAY_S / 4)
        return world.model.stalled.is_set()

    await eventually(look)


async def test_restarts_do_not_begin_the_time_anew(diary: World) -> None:
    """Kernel and pipelines, A10: each reload restarted the ticker there."""
    async with diary.running() as bot:
        one = await noted_line(diary, bot, "I have moved to Bremen", "lives in Bremen")
    edits(diary, edit("add", [one], "lives in Bremen"))
    for _ in range(5):
        async with diary.running() as bot:
            await pass_s(diary, DAY_S / 4)
            await settled(bot)
    async with diary.running() as bot:
        await over(diary, bot, "consolidate", 1, 60)

    assert memory_file(diary).read_text() == "- lives in Bremen\n"


async def test_a_clock_that_was_a_year_ahead_silences_no_consolidation(diary: World) -> None:
    clock = cast("FastClock", diary.clock)
    async with diary.running() as bot:
        await noted_line(diary, bot, "I have moved to Bremen", "lives in Bremen")
        diary.model.say("DONE")
        clock.sleep_through(YEAR_S)
        await consolidated(diary, bot)
        clock.sleep_through(-YEAR_S)
        right = clock.now()
        await noted_line(diary, bot, "I have a cat", "has a cat")
        diary.model.say("DONE")
        await consolidated(diary, bot, 2)

    assert "has a cat" in text_of(asked(diary)[-1]["messages"][-1])
    assert (clock.now() - right).total_seconds() < YEAR_S / 2
