"""Parses answers in Gemini's format, from bytes to text and tool calls.

Source: ai.google.dev/api/generate-content#generatecontentresponse.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from aouo.facts.errors import (
    ContentFiltered,
    ProviderBusy,
    ProviderRejected,
    ProviderTimeout,
    Stumbled,
)
from aouo.facts.transcript import AssistantSaid, Finished, FinishReason, ToolCall, Usage
from aouo.providers.chat.answers import as_object, count
from aouo.providers.event_stream import Event, EventStream
from aouo.providers.failures import error_object, failure, status_of
from aouo.providers.gemini.wire import Part, dump_native

_FILTERED = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION"),
    *("PUP_LIMITED_DISABLED", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(_FILTERED, "content_filter"),
}
_STUMBLED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})
"""The model wrote a call that the service cannot read."""


class GeminiParser:
    """Parses one answer as its bytes arrive; an `endpoint.AnswerParser`.

    Thoughts are never part of the text. What the service wants back besides text and calls is in
    `AssistantSaid.native`.
    """

    done = False
    """Always false: only the end of the stream ends an answer in this format."""

    def __init__(self, provider: str, *, mask: Callable[[str], str] = str) -> None:
        self._provider = provider
        self._mask = mask
        self._events = EventStream(provider, mask=mask)
        self._parts: list[Part] = []
        self._text: list[str] = []
        self._usage = Usage()
        self._reason = ""

    def feed(self, data: bytes) -> str:
        """Parse the next bytes; return the new text in them."""
        return "".join(map(self._chunk, self._events.feed(data)))

    def finish(self) -> Finished:
        """Return the whole answer, once no more bytes come.

        An answer that is only an unreadable call is returned empty, and so asked for once more.

        Raises:
            ProviderTimeout: the stream was cut: no finish reason came.
            Stumbled: an unreadable call follows words, which would pass for the answer.
            ProviderRejected: our request lacks a signature.
        """
        for event in self._events.end():
            self._chunk(event)
        if not self._reason:
            raise ProviderTimeout(f"{self._provider}: the answer stopped in the middle")
        if self._reason == "MISSING_THOUGHT_SIGNATURE":
            raise ProviderRejected(f"{self._provider}: {self._reason}")
        calls = tuple(_call(part["functionCall"]) for part in self._parts if "functionCall" in part)
        text = "".join(self._text)
        if self._reason in _STUMBLED and text and not calls:
            raise Stumbled(f"{self._provider}: {self._reason}")
        reason = _REASONS.get(self._reason, "unknown")
        if calls and reason in ("stop", "unknown"):
            reason = "tool_calls"
        native = dump_native(self._parts) if any(map(_is_more_than_words, self._parts)) else ""
        return Finished(AssistantSaid(text, calls, native), self._usage, reason)

    def _chunk(self, chunk: Event) -> str:
        """Read one event; return the text in it."""
        if "error" in chunk:
            error = error_object(chunk)
            raise failure(self._provider, status_of(error), error, mask=self._mask)
        try:
            return self._read(chunk)
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise ProviderBusy(f"{self._provider}: an event of another shape: {error}") from error

    def _read(self, chunk: Event) -> str:
        feedback: Event = chunk.get("promptFeedback") or {}
        if blocked := feedback.get("blockReason"):
            raise ContentFiltered(f"{self._provider}: the prompt was blocked: {blocked}")
        if usage := as_object(chunk.get("usageMetadata")):
            self._usage = _usage(usage)
        before = len(self._text)
        for candidate in chunk.get("candidates") or ():
            if not candidate.get("index"):  # we ask for one candidate
                self._candidate(candidate)
        return "".join(self._text[before:])

    def _candidate(self, candidate: Event) -> None:
        content: Event = candidate.get("content") or {}
        for part in content.get("parts") or ():
            self._part(part)
        if reason := candidate.get("finishReason"):
            self._reason = str(reason)

    def _part(self, part: Part) -> None:
        if part.get("thought"):
            if "thoughtSignature" in part:
                self._parts.append(part)
            return
        if text := part.get("text"):
            self._text.append(str(text))
        last = self._parts[-1] if self._parts else {}
        if part.keys() == last.keys() == {"text"}:  # pieces; signed parts must stay apart
            last["text"] += part["text"]
        else:
            self._parts.append(part)


def _is_more_than_words(part: Part) -> bool:
    return part.keys() != {"text"}


def _call(function: Mapping[str, Any]) -> ToolCall:
    """Return the call with an id of ours; the service's, if any, stays in `native`."""
    arguments = json.dumps(function.get("args") or {}, ensure_ascii=False)
    return ToolCall(f"call_{uuid4().hex[:16]}", str(function.get("name") or ""), arguments)


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Return the totals of this answer so far; thoughts are billed as output."""
    prompt, tools, cached, said, thought = (
        count(usage.get(field))
        for field in (
            "promptTokenCount",
            "toolUsePromptTokenCount",
            "cachedContentTokenCount",
            "candidatesTokenCount",
            "thoughtsTokenCount",
        )
    )
    return Usage(prompt + tools, cached, said + thought, thought)
