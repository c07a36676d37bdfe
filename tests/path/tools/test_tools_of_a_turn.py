"""How the calls of one answer are made. Source: design §3.4, issue 3."""

from __future__ import annotations

import asyncio

import pytest

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed
from aouo.facts.events import ActionCompleted, ActionStarted
from tests.fakes.model_server import CallPart, words_of
from tests.path.looking import eventually, settled
from tests.path.world import ADA, WAIT_S, World


class Look(Arguments):
    at: str


class Together:
    """A tool that only looks, and answers when as many calls of it are under way as it wants."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.under_way: list[str] = []
        self.enough = asyncio.Event()

    async def look(self, wish: Look, context: ToolContext, call_id: str) -> str:
        self.under_way.append(wish.at)
        if len(self.under_way) == self.wanted:
            self.enough.set()
        await self.enough.wait()
        return f"saw {wish.at}"


def tooled(world: World, *tools: Tool) -> World:
    """A world whose one pack may use these tools, shown from the start."""
    folder = world.home.packs / "lab"
    folder.mkdir(parents=True)
    (folder / "pack.yml").write_text(
        "name: lab\nversion: 1.0.0\ndisplay_name: Lab\npermissions: {tools: [core, files]}\n"
    )
    world.tools = tools
    return world


def results(world: World) -> list[str]:
    return [words_of(m) for m in world.model.requests[-1]["messages"] if m["role"] == "tool"]


def shown(world: World, request: int) -> list[str]:
    return [spec["function"]["name"] for spec in world.model.requests[request]["tools"]]


async def test_calls_that_only_look_run_together_and_their_results_keep_the_order(
    world: World,
) -> None:
    together = Together(3)
    tooled(world, tool("look", "Looks.", Look, together.look, read_only=True))
    world.model.calls(*(CallPart("look", {"at": at}) for at in "abc"))
    world.model.say("Seen.")
    async with world.running() as bot:
        assert (await bot.ask("look around")).text == "Seen."

    assert sorted(together.under_way) == ["a", "b", "c"]
    assert results(world) == ["saw a", "saw b", "saw c"]


async def test_a_call_that_changes_something_runs_alone_and_in_its_place(world: World) -> None:
    order: list[str] = []

    async def do(wish: Look, context: ToolContext, call_id: str) -> str:
        order.append(f"{wish.at} begins")
        await asyncio.sleep(0)
        order.append(f"{wish.at} ends")
        return wish.at

    tooled(world, tool("do", "Does.", Look, do, mutates=True))
    world.model.calls(*(CallPart("do", {"at": at}) for at in "abc"))
    world.model.say("Done.")
    async with world.running() as bot:
        await bot.ask("do it")

    assert order == [f"{at} {what}" for at in "abc" for what in ("begins", "ends")]


async def test_the_same_call_is_told_the_second_time_and_refused_the_third(world: World) -> None:
    made: list[str] = []

    async def do(wish: Look, context: ToolContext, call_id: str) -> str:
        made.append(wish.at)
        return "same as ever"

    tooled(world, tool("do", "Does.", Look, do))
    for spelling in ('{"at": "x"}', '{"at":"x"}', '{ "at" : "x" }', '{"at": "y"}'):
        world.model.call("do", spelling)
    world.model.say("I give up.")
    async with world.running() as bot:
        assert (await bot.ask("go round in circles")).text == "I give up."
        await settled(bot)
        audit = await bot.rows("SELECT stage FROM audit ORDER BY id")

    assert made == ["x", "x", "y"]
    first, second, third, other = results(world)
    assert (first, other) == ("same as ever", "same as ever")
    assert second.startswith("same as ever\n[You made exactly this call before")
    assert third.startswith("This is the same call for the third time in this turn, so it was not")
    ends = [row["stage"] for row in audit if row["stage"] not in ("PROPOSED", "EVALUATED")]
    assert ends == ["EXECUTED", "EXECUTED", "BLOCKED", "EXECUTED"]


async def test_a_turn_that_goes_in_circles_ends_with_a_sentence(world: World) -> None:
    """After a handful of calls, not after all that a turn may make."""

    async def do(wish: Look, context: ToolContext, call_id: str) -> str:
        raise ToolFailed("There is no such file.")

    tooled(world, tool("do", "Does.", Look, do))
    for _ in range(9):
        world.model.call("do", '{"at": "x"}')
    async with world.running() as bot:
        answer = await bot.ask("read it")
        await settled(bot)

    assert answer.text.startswith("I stopped: I took the same step (do) again and again")
    assert len(world.model.requests) == 5


async def test_the_same_look_is_allowed_after_something_changed(world: World) -> None:
    made: list[str] = []

    async def look(wish: Look, context: ToolContext, call_id: str) -> str:
        made.append("look")
        return "one letter"

    async def move(wish: Look, context: ToolContext, call_id: str) -> str:
        made.append(wish.at)
        return f"moved {wish.at}"

    seen = tool("look", "Looks.", Look, look, read_only=True)
    tooled(world, seen, tool("move", "Moves.", Look, move, mutates=True))
    for number in range(6):
        world.model.call("look", '{"at": "inbox"}')
        world.model.call("move", f'{{"at": "{number}"}}')
    world.model.say("All moved.")
    async with world.running() as bot:
        assert (await bot.ask("sort my mail")).text == "All moved."

    assert made == [one for number in range(6) for one in ("look", str(number))]


@pytest.mark.parametrize("turn", [["x"] * 25, ["x", "y"] * 12, ["x", "x", "look"] * 8])
async def test_the_same_write_ends_at_the_third_call_whatever_it_brings(
    world: World, turn: list[str]
) -> None:
    """A row's number is another one each time, and other writes between them change nothing."""
    made: list[str] = []

    async def add(wish: Look, context: ToolContext, call_id: str) -> str:
        made.append(wish.at)
        return f"Added as row {len(made)}."

    async def look(wish: Look, context: ToolContext, call_id: str) -> str:
        return f"{len(made)} rows"

    seen = tool("look", "Looks.", Look, look, read_only=True)
    tooled(world, seen, tool("add", "Adds.", Look, add, mutates=True))
    for number, what in enumerate(turn):
        wish = {"at": str(number)} if what == "look" else {"at": what}
        world.model.call("look" if what == "look" else "add", wish)
    async with world.running() as bot:
        answer = await bot.ask("add x")

    assert answer.text.startswith("I stopped: I took the same step (add) again and again")
    assert {at: made.count(at) for at in made} == dict.fromkeys(made, 2)
    told = [one for one in results(world) if "for the third time" in one]
    assert told[0].endswith("If it is wanted once more, the person says so in a message.")


