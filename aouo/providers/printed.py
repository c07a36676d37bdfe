"""Reads calls that a model printed, because its server does not read the model's own form.

`{"name": "persist", "arguments": {…}}`, bare, fenced, or between marks of Hermes and Qwen, Llama,
Mistral. Without marks it counts as a call only if it is the whole answer. It names a tool of the
request, and stands nowhere in what the model had read: a stranger's text must not be carried out
because a model repeats it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

from aouo.facts import transcript

_MAX_CHARS = 20_000
_OPENINGS = ("{", "[", "```", "<tool_call>")
_FUNCTION = re.compile(
    r"<(?:function=(?P<name>[\w.-]+)|invoke name=\"(?P<invoked>[\w.-]+)\")>(?P<inside>.*?)"
    r"(?:</(?:function|invoke)>|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<parameter(?:=| name=\")(?P<key>[\w.-]+)\"?>(?P<value>.*?)</parameter>", re.DOTALL
)
_NAMED = re.compile(
    r"\[TOOL_CALLS\]\s*(?P<name>[\w.-]+)\s*(?:\[ARGS\])?\s*(?P<json>\{.*\})", re.DOTALL
)
_BODY = re.compile(r"<tool_call>\s*(.+?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_WHOLE = re.compile(
    r"\s*(?:<tool_call>\s*(?P<marked>.+?)\s*</tool_call>"
    r"|```(?:json|tool_call|tool_code)?\s*\n(?P<fenced>.+?)\n?\s*```|(?P<bare>[{\[].+))\s*",
    re.DOTALL,
)


def whole_calls(text: str, request: transcript.ModelRequest) -> tuple[transcript.ToolCall, ...]:
    """Return the calls that `text` consists of, () when it is anything else."""
    whole = _WHOLE.fullmatch(text) if len(text) <= _MAX_CHARS else None
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
    if not calls or None in calls or was_read(body, request):
        return ()
    return tuple(call for call in calls if call)


def marked_calls(
    markup: str, request: transcript.ModelRequest
) -> tuple[transcript.ToolCall, ...] | None:
    """Return the calls of a server's own form, as it stands behind words; None = it is none that
    the request's tools know."""
    shown = {tool.name for tool in request.tools}
    calls: list[transcript.ToolCall | None] = []
    for found in _FUNCTION.finditer(markup):
        name, inside = found["name"] or found["invoked"], found["inside"] or ""
        values = {one["key"]: _value(one["value"]) for one in _PARAMETER.finditer(inside)}
        arguments = values or _json(inside.strip() or "{}")
        calls.append(_call({"name": name, "arguments": arguments}, shown))
    if not calls:
        calls += [
            _call({"name": found["name"], "arguments": _json(found["json"])}, shown)
            for found in _NAMED.finditer(markup)
        ]
    if not calls:
        bodies = [_json(body) for body in _BODY.findall(markup)] or [_json(_rest_of(markup))]
        for body in bodies:
            listed = cast("list[object]", body) if isinstance(body, list) else [body]
            calls += [_call(item, shown) for item in listed]
    sure = tuple(call for call in calls if call)
    return sure if sure and len(sure) == len(calls) else None


def _rest_of(markup: str) -> str:
    """Return what stands behind the first mark."""
    return re.sub(r"^\s*(?:\[TOOL_CALLS\]|<[^>]*>)\s*", "", markup).strip()


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _value(text: str) -> object:
    """Return a parameter's value: JSON where it is some other than a text."""
    plain = text.strip("\n")
    found = _json(plain)
    return plain if found is None or isinstance(found, str) else found


def _call(item: object, shown: set[str]) -> transcript.ToolCall | None:
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
    return transcript.ToolCall(
        f"call_{uuid4().hex[:16]}", name, json.dumps(arguments, ensure_ascii=False)
    )


def was_read(body: str, request: transcript.ModelRequest) -> bool:
    """Whether the model only repeats a text that it has read, ignoring white space."""
    wanted = "".join(body.split())
    read: Sequence[str] = [
        message.text
        for message in request.messages
        if not isinstance(message, transcript.AssistantSaid)
    ]
    return any(wanted in "".join(text.split()) for text in (*read, request.context))


def may_become_one(text: str) -> bool:
    start = text.lstrip()
    return len(text) <= _MAX_CHARS and (
        start.startswith(_OPENINGS) or any(opening.startswith(start) for opening in _OPENINGS)
    )


def _object(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
