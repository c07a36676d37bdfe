"""The memory of a service between requests, and the order that its template demands."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias, cast

from tests.fakes.models.asked import BYTES_A_TOKEN, Asked, Entry
from tests.fakes.models.profile import Body, Caching, Limit, Order, matches

_SEEN_MAX = 1_000_000
_LOOK_BACK = 20
"""The pieces before a mark that are checked too (Anthropic, "Prompt caching")."""
_DAY_S = 86_400


Issued: TypeAlias = tuple[Body, Body]
"""A call as it was sent: the message and the call, with all that a client must send back."""


@dataclass(slots=True)
class Memory:
    """The memory of one service since its start."""

    issued: dict[str, Issued] = field(default_factory=dict[str, Issued])
    spent: deque[tuple[float, str, int]] = field(default_factory=deque[tuple[float, str, int]])
    """(time, model, tokens) of each answer of the last day."""
    terms_accepted: bool = True
    """Whether the terms of models that require it were accepted."""
    _seen: set[bytes] = field(default_factory=set[bytes])

    def spend(self, now_s: float, model: str, tokens: int) -> None:
        self.spent.append((now_s, model, tokens))
        while self.spent[0][0] < now_s - _DAY_S:
            self.spent.popleft()

    def used(self, limit: Limit, now_s: float, wanted: int) -> tuple[int, float]:
        """Return the use that counts against a limit now, and the seconds to wait.

        After that time `wanted` is allowed, or at least the oldest use does not count any more.
        """
        counted = [
            (when, tokens if limit.of == "tokens" else 1)
            for when, model, tokens in self.spent
            if when > now_s - limit.seconds and matches(model, limit.models)
        ]
        if limit.refills:
            return _drained(limit, counted, now_s, wanted)
        wait_s = counted[0][0] + limit.seconds - now_s if counted else 0.0
        return sum(amount for _, amount in counted), wait_s

    def cached_tokens(self, asked: Asked, caching: Caching) -> int:
        """Return the tokens of the prompt's beginning that are cached, and cache all of it."""
        if caching.wants and caching.wants not in asked.body:
            return 0
        by_marks = caching.marked_models and matches(asked.model, caching.marked_models)
        match "marked" if by_marks else caching.kind:
            case "none":
                return 0
            case "blocks":
                found = self._blocks(asked, caching.block_tokens)
            case "marked":
                found = self._marked(asked)
        return found if found >= caching.least_tokens else 0

    def _blocks(self, asked: Asked, tokens: int) -> int:
        text = "\n".join((asked.model, *asked.prompt)).encode("utf-8", "replace")
        size = tokens * BYTES_A_TOKEN
        known, counting, link = 0, True, b""
        for at in range(0, len(text) - size + 1, size):
            link = _chained(link, text[at : at + size])
            counting = counting and link in self._seen
            known += tokens * counting
            self._note(link)
        return known

    def _marked(self, asked: Asked) -> int:
        links: list[bytes] = []
        sums: list[int] = []
        link, total = asked.model.encode(), 0
        for piece in asked.prompt:
            data = piece.encode("utf-8", "replace")
            link, total = _chained(link, data), total + len(data) // BYTES_A_TOKEN
            links.append(link)
            sums.append(total)
        looked_at = {at for mark in asked.marked for at in range(mark - _LOOK_BACK, mark + 1)}
        known = [sums[at] for at in looked_at if at >= 0 and links[at] in self._seen]
        for mark in asked.marked:
            self._note(links[mark])
        return max(known, default=0)

    def _note(self, link: bytes) -> None:
        if len(self._seen) >= _SEEN_MAX:
            self._seen.clear()
        self._seen.add(link)


def _drained(
    limit: Limit, counted: list[tuple[float, int]], now_s: float, wanted: int
) -> tuple[int, float]:
    a_second, level = limit.amount / limit.seconds, 0.0
    at_s = counted[0][0] if counted else now_s
    for when, amount in counted:
        level = max(0.0, level - (when - at_s) * a_second) + amount
        at_s = when
    level = max(0.0, level - (now_s - at_s) * a_second)
    return round(level), max(0.0, (level + wanted - limit.amount) / a_second)


def _chained(link: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(link + data, digest_size=16).digest()


Facts: TypeAlias = Mapping[str, Any]
"""The facts that a refusal may quote."""
_SYSTEM = ("system", "developer")


def wrong_order(order: Order, asked: Asked) -> Facts | None:
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