async def test_a_write_that_failed_may_be_tried_again_after_a_change(world: World) -> None:
    made: list[str] = []

    async def add(wish: Look, context: ToolContext, call_id: str) -> str:
        if wish.at == "x" and len(made) < 3:
            raise ToolFailed("There is no such list.")
        made.append(wish.at)
        return "done"

    tooled(world, tool("add", "Adds.", Look, add, mutates=True))
    for at in "xaxbxcx":
        world.model.call("add", {"at": at})
    world.model.say("Fine.")
    async with world.running() as bot:
        assert (await bot.ask("add it")).text == "Fine."

    assert made == ["a", "b", "c", "x"]


async def test_a_look_that_brings_something_new_each_time_is_allowed(world: World) -> None:
    async def look(wish: Look, context: ToolContext, call_id: str) -> str:
        return f"letter {len(world.model.requests)}"

    tooled(world, tool("look", "Looks.", Look, look, read_only=True))
    for _ in range(6):
        world.model.call("look", '{"at": "inbox"}')
    world.model.say("Six letters.")
    async with world.running() as bot:
        assert (await bot.ask("watch my mail")).text == "Six letters."


async def test_tools_that_are_not_shown_are_brought_in_by_name_or_group(world: World) -> None:
    async def do(wish: Look, context: ToolContext, call_id: str) -> str:
        return "did"

    tooled(world, tool("far", "Far away.", Look, do, group="files"))
    world.model.call("load_tools", {"names": ["far", "nonsense"]})
    world.model.call("far", {"at": "x"})
    world.model.say("Fine.")
    async with world.running() as bot:
        assert (await bot.ask("go far")).text == "Fine."

    assert ("far" in shown(world, 0), "far" in shown(world, 1)) == (False, True)
    assert results(world) == [
        "Ready: far. Not available: nonsense: there is no such tool or group here.",
        "did",
    ]


