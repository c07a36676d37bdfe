"""`memory`: read and change what the pack's memory files say about the person and the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from aouo.facts.errors import ToolFailed
from aouo.memory.files import ALWAYS
from aouo.memory.keeping import Keeping
from aouo.tools.registry import Arguments, Tool, ToolContext, tool

NAME, TARGET = "memory", "target"
_SHOWN: dict[str, Any] = {"enum": list(ALWAYS)}
"""The targets that a model is shown, unless its pack keeps more files (`turn.toolbox`)."""


class Memory(Arguments):
    target: Annotated[Literal["user", "memory", "soul", "state"], Field(json_schema_extra=_SHOWN)]
    action: Literal["read", "append", "replace"]
    content: str | None = None


def with_targets(parameters: Mapping[str, Any], targets: Sequence[str]) -> dict[str, Any]:
    """Return the tool's parameters for a pack that keeps these files."""
    properties = dict(parameters["properties"])
    properties[TARGET] = {**properties[TARGET], "enum": list(targets)}
    return {**parameters, "properties": properties}


def memory(keeping: Keeping) -> Tool:
    async def _run(wish: Memory, context: ToolContext, call_id: str) -> str:
        pack, tenant = context.facts.pack, context.facts.tenant
        if wish.action == "read":
            return keeping.files(pack, tenant).read(wish.target) or "(empty)"
        content = wish.content
        if content is None or (wish.action == "append" and not content.strip()):
            emptied = ' ("" empties the file)' if wish.action == "replace" else ""
            raise ToolFailed(f"memory {wish.action} needs content{emptied}.")
        change = keeping.append if wish.action == "append" else keeping.replace
        await change(pack, tenant, wish.target, content, turn_id=context.facts.id, call_id=call_id)
        if content.strip():
            return "saved"
        file = keeping.files(pack, tenant).file(wish.target)
        return f"{file} is empty now. Say so; the person brings it back with /memory undo."

    return tool(
        NAME,
        "Lasting notes: user = facts about the person, memory = everything else.",
        Memory,
        _run,
        mutates=lambda wish: wish.action != "read",
        read_only=True,
    )
