"""What the model reads and says: one entry after another, independent of any provider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asked for; `arguments` is the JSON text as it came, perhaps broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class UserSaid:
    """The person's words, or ours on their behalf; `id` numbers the stored row."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantSaid:
    """The model's words and the calls it made with them."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """The result of one call, as the model reads it."""

    call_id: str
    name: str
    text: str
    failed: bool = False


Message: TypeAlias = UserSaid | AssistantSaid | ToolReturned


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call; `cached` is the part of `input_tokens` read from a cache."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call: the stable prefix first, so that a provider can cache it.

    `context` is the part that changes every turn (time, conversation); it goes behind the
    history, right before the newest words. `max_tokens` bounds the answer.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    context: str = ""
    max_tokens: int = 4096
    temperature: float = 0.7


FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "unknown"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of one model call: all of what was said, what it cost, why it ended."""

    said: AssistantSaid
    usage: Usage
    reason: FinishReason


ModelEvent: TypeAlias = TextDelta | Finished


def estimate_tokens(text: str) -> int:
    """A cheap estimate that errs to the high side: about 3.2 ASCII characters a token,
    one token for each other character."""
    ascii_count = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return int(ascii_count / 3.2) + (len(text) - ascii_count) + 1


def message_tokens(message: Message) -> int:
    """The estimate for one entry, with a few tokens for what every provider adds around it."""
    match message:
        case UserSaid(text) | ToolReturned(text=text):
            return estimate_tokens(text) + 4
        case AssistantSaid(text, calls):
            return (
                estimate_tokens(text)
                + 4
                + sum(estimate_tokens(call.name + call.arguments) for call in calls)
            )


def most_tokens(message: Message) -> int:
    """What `message_tokens` cannot exceed, without looking at a character."""
    if isinstance(message, AssistantSaid) and message.calls:
        return message_tokens(message)
    return len(message.text) + 5


def dump_calls(calls: Sequence[ToolCall]) -> str:
    return json.dumps([[call.id, call.name, call.arguments] for call in calls], ensure_ascii=False)


def load_calls(text: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(*item) for item in json.loads(text))
