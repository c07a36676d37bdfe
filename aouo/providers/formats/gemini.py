"""Writes requests and parses answers in Gemini's format.

It differs from the chat format: the system prompt stands apart, a model's turn is replayed in the
parts it came in (they hold the signatures of its thoughts), and all results of one turn's calls go
back together, in the order of the calls.

Source: ai.google.dev/api/generate-content and ai.google.dev/gemini-api/docs/thought-signatures.

Source: ai.google.dev/api/generate-content#generatecontentresponse.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast
from uuid import uuid4

from aouo.facts import errors, transcript
from aouo.providers.dialect import PLAIN, Dialect
from aouo.providers.event_stream import Event, EventStream
from aouo.providers.failures import error_object, failure, status_of
from aouo.providers.formats.chat_answers import as_object, count
from aouo.providers.formats.chat_requests import sendable_name
from aouo.providers.order import in_order
from aouo.providers.thoughts import FOREIGN, NATIVE_CHARS_MAX, wants_signatures

_WIRE = "gemini"
Part: TypeAlias = dict[str, Any]

_BUDGETS = {"none": 0, "minimal": 1_024, "low": 1_024, "medium": 8_192, "high": 24_576}
"""Tokens for thoughts by effort, as Google's OpenAI-compatible address sets them for 2.5.

Source: ai.google.dev/gemini-api/docs/openai, "Thinking".
"""
_BY_BUDGET = ("gemini-1", "gemini-2")
"""Models that take budgets but no levels (ai.google.dev/gemini-api/docs/thinking)."""

_NOT_AT_ALL = "gemini-3.6"
"""It thinks not at all by a budget of 0, and takes levels (maragudk/gai#369, 2026)."""


def gemini_body(
    request: transcript.ModelRequest, *, model: str, dialect: Dialect = PLAIN
) -> dict[str, Any]:
    """Return the body of `POST …/models/<model>:streamGenerateContent`."""
    body: dict[str, Any] = {}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in request.tools]}]
    config: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if dialect.temperature and request.temperature is not None:
        config["temperature"] = request.temperature
    if dialect.efforts and request.effort:
        config["thinkingConfig"] = _thinking(request, _bare(model), dialect)
    return body | {
        "contents": _contents(request, signed=wants_signatures(_bare(model))),
        "generationConfig": config,
    }


def _thinking(request: transcript.ModelRequest, model: str, dialect: Dialect) -> dict[str, Any]:
    """Return an effort as a level or, for older models, as a number of tokens; never as both,
    which the service refuses."""
    effort = request.effort
    if model.startswith(_BY_BUDGET):
        is_number = effort.removeprefix("-").isdecimal()
        budget = int(effort) if is_number else _BUDGETS.get(effort)
        return {"thinkingLevel": effort} if budget is None else {"thinkingBudget": budget}
    level = dialect.effort_of(request)
    if level == "none" and model.startswith(_NOT_AT_ALL):
        return {"thinkingBudget": 0}
    return {"thinkingLevel": level}


def _dump_native(parts: Sequence[Part]) -> str:
    """Return `AssistantSaid.native` for a model's turn; "" when it is too large."""
    native = {"wire": _WIRE, "parts": parts}
    kept = json.dumps(native, ensure_ascii=False, separators=(",", ":"))
    return kept if len(kept) <= NATIVE_CHARS_MAX else ""


def _bare(model: str) -> str:
    return model.removeprefix("models/")


def _contents(request: transcript.ModelRequest, *, signed: bool) -> list[dict[str, Any]]:
    messages, _ = in_order(request)
    turns: list[tuple[str, list[Part]]] = []
    for at, message in enumerate(messages):
        match message:
            case transcript.UserSaid():
                turns.append(("user", _words(message)))
            case transcript.AssistantSaid():
                parts = _replayed(message) or _told(message, signed=signed)
                turns.append(("model", parts))
                turns.append(("user", _responses(message, parts, messages[at + 1 :])))
            case transcript.SystemSaid() | transcript.ToolReturned():
                pass  # `in_order` leaves no SystemSaid; results were added with their calls
    return [{"role": role, "parts": parts} for role, parts in turns if parts]


def _words(said: transcript.UserSaid) -> list[Part]:
    parts: list[Part] = [{"text": said.text}] if said.text else []
    for image in said.images:
        data = base64.b64encode(image.data).decode()
        parts.append({"inlineData": {"mimeType": image.media_type, "data": data}})
    return parts


def _replayed(said: transcript.AssistantSaid) -> list[Part]:
    """Return the parts as the service sent them; [] when another one did, or they do not match.

    Streams may end with an empty part, which is refused in a history: "Unable to submit request
    because it has an empty text parameter" (google-gemini/deprecated-generative-ai-js#361 of
    February 2025). One with a signature is not empty.
    """
    if not said.native:
        return []
    native: dict[str, Any] = json.loads(said.native)
    if native.get("wire") != _WIRE:
        return []
    parts = [part for part in cast("list[Part]", native["parts"]) if part != {"text": ""}]
    words = "".join([str(part.get("text", "")) for part in parts if not part.get("thought")])
    fits = len(_called(parts)) == len(said.calls) and words.strip() == said.text.strip()
    return parts if fits else []


