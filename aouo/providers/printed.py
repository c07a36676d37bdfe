"""Turns a tool call that a model printed as its whole answer into a call.

Models that do not know their server's form of a call write it as text:
`{"name": "persist", "arguments": {…}}`, bare, fenced, or between `<tool_call>` marks. It counts as
a call only if it is the whole answer, names a tool of the request, and stands nowhere in what the
model had read: a stranger's text must not be carried out because a model repeats it.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast
from uuid import uuid4

from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    StartedOver,
    TextDelta,
    ToolCall,
)

MAX_CHARS = 20_000
_OPENINGS = ("{", "[", "```", "<tool_call>")
_WHOLE = re.compile(
    r"\s*(?:<tool_call>\s*(?P<marked>.+?)\s*</tool_call>"
    r"|```(?:json|tool_call|tool_code)?\s*\n(?P<fenced>.+?)\n?\s*```|(?P<bare>[{\[].+))\s*",
    re.DOTALL,
)


async def read_printed(
    events: AsyncGenerator[ModelEvent, None], request: ModelRequest
) -> AsyncGenerator[ModelEvent, None]:
    """Yield `events` with a printed call as a call; text that may become one is held back."""
    async with aclosing(events):
        held, decided = "", not request.tools
        async for event in events:
            match event:
                case TextDelta(text) if not decided:
                    held += text
                    if not _may_become_one(held):
                        decided = True
                        yield TextDelta(held)
                case StartedOver():
                    held, decided = "", not request.tools
                    yield event
                case Finished(said=said) if not decided:
                    calls = () if said.calls else printed_calls(said.text, request)
                    if calls:
                        said = AssistantSaid("", calls)
                        yield replace(event, said=said, reason="tool_calls")
                        return
                    if held:
                        yield TextDelta(held)
                    yield event
                case _:
                    yield event


def printed_calls(text: str, request: ModelRequest) -> tuple[ToolCall, ...]:
    """Return the calls that `text` consists of, () when it is anything else."""
    whole = _WHOLE.fullmatch(text) if len(text) <= MAX_CHARS else None
    if whole is None:
        return ()
    body = whole["marked"] or whole["fenced"] or whole["bare"]
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    listed = cast("list[object]", found) if isinstance(found, list) else [found]
    shown = {tool.name for tool in request.tools}
    calls = [_call(item, shown) for item in listed]
    if not calls or None in calls or _was_read(body, request):
        return ()
    return tuple(call for call in calls if call)


def _call(item: object, shown: set[str]) -> ToolCall | None:
    entry = _object(item)
    entry = _object(entry.get("function")) or entry
    name = entry.get("name", entry.get("tool"))
    arguments = entry.get("arguments", entry.get("parameters"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    if not isinstance(name, str) or name not in shown or not isinstance(arguments, dict):
        return None
    return ToolCall(f"call_{uuid4().hex[:16]}", name, json.dumps(arguments, ensure_ascii=False))


def _was_read(body: str, request: ModelRequest) -> bool:
    """Whether the model only repeats a text that it has read, ignoring white space."""
    wanted = "".join(body.split())
    read: Sequence[str] = [
        message.text for message in request.messages if not isinstance(message, AssistantSaid)
    ]
    return any(wanted in "".join(text.split()) for text in (*read, request.context))


def _may_become_one(text: str) -> bool:
    start = text.lstrip()
    return len(text) <= MAX_CHARS and (
        start.startswith(_OPENINGS) or any(opening.startswith(start) for opening in _OPENINGS)
    )


def _object(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