async def test_a_tool_the_pack_may_not_use_is_not_there_whatever_it_asks_for(world: World) -> None:
    async def do(wish: Look, context: ToolContext, call_id: str) -> str:
        raise AssertionError

    tooled(world, tool("fetch2", "Web.", Look, do, group="web"))
    world.model.call("load_tools", {"names": ["web"]})
    world.model.call("fetch2", {"at": "x"})
    world.model.say("No.")
    async with world.running() as bot:
        await bot.ask("browse")

    loaded, called = results(world)
    assert loaded == "Not available: web: there is no such tool or group here."
    assert called.startswith("There is no tool 'fetch2' here.")


async def test_a_call_that_a_stop_cut_off_may_have_happened_and_history_says_so(
    world: World,
) -> None:
    """What only looks, and what had not begun, is not named. Source: design §3.4, abort."""
    began, never = asyncio.Event(), asyncio.Event()

    async def hang(wish: Look, context: ToolContext, call_id: str) -> str:
        del wish, context, call_id
        began.set()
        await never.wait()
        return ""

    tooled(
        world,
        tool("order", "Orders.", Look, hang, mutates=True),
        tool("look", "Looks.", Look, hang, read_only=True),
    )
    world.model.calls(CallPart("order", {"at": "a"}), CallPart("order", {"at": "b"}))
    world.model.call("look", {"at": "c"})
    async with world.running() as bot:
        for _ in range(2):
            began.clear()
            await world.people.say(ADA, ADA, "Do it.")
            async with asyncio.timeout(WAIT_S):
                await began.wait()
            await world.people.say(ADA, ADA, "/stop")
            await eventually(lambda: bot.rows("SELECT 1 FROM turns WHERE status = 'aborted'"))
            await settled(bot)
        rows = await bot.rows("SELECT text FROM messages WHERE visible = 1 AND role = 'assistant'")
        calls = await bot.rows("SELECT name, state FROM tool_calls ORDER BY id")

    stopped = "[This turn was stopped (the person stopped it)."
    assert [row["text"] for row in rows] == [
        f"{stopped} These had taken effect before, or may have: order.]",
        f"{stopped}]",
    ]
    assert [row["state"] for row in calls] == ["unknown", "intent", "intent"]


async def test_a_call_that_a_stop_kept_from_beginning_was_proposed_and_has_one_end(
    world: World,
) -> None:
    """What began on the bus ends there, too. Source: design §3.7, "Every exit"."""
    began, never = asyncio.Event(), asyncio.Event()

    async def hang(wish: Look, context: ToolContext, call_id: str) -> str:
        del wish, context, call_id
        began.set()
        await never.wait()
        return ""

    tooled(world, tool("order", "Orders.", Look, hang, mutates=True))
    world.model.calls(CallPart("order", {"at": "a"}), CallPart("order", {"at": "b"}))
    async with world.running() as bot:
        events, leave = bot.app.shared.bus.subscribe(ActionStarted, ActionCompleted)
        await world.people.say(ADA, ADA, "Do it.")
        async with asyncio.timeout(WAIT_S):
            await began.wait()
        proposed = await bot.rows("SELECT stage FROM audit ORDER BY id")
        await world.people.say(ADA, ADA, "/stop")
        await eventually(lambda: bot.rows("SELECT 1 FROM turns WHERE status = 'aborted'"))
        audit = await bot.rows(
            "SELECT group_concat(stage, ' ') AS stages FROM "
            "(SELECT call_id, stage FROM audit ORDER BY id) GROUP BY call_id ORDER BY call_id"
        )
        told = [type(await events.get()).__name__ for _ in range(4)]
        leave()

    assert [row["stage"] for row in proposed] == ["PROPOSED", "PROPOSED", "EVALUATED"]
    assert [row["stages"] for row in audit] == ["PROPOSED EVALUATED FAILED", "PROPOSED FAILED"]
    assert told == ["ActionStarted"] * 2 + ["ActionCompleted"] * 2


async def test_a_call_is_made_as_the_model_wrote_it(world: World) -> None:
    """What only looks like a secret is part of what was asked for: a link with a token in it."""
    made: list[str] = []

    async def do(wish: Look, context: ToolContext, call_id: str) -> str:
        made.append(wish.at)
        return "opened"

    link = "https://example.org/reset?token=kX9_qLm2Zr7TbW4vNc8J"
    tooled(world, tool("do", "Does.", Look, do))
    world.model.call("do", f'{{"at": "{link}"}}')
    world.model.say("Opened.")
    async with world.running() as bot:
        await bot.ask(f"open {link}")

    assert made == [link]
