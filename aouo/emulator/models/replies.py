"""Replies: what a test or a person tells a service to answer next."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aouo.emulator.models.asked import Asked


@dataclass(frozen=True, slots=True)
class CallPart:
    """One tool call of a reply; `arguments` as a str are sent unchanged, even if broken."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    id: str = ""

    @property
    def text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)

    @property
    def value(self) -> Any:
        """The arguments as a value; {} if they are broken."""
        try:
            return json.loads(self.text)
        except ValueError:
            return {}


@dataclass(frozen=True, slots=True)
class Says:
    """A streamed answer: thoughts, text in pieces, calls, a finish reason and the usage.

    Without `thoughts` a thinking model sends some of its own. `cut_after` breaks the connection
    after so many chunks; `stall_after` waits there until the service's `release` is set.
    """

    text: str = ""
    calls: tuple[CallPart, ...] = ()
    chunks: int = 1
    usage: tuple[int, int, int] | None = None
    """Prompt, cached and completion tokens to report; None = as counted."""
    reason: str = ""
    thoughts: str = ""
    signature: str = ""
    """The signature that a client must send back, "" = the service's own if it thinks."""
    reasoning_tokens: int = 0
    cut_after: int | None = None
    stall_after: int | tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Fails:
    """An answer with an HTTP status; a body that is no str is sent as JSON."""

    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Raw:
    """Exactly these bytes, in these pieces."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "text/event-stream"
    encoding: str = ""
    cut: bool = False
    """Break the connection at the end."""


@dataclass(frozen=True, slots=True)
class Meets:
    """One of the profile's troubles, by name."""

    trouble: str


Reply: TypeAlias = Says | Fails | Raw | Meets
Script: TypeAlias = Callable[[Asked], Reply | str]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply ready to be sent: with ids of calls, thoughts, and counted tokens.

    `cached_tokens` are part of `prompt_tokens`, `thought_tokens` of `said_tokens`.
    """

    id: str
    model: str
    text: str
    calls: tuple[CallPart, ...]
    thoughts: str
    signature: str
    reason: str
    chunks: int
    prompt_tokens: int
    cached_tokens: int
    said_tokens: int
    thought_tokens: int


def split(text: str, pieces: int) -> list[str]:
    """Return `text` in at most so many pieces of similar length; [] for no text."""
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[at : at + size] for at in range(0, len(text), size)]
