"""The OpenAI-compatible chat format, outgoing: our request as the body of its one call."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from aouo.transcript import (
    AssistantSaid,
    Image,
    Message,
    ModelRequest,
    SystemSaid,
    ToolSpec,
    UserSaid,
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one service takes of the optional fields; learnt from its own refusals.

    Reasoning models at OpenAI want `max_completion_tokens` and no temperature; some older
    servers know no `stream_options`.
    """

    max_tokens: str = "max_tokens"
    temperature: bool = True
    stream_options: bool = True
    thoughts: bool = False
    """Calls in the history want the field `reasoning_content`, be it empty (DeepSeek)."""

    def without(self, parameter: str) -> Dialect:
        """This dialect after the service refused `parameter`; the same one if it needs it."""
        match parameter:
            case "max_tokens" if self.max_tokens == "max_tokens":
                return replace(self, max_tokens="max_completion_tokens")
            case "temperature":
                return replace(self, temperature=False)
            case "stream_options" | "stream_options.include_usage":
                return replace(self, stream_options=False)
            case _:
                return self


PLAIN = Dialect()
_WIRE = "chat"


def chat_body(
    request: ModelRequest, *, model: str, dialect: Dialect = PLAIN, provider: str = ""
) -> dict[str, Any]:
    """The body of `POST <base_url>/chat/completions`, streamed.

    Thoughts that `provider` sent with its calls go back to it, and to nobody else.
    What stays the same from turn to turn comes first (system, history), so that a service
    that caches prefixes reads it once; `request.context` sits right before the newest words.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": _chat_messages(request, provider, thoughts=dialect.thoughts),
        "stream": True,
        dialect.max_tokens: request.max_tokens,
    }
    if dialect.stream_options:
        body["stream_options"] = {"include_usage": True}
    if dialect.temperature:
        body["temperature"] = request.temperature
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    return body


def encode(body: dict[str, Any]) -> bytes:
    """JSON in UTF-8; a lone surrogate, which no service takes, becomes a question mark."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def with_thoughts(provider: str, thoughts: str) -> str:
    """`AssistantSaid.native` of calls that were made after thinking.

    DeepSeek answers 400 when such a call comes back without them.
    Source: api-docs.deepseek.com/guides/thinking_mode, "Tool calls".
    """
    return json.dumps({"wire": _WIRE, "provider": provider, "thoughts": thoughts})


def _thoughts(message: Message, provider: str) -> str | None:
    if not isinstance(message, AssistantSaid) or not message.native:
        return None
    native: dict[str, Any] = json.loads(message.native)
    ours = native["wire"] == _WIRE and native["provider"] == provider
    return str(native["thoughts"]) if ours else None


def _chat_messages(request: ModelRequest, provider: str, *, thoughts: bool) -> list[dict[str, Any]]:
    messages = [_message(message) for message in request.messages]
    thought = [_thoughts(message, provider) for message in request.messages]
    if thoughts or any(said is not None for said in thought):
        for message, said in zip(messages, thought, strict=True):
            if "tool_calls" in message:
                message["reasoning_content"] = said or ""
    if request.context:
        said = [at for at, m in enumerate(request.messages) if isinstance(m, UserSaid)]
        at = said[-1] if said else len(messages)
        messages.insert(at, {"role": "system", "content": request.context})
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    return messages


def _message(message: Message) -> dict[str, Any]:
    match message:
        case SystemSaid(text):
            return {"role": "system", "content": text}
        case UserSaid(text, ()):
            return {"role": "user", "content": text}
        case UserSaid(text, images):
            return {"role": "user", "content": _parts(text, images)}
        case AssistantSaid(text, ()):
            return {"role": "assistant", "content": text}
        case AssistantSaid(text, calls):
            return {
                "role": "assistant",
                "content": text or None,
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": call.arguments},
                    }
                    for call in calls
                ],
            }
        case _:
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}


def _parts(text: str, images: Sequence[Image]) -> list[dict[str, Any]]:
    """Words and pictures of one message; pictures go inline, as data URLs."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for image in images:
        data = base64.b64encode(image.data).decode()
        url = {"url": f"data:{image.media_type};base64,{data}"}
        parts.append({"type": "image_url", "image_url": url})
    return parts


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": _without_worked_examples(spec.parameters),
    }
    return {"type": "function", "function": function}


def _without_worked_examples(schema: dict[str, Any]) -> dict[str, Any]:
    """Examples with a person's words are for the tiny model; others do without their tokens."""
    examples = cast("list[object]", schema.get("examples") or ())
    if not any(isinstance(example, dict) and "user" in example for example in examples):
        return schema
    return {key: value for key, value in schema.items() if key != "examples"}
