"""Checks the order of a conversation's entries, as each service's template does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias, cast

from aouo.emulator.models.asked import Asked, Entry
from aouo.emulator.models.profile import Order

Facts: TypeAlias = Mapping[str, Any]
"""The facts that a refusal may quote."""
_SYSTEM = ("system", "developer")


def wrong(order: Order, asked: Asked) -> Facts | None:
    """Return the facts of a wrong order, None = it is right."""
    return _CHECKS[order](asked.entries)


def _broken_arguments(entries: tuple[Entry, ...]) -> Facts | None:
    for at, entry in enumerate(entries):
        for call in entry.calls:
            if not _is_an_object(call.raw):
                return {"id": call.id, "at": at}
    return None


def _is_an_object(call: Any) -> bool:
    try:
        return isinstance(json.loads(call["function"]["arguments"]), dict)
    except ValueError:
        return False


def _empty_assistant(entries: tuple[Entry, ...]) -> Facts | None:
    for at, entry in enumerate(entries):
        if entry.role == "assistant" and not entry.calls and not entry.raw.get("content"):
            return {"at": at}
    return None


def _empty_part(entries: tuple[Entry, ...]) -> Facts | None:
    """Find an empty text part; one with a signature is allowed, since Gemini sends such parts."""
    for at, entry in enumerate(entries):
        parts = entry.raw.get("parts")
        if not isinstance(parts, list):
            continue
        for part in cast("list[dict[str, Any]]", parts) or [{"text": ""}]:
            if part.get("text") == "" and "thoughtSignature" not in part:
                return {"at": at}
    return None


def _first_user(entries: tuple[Entry, ...]) -> Facts | None:
    said = [entry for entry in entries if entry.role not in _SYSTEM]
    return None if said and said[0].role == "user" else {}


def _last_assistant(entries: tuple[Entry, ...]) -> Facts | None:
    last = entries[-1].role if entries else "nothing"
    return None if last in ("user", "tool") else {"role": last}


def _system_first(entries: tuple[Entry, ...]) -> Facts | None:
    late = [at for at, entry in enumerate(entries) if at and entry.role in _SYSTEM]
    return {"at": late[0]} if late else None


def _system_late(entries: tuple[Entry, ...]) -> Facts | None:
    for before, entry in pairwise(entries):
        if entry.role in _SYSTEM and before.role not in _SYSTEM:
            return {"role": entry.role, "after": before.role}
    return None


def _user_after_tool(entries: tuple[Entry, ...]) -> Facts | None:
    for before, entry in pairwise(entries):
        if (before.role, entry.role) == ("tool", "user"):
            return {"role": "user", "after": "tool"}
    return None


def _users_in_a_row(entries: tuple[Entry, ...]) -> Facts | None:
    for before, entry in pairwise(entries):
        if before.role == entry.role and entry.role in ("user", "assistant"):
            return {"role": entry.role, "after": entry.role}
    return None


def _unanswered_call(entries: tuple[Entry, ...]) -> Facts | None:
    """Find a call that the next entries of the role `tool` do not answer."""
    open_ids: list[str] = []
    for entry in entries:
        if entry.role == "tool":
            open_ids = [one for one in open_ids if one not in entry.answers]
        elif entry.calls:
            open_ids += [call.id for call in entry.calls]
        elif open_ids and entry.role in ("user", "assistant"):
            break
    return {"ids": ", ".join(open_ids), "id": open_ids[0]} if open_ids else None


def _orphan_result(entries: tuple[Entry, ...]) -> Facts | None:
    known: set[str] = set()
    for at, entry in enumerate(entries):
        known |= {call.id for call in entry.calls} | {call.name for call in entry.calls}
        lost = [one for one in entry.answers if one not in known]
        if lost:
            return {"id": lost[0], "at": at}
    return None


def _results_together(entries: tuple[Entry, ...]) -> Facts | None:
    """Find calls without as many results right after them, or with other ids."""
    for at, entry in enumerate(entries):
        if not entry.calls:
            continue
        after = entries[at + 1].answers if at + 1 < len(entries) else ()
        if len(after) != len(entry.calls):
            return {"calls": len(entry.calls), "results": len(after)}
        for call, answer in zip(entry.calls, after, strict=True):
            if call.id and answer != call.id:
                return {"calls": call.id, "results": answer}
    return None


_CHECKS: Mapping[Order, Callable[[tuple[Entry, ...]], Facts | None]] = {
    "broken_arguments": _broken_arguments,
    "empty_assistant": _empty_assistant,
    "empty_part": _empty_part,
    "first_user": _first_user,
    "last_assistant": _last_assistant,
    "orphan_result": _orphan_result,
    "results_together": _results_together,
    "system_first": _system_first,
    "system_late": _system_late,
    "unanswered_call": _unanswered_call,
    "user_after_tool": _user_after_tool,
    "users_in_a_row": _users_in_a_row,
}
