"""The OpenAI-compatible chat format, outgoing: our request as the body of its one call."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any, cast

from aouo.providers.dialect import PLAIN, Dialect
from aouo.transcript import (
    AssistantSaid,
    Image,
    Message,
    ModelRequest,
    SystemSaid,
    ToolSpec,
    UserSaid,
)

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_WIRE = "chat"
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


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
        "messages": chat_messages(request, provider, thoughts=dialect.thoughts),
        **options(request, dialect),
    }
    if request.tools:
        body["tools"] = [chat_tool(spec) for spec in request.tools]
    return body


def options(request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """The small fields of a body, which stand between messages and tools."""
    found: dict[str, Any] = {"stream": True}
    if dialect.max_tokens:
        found[dialect.max_tokens] = request.max_tokens
    if dialect.stream_options:
        found["stream_options"] = {"include_usage": True}
    if dialect.temperature and request.temperature is not None:
        found["temperature"] = request.temperature
    effort = dialect.effort_of(request)
    if effort == "none" and dialect.switched:
        found["thinking"] = {"type": "disabled"}
    elif effort:
        found["reasoning_effort"] = effort
    return found


def encode(value: object) -> bytes:
    """JSON in UTF-8; a lone surrogate, which no service takes, becomes a question mark."""
    return _JSON.encode(value).encode("utf-8", "replace")


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


def chat_messages(request: ModelRequest, provider: str, *, thoughts: bool) -> list[dict[str, Any]]:
    messages = [chat_message(message) for message in request.messages]
    thought = [_thoughts(message, provider) for message in request.messages]
    if thoughts or any(said is not None for said in thought):
        for message, said in zip(messages, thought, strict=True):
            if "tool_calls" in message:
                message["reasoning_content"] = said or ""
    if request.context:
        at = newest_words(request.messages)
        messages.insert(at, {"role": "system", "content": request.context})
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    return messages


def newest_words(messages: Sequence[Message]) -> int:
    """Where the newest words of a person stand, the end if there are none."""
    places = range(len(messages) - 1, -1, -1)
    return next((at for at in places if isinstance(messages[at], UserSaid)), len(messages))


def chat_message(message: Message) -> dict[str, Any]:
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
                        "function": {
                            "name": sendable_name(call.name),
                            "arguments": sendable_arguments(call.arguments),
                        },
                    }
                    for call in calls
                ],
            }
        case _:
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}


def sendable_name(name: str) -> str:
    """What a model called, as services take it back; they refuse a whole request over a name
    that is empty, too long or of other characters, though a model made it up."""
    name = _NOT_IN_NAMES.sub("_", name)
    return (name if name[:1].isalpha() or name[:1] == "_" else f"_{name}")[:64]


def sendable_arguments(text: str) -> str:
    """Arguments as one JSON object: some servers parse them again. Broken ones stay visible."""
    try:
        value: object = json.loads(text or "{}")
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return text or "{}"
    return json.dumps({"": text}, ensure_ascii=False)


def _parts(text: str, images: Sequence[Image]) -> list[dict[str, Any]]:
    """Words and pictures of one message; pictures go inline, as data URLs."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for image in images:
        data = base64.b64encode(image.data).decode()
        url = {"url": f"data:{image.media_type};base64,{data}"}
        parts.append({"type": "image_url", "image_url": url})
    return parts


def chat_tool(spec: ToolSpec) -> dict[str, Any]:
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
