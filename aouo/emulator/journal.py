"""Records every call of the bot in order, and every violation of the description."""

from dataclasses import dataclass, replace
from typing import Any

from aouo.emulator.changes import ChangeSignal
from aouo.emulator.description import Upload
from aouo.emulator.jsons import JsonObject, as_array, as_object


@dataclass(frozen=True, slots=True)
class ApiCall:
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
        self.calls: list[ApiCall] = []
        self.violations: list[JsonObject] = []
        """What differs from the description, in calls and in our answers: call, method, problem."""
        self._signal = signal

    def arrived(self, at: float, method: str, params: JsonObject) -> int:
        """Record a call; return its number, from 1."""
        number = len(self.calls) + 1
        self.calls.append(ApiCall(number, at, method, _shown(params)))
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