def _told(said: transcript.AssistantSaid, *, signed: bool) -> list[Part]:
    """Return another model's message in this format; Gemini 3.5 and later pair results by ids.

    Source: docs.litellm.ai/blog/gemini_3_5_flash.
    """
    parts: list[Part] = [{"text": said.text}] if said.text else []
    for at, call in enumerate(said.calls):
        named = sendable_name(call.name)
        part: Part = {"functionCall": {"id": call.id, "name": named, "args": _object(call)}}
        if signed and at == 0:  # one signature serves all calls of a turn
            part["thoughtSignature"] = FOREIGN
        parts.append(part)
    return parts


def _responses(
    said: transcript.AssistantSaid, parts: Iterable[Part], after: Sequence[transcript.Message]
) -> list[Part]:
    """Return the results of all calls of one turn, with the service's names and ids for them."""
    found = (
        {m.call_id: m for m in after if isinstance(m, transcript.ToolReturned)}
        if said.calls
        else {}
    )
    return [
        {"functionResponse": _response(called, found.get(call.id))}
        for call, called in zip(said.calls, _called(parts), strict=True)
    ]


def _response(called: Mapping[str, Any], result: transcript.ToolReturned | None) -> dict[str, Any]:
    if result is None:
        response = {"error": "It was not carried out."}
    else:
        response = {"error" if result.failed else "output": result.text}
    named = {key: called[key] for key in ("id", "name") if key in called}
    return named | {"response": response}


def _called(parts: Iterable[Part]) -> list[dict[str, Any]]:
    return [part["functionCall"] for part in parts if "functionCall" in part]


def _object(call: transcript.ToolCall) -> dict[str, Any]:
    """Return the arguments as the object that the format asks for; broken ones stay readable."""
    try:
        value: object = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"": call.arguments}


def _declaration(spec: transcript.ToolSpec) -> dict[str, Any]:
    declaration: dict[str, Any] = {"name": spec.name, "description": spec.description}
    if spec.parameters.get("properties"):
        declaration["parametersJsonSchema"] = spec.parameters
    return declaration


_FILTERED = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION"),
    *("PUP_LIMITED_DISABLED", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
_REASONS: dict[str, transcript.FinishReason] = {
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
        self._usage = transcript.Usage()
        self._called = ""
        self._reason = ""

    def feed(self, data: bytes) -> str:
        """Parse the next bytes; return the new text in them."""
        return "".join(map(self._chunk, self._events.feed(data)))

    def finish(self) -> transcript.Finished:
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
            raise errors.ProviderTimeout(f"{self._provider}: the answer stopped in the middle")
        if self._reason == "MISSING_THOUGHT_SIGNATURE":
            raise errors.ProviderRejected(f"{self._provider}: {self._reason}")
        calls = tuple(_call(part["functionCall"]) for part in self._parts if "functionCall" in part)
        text = "".join(self._text)
        if self._reason in _STUMBLED and text and not calls:
            raise errors.Stumbled(f"{self._provider}: {self._reason}")
        reason = _REASONS.get(self._reason, "unknown")
        if calls and reason in ("stop", "unknown"):
            reason = "tool_calls"
        native = _dump_native(self._parts) if any(map(_is_more_than_words, self._parts)) else ""
        return transcript.Finished(
            transcript.AssistantSaid(text, calls, native), self._usage, reason, called=self._called
        )

    def _chunk(self, chunk: Event) -> str:
        """Read one event; return the text in it."""
        if "error" in chunk:
            error = error_object(chunk)
            raise failure(self._provider, status_of(error), error, mask=self._mask)
        try:
            return self._read(chunk)
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise errors.ProviderBusy(
                f"{self._provider}: an event of another shape: {error}"
            ) from error

    def _read(self, chunk: Event) -> str:
        feedback: Event = chunk.get("promptFeedback") or {}
        if blocked := feedback.get("blockReason"):
            raise errors.ContentFiltered(f"{self._provider}: the prompt was blocked: {blocked}")
        if usage := as_object(chunk.get("usageMetadata")):
            self._usage = _usage(usage)
        self._called = str(chunk.get("modelVersion") or self._called)
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


def _call(function: Mapping[str, Any]) -> transcript.ToolCall:
    """Return the call with an id of ours; the service's, if any, stays in `native`."""
    arguments = json.dumps(function.get("args") or {}, ensure_ascii=False)
    return transcript.ToolCall(
        f"call_{uuid4().hex[:16]}", str(function.get("name") or ""), arguments
    )


def _usage(usage: Mapping[str, Any]) -> transcript.Usage:
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
    return transcript.Usage(prompt + tools, cached, said + thought, thought)
