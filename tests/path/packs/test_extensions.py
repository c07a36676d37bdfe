"""Steps of the owner's, through the entry point group `aouo.pipelines`. Source: design §3.4."""

from __future__ import annotations

from pathlib import Path

import pytest

from aouo.agent.tools.registry import Arguments, ToolContext, tool
from aouo.facts.errors import SetupError
from aouo.facts.events import Event, LlmToken
from aouo.plumbing.parts import Subscription
from tests.fakes.model_server import words_of
from tests.path.looking import settled
from tests.path.world import World

POLITE = """
from aouo.agent.pipelines import Settled, Step

meters = []
settled = []


def add(pipelines):
    last = Step("polite", polite, may_retry=True)
    return (
        pipelines.with_step("dispatch_output", last, after="decide")
        .with_step("turn_input", Step("greeting", greeting), after="system prompt")
        .with_settled(Settled("count", count))
    )


async def polite(ctx, call_next):
    if not ctx.said.calls and "please" not in ctx.said.text:
        ctx.retry("[Say please.]")
    await call_next()


async def greeting(ctx, call_next):
    ctx.system += "\\nBegin with a greeting."
    await call_next()


async def count(ctx, status):
    meters.append(dict(ctx.meter.calls))
    settled.append(status)
"""


class Look(Arguments):
    at: int


async def look(wish: Look, context: ToolContext, call_id: str) -> str:
    return f"saw {wish.at}"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, name: str) -> None:
    """A distribution as an installer would lay it down."""
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[aouo.pipelines]\n{name} = {name}:add\n")
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def polite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, monkeypatch, POLITE, "polite_ext")
    return "polite_ext"


async def test_a_step_of_the_owner_s_sends_an_answer_back_before_anybody_reads_it(
    world: World, polite: str
) -> None:
    world.install("notes")
    world.model.say("Give me the salt.", chunks=5)
    world.model.say("The salt, please.", chunks=5)
    async with world.running() as bot:
        events, leave = bot.app.shared.bus.subscribe()
        answer = await bot.ask("table talk")
        await settled(bot)
        module = __import__(polite)
        leave()

        assert answer.text == "The salt, please."
        assert [e.text for e in drained(events) if isinstance(e, LlmToken)] == ["The salt, please."]
        said = [words_of(m) for m in world.model.requests[1]["messages"] if m["role"] != "system"]
        assert said == ["table talk", "Give me the salt.", "[Say please.]"]
        assert "Begin with a greeting." in world.model.requests[0]["messages"][0]["content"]
        assert module.settled == ["ack"]


def drained(events: Subscription) -> list[Event]:
    return [events.get_nowait() for _ in range(events.qsize())]


async def test_in_a_turn_of_ten_iterations_what_is_of_the_turn_runs_once(
    world: World, polite: str
) -> None:
    """The cost rule: retrieval in a dispatch pipeline would cost ten times as much."""
    world.tools = [tool("msg2", "Looks.", Look, look, read_only=True)]
    folder = world.home.packs / "lab"
    folder.mkdir(parents=True)
    (folder / "pack.yml").write_text(
        "name: lab\nversion: 1.0.0\ndisplay_name: Lab\npermissions: {tools: [core]}\n"
    )
    for at in range(9):
        world.model.call("msg2", {"at": at})
    world.model.say("please: done")
    async with world.running() as bot:
        await bot.ask("nine looks and an answer")
        await settled(bot)
        module = __import__(polite)

    calls = module.meters[-1]
    of_turn = {name: n for name, n in calls.items() if name.startswith("turn_")}
    of_dispatch = {name: n for name, n in calls.items() if name.startswith("dispatch_")}
    assert len(of_turn) > 4
    assert set(of_turn.values()) == {1}
    assert set(of_dispatch.values()) == {10}


async def test_an_extension_that_does_not_load_stops_the_start_and_is_named(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, monkeypatch, "def add(pipelines): raise KeyError('x')\n", "broken_ext")

    with pytest.raises(SetupError, match=r"pipeline extension 'broken_ext' \(broken_ext:add\)"):
        async with world.running():
            pass


LATE = """
from aouo.agent.pipelines import Step


def add(pipelines):
    return pipelines.with_step("dispatch_output", Step("late", late), after="record usage")


async def late(ctx, call_next):
    await call_next()
    raise ZeroDivisionError
"""


async def test_an_answer_stands_when_a_step_breaks_behind_it_and_is_still_made_safe(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for, and no secret leaves with it."""
    (tmp_path / "site").mkdir()
    install(tmp_path / "site", monkeypatch, LATE, "late_ext")
    world.model.say(f"The token is {world.emulator.token}.")
    async with world.running() as bot:
        answer = await bot.ask("What is the token?")

    assert answer.text.startswith("The token is ")
    assert world.emulator.token not in answer.text
