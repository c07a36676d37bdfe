"""`load_tools`, `load_skills`, `skill_view`: bring tools and skills into a turn."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import ValidationError

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.packs.library import Library


class Load(Arguments):
    names: list[str]


def names_in(arguments: str) -> tuple[str, ...]:
    """Return the names that a recorded call asked for, () = it cannot be read."""
    try:
        return tuple(Load.model_validate_json(arguments).names)
    except ValidationError:
        return ()


async def _load_tools(wish: Load, context: ToolContext, call_id: str) -> str:
    del call_id
    return await context.load_tools(wish.names)


async def _load_skills(wish: Load, context: ToolContext, call_id: str) -> str:
    del call_id
    return await context.load_skills(wish.names)


def load_tools() -> Tool:
    return tool(
        "load_tools",
        "Bring in more tools, by name or group.",
        Load,
        _load_tools,
        sink="look",
        group="load",
        read_only=True,
        timeout_s=15.0,
    )


def load_skills() -> Tool:
    return tool(
        "load_skills",
        "Read several skills.",
        Load,
        _load_skills,
        sink="look",
        group="load",
        read_only=True,
    )


class SkillView(Arguments):
    name: str
    file: str = ""


def skill_view(library: Callable[[], Library]) -> Tool:
    """Make the tool; it refuses skills of other packs, since a turn's pack is fixed."""

    async def _view(wish: SkillView, context: ToolContext, call_id: str) -> str:
        del call_id
        skill = library().resolve_skill(context.facts.pack, wish.name)
        if wish.file:
            return skill.attachment(wish.file)
        return skill.shown

    return tool(
        "skill_view",
        "Read a skill before following it.",
        SkillView,
        _view,
        sink="look",
        read_only=True,
    )
