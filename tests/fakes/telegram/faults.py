"""What goes wrong there: planned faults, flood control; the journal of calls."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from aouo.emulator.description import JsonObject, Upload, as_array, as_object
from aouo.emulator.refusals import ChangeSignal, Refusal


def too_many_requests(retry_after_s: int) -> Refusal:
    """Return a 429 with the seconds to wait."""
    text = f"Too Many Requests: retry after {retry_after_s}"
    return Refusal(429, text, retry_after=retry_after_s)


_FaultKind: TypeAlias = Literal[
    "drop_before", "drop_after", "status", "slow", "garbage", "duplicate_update"
]

FAULT_KINDS: tuple[str, ...] = get_args(_FaultKind)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the matching calls number `nth` to `nth + times - 1`.

    `drop_before`: the connection closes and nothing happens. `drop_after`: the call is carried out,
    and the connection closes without an answer. `status`: 429 (with `retry_after`), 502 with a
    proxy's HTML page, any other with `description`; nothing happens. `slow`: the answer comes
    `seconds` late. `garbage`: the call is carried out, the answer is JSON cut in half.
    `duplicate_update`: a getUpdates that confirms updates delivers them once more.
    """

    kind: _FaultKind
    method: str = "*"
    chat: int | None = None
    nth: int = 1
    times: int = 1
    status: int = 500
    description: str = "Internal Server Error: restart"
    retry_after: int = 1
    seconds: float = 1.0

    def matches(self, method: str, chat_id: object, *, confirms: bool) -> bool:
        if self.kind == "duplicate_update":
            return confirms
        named = self.method == "*" or self.method.lower() == method.lower()
        return named and (self.chat is None or self.chat == chat_id)


def next_fault(
    faults: list[Fault], method: str, chat_id: object, *, confirms: bool = False
) -> Fault | None:
    """Return the first of the planned faults that is due at this call, None = none.

    Every matching fault counts the call; one that has happened leaves the plan.
    """
    due: Fault | None = None
    remaining: list[Fault] = []
    for fault in faults:
        if not fault.matches(method, chat_id, confirms=confirms):
            remaining.append(fault)
        elif fault.nth > 1:
            remaining.append(replace(fault, nth=fault.nth - 1))
        elif due is not None:
            remaining.append(fault)
        else:
            due = fault
            if fault.times > 1:
                remaining.append(replace(fault, times=fault.times - 1))
    faults[:] = remaining
    return due


# Methods that count as messages; edits count like sends.
_COUNTED = ("send", "edit", "copy", "forward")
_UNCOUNTED = frozenset({"sendchataction", "sendmessagedraft", "editforumtopic"})


@dataclass(slots=True)
class _Bucket:
    """A leaky bucket: `burst` calls at once, then `rate` calls a second."""

    burst: float
    rate: float
    level: float = 0.0  # calls in the bucket; it leaks
    at: float = 0.0

    def wait_s(self, now: float) -> float:
        """Return the seconds until one more call fits; 0 if it does now."""
        self.level = max(0.0, self.level - (now - self.at) * self.rate)
        self.at = now
        return max(0.0, (self.level + 1 - self.burst) / self.rate)

    def take(self) -> None:
        self.level += 1


@dataclass(slots=True)
class FloodControl:
    """Flood control with the figures that Telegram names; off until it is switched on."""

    on: bool = False
    _chats: dict[object, list[_Bucket]] = field(default_factory=dict[object, list[_Bucket]])
    _total: _Bucket = field(default_factory=lambda: _Bucket(30, 30))
    _until: dict[object, float] = field(default_factory=dict[object, float])

    def judge(self, method: str, chat_id: object, is_group: bool, now: float) -> Refusal | None:
        """Return the 429 for this call, or count the call and return None.

        A refused chat stays refused until its time is over; each 429 names the seconds left.
        """
        name = method.lower()
        if not self.on or not name.startswith(_COUNTED) or name in _UNCOUNTED:
            return None
        held = self._until.get(chat_id, 0.0) - now
        if held > 0:
            return too_many_requests(math.ceil(held))
        buckets = [self._total, *self._buckets(chat_id, is_group)]
        wait_s = max(bucket.wait_s(now) for bucket in buckets)
        if wait_s > 1e-9:
            seconds = math.ceil(wait_s)
            self._until[chat_id] = now + seconds
            return too_many_requests(seconds)
        for bucket in buckets:
            bucket.take()
        return None

    def _buckets(self, chat_id: object, is_group: bool) -> list[_Bucket]:
        if chat_id not in self._chats:
            per_minute = [_Bucket(20, 20 / 60)] if is_group else []
            self._chats[chat_id] = [_Bucket(3, 1), *per_minute]
        return self._chats[chat_id]


@dataclass(frozen=True, slots=True)
class _ApiCall:
    """One API call; `status` is None while it is open, and if no answer was sent.

    `fault` names the fault it suffered, `at` is the emulator's clock at arrival.
    """

    number: int
    at: float
    method: str
    params: JsonObject
    status: int | None = None
    description: str = ""
    fault: str = ""


class Journal:
    """The calls and violations since the start."""

    def __init__(self, signal: ChangeSignal) -> None:
        self.calls: list[_ApiCall] = []
        self.violations: list[JsonObject] = []
        """What differs from the description, in calls and in our answers: call, method, problem."""
        self._signal = signal

    def arrived(self, at: float, method: str, params: JsonObject) -> int:
        """Record a call; return its number, from 1."""
        number = len(self.calls) + 1
        self.calls.append(_ApiCall(number, at, method, _shown(params)))
        self._signal.bump()
        return number

    def answered(
        self, number: int, status: int | None, description: str = "", fault: str = ""
    ) -> None:
        """Record how a call ended, and wake waiters."""
        call = self.calls[number - 1]
        self.calls[number - 1] = replace(call, status=status, description=description, fault=fault)
        self._signal.bump()

    def violation(self, number: int, problem: str) -> None:
        method = self.calls[number - 1].method
        self.violations.append({"call": number, "method": method, "problem": problem})


def _shown(value: Any) -> Any:
    """Return a value with descriptions in place of uploaded files."""
    if isinstance(value, Upload):
        return {"file_name": value.name, "mime_type": value.mime, "size": len(value.content)}
    found = as_object(value)
    if found is not None:
        return {name: _shown(item) for name, item in found.items()}
    items = as_array(value)
    return [_shown(item) for item in items] if items is not None else value
