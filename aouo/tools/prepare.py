"""Turns a model's tool call into an action: its JSON, its arguments, and why it is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import structlog

from aouo.facts.errors import ToolFailed
from aouo.facts.transcript import ToolCall
from aouo.facts.work import Facts
from aouo.guard.action import UNCHECKED, Action, Blocked, digest, dumped
from aouo.tools.registry import Tool

log = structlog.get_logger()
MAX_NAME_CHARS = 64
"""A tool name is cut to this length, the limit of every model service."""
_NO_TOOL = "unknown"
"""Recorded in the place of a name that a model made up off the record."""
_WRONG = "wrong arguments"
_MAX_DEPTH = 64
_TOO_DEEP = f"The arguments are nested more than {_MAX_DEPTH} deep. Send something flatter."
_OFF_RECORD = (
    "This conversation is off the record: tools may look, and change nothing. "
    "Tell the person that /otr ends it."
)


def prepare(call: ToolCall, tool: Tool | Blocked, facts: Facts) -> Action:
    """Make a call of this turn an action; `tool` is the one it names, or why there is none.

    It never raises: a wrong call gets a refusal that tells the model how to correct it.
    """
    missing = isinstance(tool, Blocked)
    name = _NO_TOOL if missing and facts.off_record else call.name[:MAX_NAME_CHARS]
    problem, payload = _read(call.arguments)
    action = Action(
        call=call,
        tool=name,
        payload=payload,
        facts=facts,
        digest=digest(name, call.arguments if problem else payload),
    )
    if missing:
        return replace(action, refusal=tool)
    action = replace(action, idempotent=tool.idempotent, timeout_s=tool.timeout_s)
    return action.refused(problem, _WRONG) if problem else _with_arguments(action, tool)


def _with_arguments(action: Action, tool: Tool) -> Action:
    """Add the parsed arguments and what follows from them; a foreign schema may fail here."""
    try:
        arguments = tool.parse(action.payload)
        action = replace(
            action,
            arguments=arguments,
            seal=digest(action.tool, dumped(arguments)),
            read_only=tool.is_read_only(arguments),
            mutates=tool.is_mutating(arguments),
        )
    except ToolFailed as error:
        return action.refused(str(error), _WRONG)
    except Exception as error:
        log.exception("judge_failed", tool=action.tool, error=repr(error))
        return action.refused(UNCHECKED, _WRONG)
    if action.facts.off_record and not action.read_only:
        return action.refused(_OFF_RECORD, "off the record", "tools")
    return action


def _read(arguments: str) -> tuple[str, dict[str, Any]]:
    """Parse the arguments: (what is wrong, "" = nothing, and an object that can be stored)."""
    try:
        payload = json.loads(arguments or "{}")
    except RecursionError:
        return _TOO_DEEP, {}
    except ValueError as error:
        return f"The arguments are not complete JSON ({error}). Send the whole call again.", {}
    if not isinstance(payload, dict):
        return "The arguments have to be one JSON object.", {}
    payload = cast("dict[str, Any]", payload)
    if _is_deep(payload):
        return _TOO_DEEP, {}
    try:
        json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "The arguments hold half of a character; send it whole, as UTF-8.", {}
    except ValueError:
        return "The arguments hold NaN or infinity, which JSON has not: send a number or null.", {}
    return "", payload


def _is_deep(payload: dict[str, Any]) -> bool:
    level: list[Any] = [payload]
    for _ in range(_MAX_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()
