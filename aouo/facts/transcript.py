"""Messages that a model reads and writes, requests and events, independent of any provider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from aouo.facts.errors import ProviderError


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model; `arguments` is its JSON text, unparsed and perhaps broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message for a model; `media_type` is for example `image/jpeg`."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SystemSaid:
    """The runtime's summary of older messages that are no longer sent.

    A model reads it before the first words of the person, not as a system message."""

    text: str


@dataclass(frozen=True, slots=True)
class UserSaid:
    """The person's words, or the runtime's in their place."""

    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantSaid:
    """The model's words and the calls it made with them.

    `native` is the provider's own form of the message as JSON, `{"wire": NAME, …}`, or ""; only
    that wire reads it, to send back what the provider needs (thoughts and their signatures).
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    native: str = ""


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """The result of one call, as the model reads it."""

    call_id: str
    name: str
    text: str
    failed: bool = False


Message: TypeAlias = SystemSaid | UserSaid | AssistantSaid | ToolReturned


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call; `cached_tokens` are part of the input, `reasoning_tokens` of the
    output."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call; the stable prefix comes first, so that a provider can cache it.

    `context` changes every turn (time, conversation, memory). It is put before the words of the
    person's message that began this turn: the first one after the `past` messages of earlier
    turns, or the newest one where `past` is None. `max_tokens` bounds thoughts and answer
    together. `temperature` and `effort` (how much to think) are sent only if the owner set them.
    `may_shrink`: after a refusal without a reason the caller will ask again with less history, so
    no other model is asked first.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    context: str = ""
    max_tokens: int = 4096
    temperature: float | None = None
    effort: str = ""
    past: int | None = None
    may_shrink: bool = False

    @property
    def has_pictures(self) -> bool:
        return any(isinstance(one, UserSaid) and one.images for one in self.messages)


FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "unknown"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class StartedOver:
    """The answer begins again, perhaps by another model; the words so far do not count."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of one model call: the whole answer, its tokens, and why it ended.

    `provider` and `model` say which one answered; "" = the one that was asked. `bounded_by` says
    whether its service or a budget gave it less room than the request asked for; `called` is the
    name that the service gives the model, "" = none.
    """

    said: AssistantSaid
    usage: Usage
    reason: FinishReason
    provider: str = ""
    model: str = ""
    bounded_by: Literal["", "service", "budget"] = ""
    called: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PaidForNothing:
    """A call failed that may have cost money, and another one follows for the same answer."""


@dataclass(frozen=True, slots=True)
class AsksAgain:
    """`failed` (provider, model) gave no answer because of `error`; `asked` is tried next, perhaps
    after a pause: the call's try `attempt` of at most `attempts`."""

    failed: tuple[str, str]
    asked: tuple[str, str]
    attempt: int
    attempts: int
    error: ProviderError


ModelEvent: TypeAlias = TextDelta | StartedOver | PaidForNothing | AsksAgain | Finished

IMAGE_TOKENS = 1_100
"""Roughly what services charge for a photo of Telegram's largest size."""


def estimate_tokens(text: str) -> int:
    """Return a cheap estimate that errs to the high side: about 3.2 ASCII characters a token,
    one token for each other character."""
    ascii_count = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return int(ascii_count / 3.2) + (len(text) - ascii_count) + 1


def dump_calls(calls: Sequence[ToolCall]) -> str:
    return json.dumps([[call.id, call.name, call.arguments] for call in calls], ensure_ascii=False)


def load_calls(text: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(*item) for item in json.loads(text))
