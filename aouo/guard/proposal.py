"""A call as it comes to the door, what the door needs to carry it out, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aouo.facts.events import Origin
from aouo.facts.transcript import ToolCall
from aouo.guard.action import Action


class Runner(Protocol):
    """What carries a call out once it is allowed; holds the handler so that nobody else has to."""

    @property
    def timeout_s(self) -> float | None: ...
    def effect(self, payload: Mapping[str, Any]) -> bool: ...
    def reads(self, payload: Mapping[str, Any]) -> bool: ...
    def check(self, payload: Mapping[str, Any]) -> None:
        """Raises: ToolFailed: says which argument is wrong and how."""
        ...

    async def run(self, payload: Mapping[str, Any], call_id: str) -> str:
        """Raises: ToolFailed."""
        ...


class Shelf(Protocol):
    """Where results go that are too long for a prompt."""

    async def keep(self, action: Action, text: str) -> str:
        """Keep the redacted `text`; return the handle that the model reads instead."""
        ...


@dataclass(frozen=True, slots=True)
class Proposal:
    """One call of one turn; `owner` and `media` as in `Action`.

    `problem` is why the tool cannot be had just now, "" = it can, or there is no such tool.
    `recorded`: it was told of, and is in the audit, since its intent was written down.
    """

    call: ToolCall
    origin: Origin
    pack: str
    turn_id: str
    owner: str = ""
    session_id: str = ""
    off_record: bool = False
    problem: str = ""
    media: str = ""
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model reads, whether it worked, and whether something changed.

    `kept`: the text is a handle, and there is more to read. `unknown`: it failed on the way, and
    what it was to change may be changed.
    """

    text: str
    failed: bool
    effect: bool = False
    kept: bool = False
    unknown: bool = False
