"""`memory`: what is kept about the person and the work, in the pack's two files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from aouo.errors import ToolFailed
from aouo.memory.files import MemoryFiles
from aouo.tools.registry import Arguments, Tool, ToolContext, tool


class Memory(Arguments):
    target: Literal["user", "memory"]
    action: Literal["read", "append", "replace"]
    content: str = ""


def memory(files_of: Callable[[str, str], MemoryFiles]) -> Tool:
    """`files_of` gives the memory of a pack ("" = of no pack) for an owner."""

    async def _run(wish: Memory, context: ToolContext, call_id: str) -> str:
        del call_id
        files = files_of(context.pack, context.owner)
        name = "USER.md" if wish.target == "user" else "MEMORY.md"
        if wish.action == "read":
            return files.read(name) or "(empty)"
        if not wish.content.strip():
            raise ToolFailed(f"memory {wish.action} needs content.")
        change = files.append if wish.action == "append" else files.replace
        await asyncio.to_thread(change, name, wish.content)
        return "saved"

    return tool(
        "memory",
        "Lasting notes: user = facts about the person, memory = everything else.",
        Memory,
        _run,
        effect=lambda wish: wish.action != "read",
        reads=True,
    )
