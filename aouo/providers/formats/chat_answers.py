"""Parses answers in the OpenAI-compatible chat format, from bytes to text and tool calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast
from uuid import uuid4

from aouo.facts.errors import NoModelService, ProviderBusy, ProviderTimeout
from aouo.facts.transcript import AssistantSaid, Finished, FinishReason, ToolCall, Usage
from aouo.providers.event_stream import Event, EventStream
from aouo.providers.failures import error_object, failure, status_of
from aouo.providers.thoughts import Thoughts, merged

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",  # Claude, as the next
    "refusal": "content_filter",
    "content_filter": "content_filter",
}
_BROKE_OFF = frozenset({"error", "insufficient_system_resource"})  # OpenRouter; DeepSeek


@dataclass(slots=True)
class _Call:
    """One tool call while its pieces arrive; `given` is the service's id, `id` is ours."""

    index: object
    given: str
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])


class ChatParser:
    """Parses one answer as its bytes arrive: an event stream, or plain JSON from a server that
    does not stream. The result does not depend on how the bytes are cut.

    `feed` returns the new text; `finish`, after the last bytes, returns the whole answer. Both
    raise `ProviderError`s only. Thoughts (`reasoning_content`, `reasoning`, parts of that type)
    are not part of the text; what the service wants back of them is in `AssistantSaid.native`, as
    an answer of `model`.
    """

    def __init__(self, provider: str, *, model: str = "", mask: Callable[[str], str] = str) -> None:
        self.done = False
        """The service ended the answer; nothing more is read."""
        self._provider = provider
        self._model = model
        self._called = ""
        self._mask = mask
        self._events = EventStream(provider, mask=mask)
        self._text: list[str] = []
        self._thoughts = Thoughts()
        self._calls: list[_Call] = []
        self._usage = Usage()
        self._reason: FinishReason | None = None

    def feed(self, data: bytes) -> str:
        """Parse the next bytes; return the new text in them."""
        if self.done:
            return ""
        before = len(self._text)
        for event in self._events.feed(data):
            self._chunk(event)
        self.done = self._events.done
        new = self._text[before:]
        return new[0] if len(new) == 1 else "".join(new)

    def finish(self) -> Finished:
        """Return the whole answer, once no more bytes come.

        Raises:
            ProviderTimeout: the stream was cut: neither a finish reason nor `[DONE]` came.
        """
        if not self.done:
            self._read_rest()
        if self._reason is None and not self.done:
            raise ProviderTimeout(f"{self._provider}: the answer stopped in the middle")
        calls = tuple(ToolCall(call.id, call.name, "".join(call.arguments)) for call in self._calls)
        reason = self._reason or "unknown"
        if reason == "length" and calls and not calls[-1].arguments:
            # Cut off before its arguments: "" would pass for a call without any.
            calls = (*calls[:-1], replace(calls[-1], arguments="{"))
        if calls and reason in ("stop", "unknown"):
            reason = "tool_calls"  # what Ollama and Gemini mean
        ids = [call.id if call.id == call.given else "" for call in self._calls]
        extras = [call.extra for call in self._calls]
        native = self._thoughts.native(self._provider, self._model, ids, extras)
        said = AssistantSaid("".join(self._text), calls, native)
        return Finished(said, self._usage, reason, called=self._called)

    def _read_rest(self) -> None:
        """Read what follows the last newline; for plain JSON that is the whole answer."""
        for event in self._events.end():
            self._chunk(event)
            if self._events.plain and not event.get("choices"):
                raise NoModelService(
                    f"{self._provider}: the answer is no chat completion: "
                    + self._mask(json.dumps(event, ensure_ascii=False)[:200])
                )
        self.done = self._events.done or self._events.plain

    def _chunk(self, chunk: Event) -> None:
        if chunk.get("error") or chunk.get("object") == "error":
            error = error_object(chunk)
            raise failure(self._provider, status_of(error), error, mask=self._mask)
        try:
            self._read_usage(chunk)
            self._called = str(chunk.get("model") or self._called)
            for choice in chunk.get("choices") or ():
                if not choice.get("index"):  # we ask for one choice
                    self._choice(choice)
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise ProviderBusy(f"{self._provider}: a chunk of another shape: {error}") from error

    def _choice(self, choice: dict[str, Any]) -> None:
        streamed = choice.get("delta")
        said: dict[str, Any] = streamed or choice.get("message") or {}
        text = said.get("content") or said.get("refusal")
        if text:
            self._text.append(_plain_text(text))
        self._thoughts.take(said)
        for piece in said.get("tool_calls") or _older_form(said):
            self._call(piece, whole=not streamed)
        reason = choice.get("finish_reason")
        if reason in _BROKE_OFF:
            raise ProviderBusy(f"{self._provider}: the answer broke off: {reason}")
        if reason:
            self._reason = _REASONS.get(str(reason).lower(), "unknown")

    def _call(self, delta: dict[str, Any], *, whole: bool) -> None:
        """Add one piece of a tool call to the call it belongs to, or begin a new one.

        A missing or repeated id is replaced by one of ours, since results are paired by it.
        """
        function: dict[str, Any] = delta.get("function") or {}
        index, given = delta.get("index"), str(delta.get("id") or "")
        name = str(function.get("name") or "")
        call = None if whole else self._open_call(index, given, name)
        if call is None:
            taken = {other.id for other in self._calls}
            call = _Call(index, given, given if given and given not in taken else _new_id())
            self._calls.append(call)
        if name and call.name != name:  # some repeat it with every piece
            call.name += name
        call.extra = merged(call.extra, delta.get("extra_content"))
        arguments = function.get("arguments")
        if arguments:
            text = isinstance(arguments, str)
            call.arguments.append(arguments if text else json.dumps(arguments, ensure_ascii=False))

    def _open_call(self, index: object, given: str, name: str) -> _Call | None:
        """Return the call that this piece continues, None for a new one.

        The index decides; but some services give every parallel call index 0, or none, and
        distinguish them by id only.
        """
        for call in reversed(self._calls):
            if index is None:
                return call if not name or (given and given == call.given) else None
            if call.index == index:
                return None if given and name and given != call.given else call
        return None

    def _read_usage(self, chunk: dict[str, Any]) -> None:
        first = next(iter(chunk.get("choices") or ()), None)
        places = (chunk, as_object(chunk.get("x_groq")), as_object(first))  # the last: Kimi
        usage = next(filter(None, (as_object(place.get("usage")) for place in places)), None)
        if not usage:
            return
        thought = as_object(usage.get("completion_tokens_details")).get("reasoning_tokens")
        self._usage = Usage(
            input_tokens=count(usage.get("prompt_tokens")),
            cached_tokens=_cached(usage),
            output_tokens=count(usage.get("completion_tokens")),
            reasoning_tokens=count(thought),
        )


