"""A long tool result is a handle that the model reads on in. Source: issue 3 "Tools"."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, Reply, Says, words_of
from tests.fakes.model_server import CallPart as Call
from tests.path.looking import said, settled
from tests.path.world import ADA, BEN, World

REPORT = (
    "\n".join(f"row {number}: {'x' * 40}" for number in range(1, 912))
    + "\nthe end sk-"
    + ("a" * 24)
)


class Nothing(Arguments):
    pass


def report(text: str = REPORT) -> Tool:
    async def _run(wish: Nothing, context: ToolContext, call_id: str) -> str:
        return text

    return tool("report", "Everything there is.", Nothing, _run)


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """A pack that may use nothing but the report."""
    pack = world.home.packs / "press"
    pack.mkdir()
    (pack / "pack.yml").write_text(
        "name: press\nversion: 0.1.0\ndisplay_name: Press\npermissions: {tools: [report, msg]}\n"
    )
    world.tools = [report()]
    world.clock = clock = FastClock()
    return clock


def tools(body: Body) -> list[str]:
    return [item["function"]["name"] for item in body["tools"]]


def results(body: Body) -> list[str]:
    return [words_of(m) for m in body["messages"] if m["role"] == "tool"]


def reading(**wish: Any) -> Any:
    """Answers by a script: report, then read on in what its handle names, then say it."""

    def script(body: Body) -> Reply | str:
        found = results(body)
        if not found:
            return Says("", (Call("report"),))
        if len(found) == 1:
            handle = re.search(r"r_\w{6}", found[0])
            assert handle
            return Says("", (Call("result_read", {"result": handle[0], **wish}),))
        return found[-1]

    return script


@pytest.mark.parametrize(
    ("wish", "shown"),
    [
        ({"mode": "head", "count": 1}, "1: row 1: "),
        ({"mode": "tail", "count": 1}, "912: the end [redacted]\n[lines 912 to 912, the end]"),
        ({"mode": "grep", "pattern": "row 500:"}, "[1 of 912 lines]\n500: row 500: "),
        ({"mode": "range", "start": 700, "count": 2}, "700: row 700: "),
    ],
)
async def test_the_model_reads_on_in_what_was_too_long(
    world: World, wish: dict[str, Any], shown: str
) -> None:
    world.model.script = reading(**wish)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "report")
        await bot.people.next_message(ADA, contains=shown.splitlines()[0][:20])

    first, second, third = world.model.requests
    (handle,) = results(second)
    assert re.match(
        r"\[result r_\w{6}: 4\d,\d{3} characters, 912 lines\. First lines:\nrow 1: xx", handle
    )
    assert handle.endswith("the end [redacted]\nRead on with result_read.]")
    assert results(third)[-1].startswith(shown)
    assert [("result_read" in tools(body)) for body in (first, second, third)] == [
        False,
        True,
        True,
    ]


async def test_a_handle_belongs_to_its_session_and_stays_in_it(world: World) -> None:
    """Ben's session cannot open Ada's; Ada's own next turn still can, and is told of the tool."""
    world.model.call("report")
    world.model.say("read")
    async with world.running() as bot:
        await bot.ask("report")
        (row,) = await bot.rows("SELECT id, session_id, tool, text FROM results")
        world.model.call("result_read", {"result": row["id"], "mode": "head", "count": 1})
        world.model.say("not mine")
        await bot.ask("what did Ada get?", user=BEN)
        foreign = results(world.model.requests[-1])[-1]
        world.model.call("result_read", {"result": f"[{row['id']}", "mode": "head", "count": 1})
        world.model.say("still mine")
        await bot.ask("how did it begin?")
        own = results(world.model.requests[-1])[-1]

    shown = ["result_read" in tools(body) for body in world.model.requests[2:]]
    assert foreign.startswith(f"There is no result '{row['id']}' in this session.")
    assert own.startswith("1: row 1: ")
    assert shown == [False, False, True, True]
    assert "sk-aaa" not in row["text"]


async def test_a_handle_opens_after_the_session_went_on_in_a_fresh_one(world: World) -> None:
    """The newest words went along, and the handle stands in them."""
    world.config["advanced"] = {"session_tokens_max": 10_000}
    handles: list[str] = []

    def script(body: Body) -> Reply | str:
        if "Summarise the conversation" in str(body["messages"][0]["content"]):
            return "Ada wanted a report."
        words = [words_of(m) for m in body["messages"] if m["role"] == "user"][-1]
        if "report" in words and body["messages"][-1]["role"] != "tool":
            return Says("", (Call("report"),), usage=(600, 0, 5))
        if "how did it begin" in words and body["messages"][-1]["role"] != "tool":
            return Says("", (Call("result_read", {"result": handles[0], "mode": "head"}),))
        return Says(f"{words.rpartition(chr(10))[2]}!", usage=(690, 0, 5))

    world.model.script = script
    async with world.running() as bot:
        for number in range(10):
            await bot.people.say(ADA, ADA, f"sheep {number}")
            await said(world, f"sheep {number}!")
            await settled(bot)
        await bot.people.say(ADA, ADA, "report")
        await said(world, "report!")
        await settled(bot)
        (row,) = await bot.rows("SELECT id, session_id FROM results")
        handles.append(row["id"])
        for number in range(10, 13):
            await bot.people.say(ADA, ADA, f"sheep {number}")
            await said(world, f"sheep {number}!")
            await settled(bot)
        await bot.people.say(ADA, ADA, "how did it begin?")
        await said(world, "how did it begin?!")
        await settled(bot)
        sessions = await bot.rows("SELECT id FROM sessions")

    *_, asked = [r for r in world.model.requests if "tools" in r]  # side calls offer none
    assert len(sessions) == 2
    assert "result_read" in tools(asked)
    assert results(asked)[-1].startswith("1: row 1: ")


async def test_a_short_result_is_read_as_it_is(world: World) -> None:
    world.tools = [report("y" * 4_000)]
    world.model.call("report")
    async with world.running() as bot:
        await bot.ask("report")
        rows = await bot.rows("SELECT * FROM results")

    assert (results(world.model.requests[-1]), rows) == (["y" * 4_000], [])


async def test_results_go_when_messages_go(world: World, clock: FastClock) -> None:
    world.config = {"retention": {"messages_days": 2}}
    world.model.call("report")
    world.model.say("read")
    async with world.running() as bot:
        await bot.ask("report")
        clock.jump(24 * 3600)
        await bot.app.tidying.prune()
        kept = await bot.rows("SELECT id FROM results")
        clock.jump(24 * 3600)
        await bot.app.tidying.prune()
        left = await bot.rows("SELECT id FROM results")

    assert (len(kept), left) == (1, [])


async def test_what_was_said_off_the_record_leaves_no_result(world: World) -> None:
    world.tools = [_looks(report())]
    world.model.call("report")
    world.model.say("read")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/otr report")
        await said(world, "read")
        rows = await bot.rows("SELECT * FROM results")

    assert rows == []
    assert json.dumps(results(world.model.requests[-1])).count("result r_") == 1


def _looks(item: Tool) -> Tool:
    return tool(item.name, item.description, Nothing, item.handler, read_only=True)
