"""`skill_view`: read a skill of the turn's own pack, or a file beside it."""

from __future__ import annotations

from collections.abc import Callable

from aouo.packs.library import Library
from aouo.tools.registry import Arguments, Tool, ToolContext, tool


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
        read_only=True,
    )