def _cached(usage: dict[str, Any]) -> int:
    """Return how many of the prompt's tokens were read from a cache.

    In `prompt_tokens_details` at OpenAI, Groq, xAI, OpenRouter and Google's compatible address;
    by a name of its own at DeepSeek (api-docs.deepseek.com/guides/kv_cache), Kimi
    (platform.kimi.ai/docs/api/chat), some of Mistral's and gateways before Anthropic.
    """
    details = as_object(usage.get("prompt_tokens_details"))
    places: tuple[object, ...] = (
        details.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
        usage.get("num_cached_tokens"),
        usage.get("cache_read_input_tokens"),
    )
    return next((found for place in places if (found := count(place))), 0)


def count(value: object) -> int:
    """Return a number of tokens, 0 for anything else: a bad count must not lose the answer."""
    try:
        return max(0, int(cast("Any", value) or 0))
    except (TypeError, ValueError, OverflowError):
        return 0


def _older_form(said: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the call of a server that knows only `function_call`, as a list."""
    function = as_object(said.get("function_call"))
    return [{"index": 0, "function": function}] if function else []


def as_object(value: object) -> dict[str, Any]:
    """Return a JSON object, {} for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _new_id() -> str:
    return f"call_{uuid4().hex[:16]}"


def _plain_text(content: object) -> str:
    """Return `content` as text; some services send a list of parts, thoughts among them."""
    if isinstance(content, str):
        return content
    parts = cast("list[dict[str, Any]]", content if isinstance(content, list) else ())
    said = (part for part in parts if part.get("type") in (None, "text", "output_text", "refusal"))
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in said)
