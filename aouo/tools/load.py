"""`load_tools` and `load_skills`: bring tools and skills into a turn that are not shown yet."""

from __future__ import annotations

from pydantic import ValidationError

from aouo.tools.registry import Arguments, Tool, ToolContext, tool


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
        group="load",
        read_only=True,
    )
