"""What a turn may call and what of it the model is told. Source: contract "Tools"."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from aouo.agent import toolbox
from aouo.agent.toolbox import Toolbox
from aouo.agent.tools.load import load_skills, load_tools
from aouo.agent.tools.registry import Arguments, Registry, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed, ToolsNotReady
from aouo.guard.prepared import Blocked

NOWHERE = cast("ToolContext", object())


class Nothing(Arguments):
    pass


async def nothing(wish: Nothing, context: ToolContext, call_id: str) -> str:
    return ""


def made(
    name: str, group: str = "core", *, read_only: bool = False, idempotent: bool = True
) -> Tool:
    return tool(
        name,
        f"{name}.",
        Nothing,
        nothing,
        group=group,
        read_only=read_only,
        idempotent=idempotent,
    )


@dataclass
class Server:
    """A source of tools that may be late, or down."""

    offers: Sequence[Tool] = ()
    problem: str = ""
    late: bool = False
    asked: int = 0
    group: str = "mcp:hub"
    summary: str = "a hub"
    come: asyncio.Event = field(default_factory=asyncio.Event)

    def owns(self, name: str) -> bool:
        return name.startswith("mcp__hub__")

    async def tools(self) -> Sequence[Tool]:
        self.asked += 1
        if self.late:
            await self.come.wait()
        if self.problem:
            raise ToolFailed(self.problem)
        return self.offers


CORE = [made("msg"), made("skill_view", read_only=True), load_tools(), load_skills()]
FILES = [made("read_file", "files", read_only=True), made("write_file", "files")]
PERMITTED = ("msg", "skill_view", "files", "mcp:hub")
HUB = made("mcp__hub__star", "mcp:hub", idempotent=False)


async def opened(
    *more: Tool,
    permitted: Sequence[str] = PERMITTED,
    sources: Sequence[Server] = (),
    skills: Sequence[str] = (),
    revealed: Sequence[str] = (),
    off_record: bool = False,
) -> Toolbox:
    box = Toolbox(
        Registry([*CORE, *FILES, *more], sources),
        permitted=permitted,
        skills=skills,
        skill=lambda name: f"# {name}" if name in skills else _none(name),
        off_record=off_record,
    )
    await box.open(revealed)
    return box


def _none(name: str) -> str:
    raise ToolFailed(f"There is no skill {name!r}.")


def shown(box: Toolbox) -> list[str]:
    return [spec.name for spec in box.shown]


async def test_a_turn_shows_the_core_tools_and_names_the_rest() -> None:
    box = await opened(sources=[Server()])

    assert shown(box) == ["msg", "skill_view", "load_tools"]
    hint = next(spec.description for spec in box.shown if spec.name == "load_tools")
    assert hint.endswith("files: read_file, write_file; mcp:hub: a hub")


async def test_nothing_to_bring_in_means_no_way_to_ask_for_it() -> None:
    assert shown(await opened(permitted=("msg", "skill_view"))) == ["msg", "skill_view"]


async def test_a_group_or_a_tool_is_shown_from_the_next_call_on() -> None:
    box = await opened()

    assert await box.load_tools(["write_file"]) == "Ready: write_file."
    assert shown(box) == ["msg", "skill_view", "write_file", "load_tools"]
    await box.load_tools(["files"])
    assert shown(box) == ["msg", "skill_view", "read_file", "write_file"]


async def test_what_is_not_permitted_is_not_there() -> None:
    box = await opened(permitted=("msg",))

    with pytest.raises(ToolFailed, match="read_file: there is no such tool or group here"):
        await box.load_tools(["read_file"])
    assert (await box.find("read_file"), box.runner("read_file", NOWHERE)) == (None, None)
    assert box.named("read_file") == Blocked(
        "There is no tool 'read_file' here. Tools: msg, load_tools.", "no such tool", "tools"
    )


async def test_a_permitted_tool_may_be_called_without_having_been_shown() -> None:
    box = await opened()

    assert await box.find("read_file") == FILES[0]


async def test_a_source_is_asked_when_its_tools_are_wanted_and_not_before() -> None:
    server = Server([HUB])
    box = await opened(sources=[server])
    assert server.asked == 0

    assert await box.load_tools(["mcp:hub", "nope"]) == (
        "Ready: mcp__hub__star. Not available: nope: there is no such tool or group here."
    )
    assert shown(box)[-2:] == ["load_tools", "mcp__hub__star"]
    assert box.named("mcp__hub__star") == HUB


async def test_a_source_that_is_down_is_said_and_its_tools_are_not_there() -> None:
    box = await opened(sources=[Server(problem="the server hub does not answer")])

    with pytest.raises(ToolFailed, match="the server hub does not answer"):
        await box.load_tools(["mcp:hub"])
    assert await box.find("mcp__hub__star") is None
    assert box.named("mcp__hub__star") == Blocked(
        "the server hub does not answer Go on without it.", "not there now", "tools"
    )


async def test_a_turn_that_is_taken_up_shows_again_what_it_had_brought_in() -> None:
    box = await opened(sources=[Server([HUB])], revealed=["files", "mcp__hub__star"])

    assert shown(box) == ["msg", "skill_view", "read_file", "write_file", HUB.name]


async def test_definitions_that_do_not_come_refuse_the_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toolbox, "_DEFINITIONS_WITHIN_S", 0.01)

    with pytest.raises(ToolsNotReady):
        await opened(sources=[Server(late=True)], revealed=["mcp:hub"])


async def test_off_the_record_only_what_looks_is_there() -> None:
    box = await opened(off_record=True)

    assert shown(box) == ["skill_view", "load_tools"]
    assert "write_file" not in box.shown[-1].description


async def test_several_skills_come_at_once_and_a_missing_one_is_said() -> None:
    box = await opened(skills=["daily", "weekly"])

    assert "load_skills" in shown(box)
    assert await box.load_skills(["daily", "x"]) == "# daily\n\nThere is no skill 'x'."
    with pytest.raises(ToolFailed, match="no skill 'x'"):
        await box.load_skills(["x"])
