"""Calls one tool as the guard does, in a turn of a pack."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from aouo.agent.tools.registry import Tool, ToolContext
from tests.fakes.turn_facts import facts_of


async def call(tool: Tool, pack: str = "", **arguments: Any) -> str:
    """The tool's result.

    Raises:
        ToolFailed: what the model would read.
    """
    context = cast(
        "ToolContext",
        SimpleNamespace(
            facts=facts_of(pack, tenant="tg_1"), paid_for=_paid_for, picture=None, sources=tuple
        ),
    )
    return await tool.handler(tool.parse(arguments), context, "call")


def _paid_for(call_id: str, tool: str) -> None:
    """Nobody counts it here."""
