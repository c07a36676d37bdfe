"""`clarify`: ask the person and wait for the answer, across restarts."""

from __future__ import annotations

from aouo.facts.errors import ToolFailed
from aouo.tools.registry import Arguments, Tool, ToolContext, tool

MAX_OPTIONS = 10


class Clarify(Arguments):
    message: str
    options: list[str]


async def _ask(question: Clarify, context: ToolContext, call_id: str) -> str:
    options = [option.strip() for option in question.options if option.strip()]
    if not question.message.strip():
        raise ToolFailed("clarify needs a message: the question.")
    if len(options) > MAX_OPTIONS:
        raise ToolFailed(f"clarify takes at most {MAX_OPTIONS} options; offer the likeliest.")
    return await context.ask(call_id, question.message, options)


def clarify() -> Tool:
    return tool(
        "clarify",
        "Ask the person one question with buttons.",
        Clarify,
        _ask,
        timeout_s=None,
    )
