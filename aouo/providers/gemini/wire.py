"""Writes requests in Gemini's format: the body of `streamGenerateContent`.

It differs from the chat format: the system prompt stands apart, a model's turn is replayed in the
parts it came in (they hold the signatures of its thoughts), and all results of one turn's calls go
back together, in the order of the calls.

Source: ai.google.dev/api/generate-content and ai.google.dev/gemini-api/docs/thought-signatures.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from aouo.facts.transcript import (
    AssistantSaid,
    Message,
    ModelRequest,
    SystemSaid,
    ToolCall,
    ToolReturned,
    ToolSpec,
    UserSaid,
)
from aouo.providers.chat.wire import sendable_name
from aouo.providers.dialect import PLAIN, Dialect
from aouo.providers.order import in_order
from aouo.providers.thoughts import FOREIGN, NATIVE_CHARS_MAX, wants_signatures

WIRE = "gemini"
Part: TypeAlias = dict[str, Any]

_BUDGETS = {"none": 0, "minimal": 1_024, "low": 1_024, "medium": 8_192, "high": 24_576}
"""Tokens for thoughts by effort, as Google's OpenAI-compatible address sets them for 2.5.

Source: ai.google.dev/gemini-api/docs/openai, "Thinking".
"""
_BY_BUDGET = ("gemini-1", "gemini-2")
"""Models that take budgets but no levels (ai.google.dev/gemini-api/docs/thinking)."""


def gemini_body(request: ModelRequest, *, model: str, dialect: Dialect = PLAIN) -> dict[str, Any]:
    """Return the body of `POST …/models/<model>:streamGenerateContent`."""
    body: dict[str, Any] = {}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in request.tools]}]
    config: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if dialect.temperature and request.temperature is not None:
        config["temperature"] = request.temperature
    if effort := dialect.effort_of(request):
        config["thinkingConfig"] = _thinking(effort, _bare(model))
    return body | {
        "contents": _contents(request, signed=wants_signatures(_bare(model))),
        "generationConfig": config,
    }


def _thinking(effort: str, model: str) -> dict[str, Any]:
    """Return an effort as a level or, for older models, as a number of tokens; never as both,
    which the service refuses."""
    if not model.startswith(_BY_BUDGET):
        return {"thinkingLevel": effort}
    budget = _BUDGETS.get(effort)
    if budget is None and effort.removeprefix("-").isdecimal():
        budget = int(effort)
    return {"thinkingLevel": effort} if budget is None else {"thinkingBudget": budget}


def dump_native(parts: Sequence[Part]) -> str:
    """Return `AssistantSaid.native` for a model's turn; "" when it is too large."""
    native = {"wire": WIRE, "parts": parts}
    kept = json.dumps(native, ensure_ascii=False, separators=(",", ":"))
    return kept if len(kept) <= NATIVE_CHARS_MAX else ""


def _bare(model: str) -> str:
    return model.removeprefix("models/")


def _contents(request: ModelRequest, *, signed: bool) -> list[dict[str, Any]]:
    messages, _ = in_order(request)
    turns: list[tuple[str, list[Part]]] = []
    for at, message in enumerate(messages):
        match message:
            case UserSaid():
                turns.append(("user", _words(message)))
            case AssistantSaid():
                parts = _replayed(message) or _told(message, signed=signed)
                turns.append(("model", parts))
                turns.append(("user", _responses(message, parts, messages[at + 1 :])))
            case SystemSaid() | ToolReturned():
                pass  # `in_order` leaves no SystemSaid; results were added with their calls
    return [{"role": role, "parts": parts} for role, parts in turns if parts]


def _words(said: UserSaid) -> list[Part]:
    parts: list[Part] = [{"text": said.text}] if said.text else []
    for image in said.images:
        data = base64.b64encode(image.data).decode()
        parts.append({"inlineData": {"mimeType": image.media_type, "data": data}})
    return parts


def _replayed(said: AssistantSaid) -> list[Part]:
    """Return the parts as the service sent them; [] when another one did, or they do not match.

    Streams may end with an empty part, which is refused in a history: "Unable to submit request
    because it has an empty text parameter" (google-gemini/deprecated-generative-ai-js#361 of
    February 2025). One with a signature is not empty.
    """
    if not said.native:
        return []
    native: dict[str, Any] = json.loads(said.native)
    if native.get("wire") != WIRE:
        return []
    parts = [part for part in cast("list[Part]", native["parts"]) if part != {"text": ""}]
    words = "".join([str(part.get("text", "")) for part in parts if not part.get("thought")])
    fits = len(_called(parts)) == len(said.calls) and words.strip() == said.text.strip()
    return parts if fits else []


def _told(said: AssistantSaid, *, signed: bool) -> list[Part]:
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


def _responses(said: AssistantSaid, parts: Iterable[Part], after: Sequence[Message]) -> list[Part]:
    """Return the results of all calls of one turn, with the service's names and ids for them."""
    found = {m.call_id: m for m in after if isinstance(m, ToolReturned)} if said.calls else {}
    return [
        {"functionResponse": _response(called, found.get(call.id))}
        for call, called in zip(said.calls, _called(parts), strict=True)
    ]


def _response(called: Mapping[str, Any], result: ToolReturned | None) -> dict[str, Any]:
    if result is None:
        response = {"error": "It was not carried out."}
    else:
        response = {"error" if result.failed else "output": result.text}
    named = {key: called[key] for key in ("id", "name") if key in called}
    return named | {"response": response}


def _called(parts: Iterable[Part]) -> list[dict[str, Any]]:
    return [part["functionCall"] for part in parts if "functionCall" in part]


def _object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments as the object that the format asks for; broken ones stay readable."""
    try:
        value: object = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"": call.arguments}


def _declaration(spec: ToolSpec) -> dict[str, Any]:
    declaration: dict[str, Any] = {"name": spec.name, "description": spec.description}
    if spec.parameters.get("properties"):
        schema = {key: value for key, value in spec.parameters.items() if key != "examples"}
        declaration["parametersJsonSchema"] = schema
    return declaration
