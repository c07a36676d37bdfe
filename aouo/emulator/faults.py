"""Plans faults: which call goes wrong, and how."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

FaultKind: TypeAlias = Literal[
    "drop_before", "drop_after", "status", "slow", "garbage", "duplicate_update"
]

FAULT_KINDS: tuple[str, ...] = get_args(FaultKind)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the matching calls number `nth` to `nth + times - 1`.

    `drop_before`: the connection closes and nothing happens. `drop_after`: the call is carried out,
    and the connection closes without an answer. `status`: 429 (with `retry_after`), 502 with a
    proxy's HTML page, any other with `description`; nothing happens. `slow`: the answer comes
    `seconds` late. `garbage`: the call is carried out, the answer is JSON cut in half.
    `duplicate_update`: a getUpdates that confirms updates delivers them once more.
    """

    kind: FaultKind
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
