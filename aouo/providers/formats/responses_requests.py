"""Writes requests in OpenAI's Responses format: the body of `POST <base_url>/responses`.

It differs from the chat format: a conversation is a list of items, a call and its result are items
of their own, and a model's thoughts go back encrypted, as an item before what followed them.

Source: the types of the openai SDK 3.54 (`openai/types/responses`), and for what is left out of an
item that goes back (`status`, ids of what nobody stored): github.com/BerriAI/litellm/issues/13420,
github.com/lidge-jun/opencodex/pull/2252 (Aug 2026), github.com/anomalyco/opencode/pull/49618 (Sep
2026: thoughts do need their id).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

from aouo.facts import transcript
from aouo.providers.dialect import PLAIN, Dialect
from aouo.providers.formats import chat_requests
from aouo.providers.order import in_order
from aouo.providers.thoughts import NATIVE_CHARS_MAX

_WIRE = "responses"
_ID_CHARS_MAX = 64
"""A longer `call_id` is refused (`string_above_max_length`)."""

Item: TypeAlias = dict[str, Any]


def _responses_options(request: transcript.ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """Return the small fields of a body, between items and tools."""
    found: dict[str, Any] = {"stream": True, "store": False}
    if dialect.encrypted:
        found["include"] = ["reasoning.encrypted_content"]
    if dialect.max_tokens:
        found["max_output_tokens"] = request.max_tokens
    if dialect.temperature and request.temperature is not None:
        found["temperature"] = request.temperature
    if effort := dialect.effort_of(request):
        found["reasoning"] = {"effort": effort}
    return found


def _responses_tool(spec: transcript.ToolSpec) -> dict[str, Any]:
    """Return a tool in the format; not strict, which would make every schema field required."""
    return {"type": "function", **chat_requests.chat_tool(spec)["function"], "strict": False}


def _given_ids(said: transcript.Message, provider: str, model: str) -> dict[str, str]:
    """Return the service's own id for each of our ids of an answer's calls, where it gave one."""
    if not isinstance(said, transcript.AssistantSaid) or not said.calls:
        return {}
    items = [item for item in _replayed(said, provider, model) if item["type"] == "function_call"]
    pairs = zip(said.calls, items, strict=False)
    return {call.id: item["call_id"] for call, item in pairs}


def _items_of(said: transcript.Message, provider: str, model: str, named: str = "") -> list[Item]:
    """Return one message as items; `named` is the service's id of a result's call, "" if another
    service made the call."""
    match said:
        case transcript.UserSaid(text, images):
            return [_message("user", _parts(text, images) if images else text)]
        case transcript.AssistantSaid(text, calls):
            return _replayed(said, provider, model) or [*_words(text), *map(_call, calls)]
        case transcript.ToolReturned(call_id, _, text):
            named = named or _sendable_id(call_id)
            output = {"type": "function_call_output", "call_id": named}
            return [output | {"output": text}]
        case _:
            return [_message("developer", said.text)]


def dump_native(
    provider: str, model: str, output: Sequence[Item], calls: Sequence[transcript.ToolCall]
) -> str:
    """Return `AssistantSaid.native` for a model's turn: its thoughts and the items between them.

    Words and arguments are in the message already, unless there are several messages. "" when
    nothing has to go back, or it is too large.
    """
    ids = iter([call.id for call in calls])
    items = [kept for item in output if (kept := _kept(item, ids))]
    while items and items[-1]["type"] == "reasoning":
        items.pop()  # refused when nothing follows it
    messages = [item for item in items if item["type"] == "message"]
    if len(messages) == 1:
        messages[0].pop("text")
    telling = any(item["type"] == "reasoning" or "phase" in item for item in items)
    if not telling and len(messages) < 2:
        return ""
    native = {"wire": _WIRE, "provider": provider, "model": model, "items": items}
    kept = json.dumps(native, ensure_ascii=False, separators=(",", ":"))
    return kept if len(kept) <= NATIVE_CHARS_MAX else ""


def words_of(item: Item) -> str:
    """Return the text of an item of the type `message`, a refusal included."""
    parts = cast("list[Item]", item.get("content") or [])
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)


def _kept(item: Item, ids: Iterator[str]) -> Item:
    match item.get("type"):
        case "reasoning" if item.get("encrypted_content"):
            names = ("type", "id", "summary", "content", "encrypted_content")
            kept: Item = {name: item[name] for name in names if item.get(name)}
            kept.setdefault("summary", [])
            return kept
        case "message":
            message: Item = {"type": "message", "text": words_of(item)}
            return message | ({"phase": item["phase"]} if item.get("phase") else {})
        case "function_call":
            return {"type": "function_call", "call_id": next(ids)}
        case _:
            return {}


def _replayed(said: transcript.AssistantSaid, provider: str, model: str) -> list[Item]:
    """Return the items as this model gave them, in order; [] when another model did, or when they
    do not match the message."""
    if not said.native:
        return []
    native: dict[str, Any] = json.loads(said.native)
    if (native.get("wire"), native.get("provider"), native.get("model")) != (
        _WIRE,
        provider,
        model,
    ):
        return []
    items = cast("list[Item]", native["items"])
    kinds = [item["type"] for item in items]
    if kinds.count("function_call") != len(said.calls) or ("message" in kinds) != bool(said.text):
        return []
    calls = iter(said.calls)
    return [_again(item, said, calls) for item in items]


def _again(
    item: Item, said: transcript.AssistantSaid, calls: Iterator[transcript.ToolCall]
) -> Item:
    match item["type"]:
        case "message":
            (words,) = _words(item.get("text", said.text)) or [_message("assistant", "")]
            return words | ({"phase": item["phase"]} if "phase" in item else {})
        case "function_call":
            return _call(next(calls)) | {"call_id": item["call_id"]}
        case _:
            return item


def _message(role: str, content: object) -> Item:
    return {"type": "message", "role": role, "content": content}


def _words(text: str) -> list[Item]:
    return [_message("assistant", [{"type": "output_text", "text": text}])] if text else []


def _call(call: transcript.ToolCall) -> Item:
    return {
        "type": "function_call",
        "call_id": _sendable_id(call.id),
        "name": chat_requests.sendable_name(call.name),
        "arguments": chat_requests.sendable_arguments(call.arguments),
    }


def _sendable_id(call_id: str) -> str:
    if len(call_id) <= _ID_CHARS_MAX:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:40]}"


def _parts(text: str, images: Sequence[transcript.Image]) -> list[Item]:
    """Return the text and pictures of one message as parts; pictures are data URLs."""
    parts: list[Item] = [{"type": "input_text", "text": text}] if text else []
    for image in images:
        data = base64.b64encode(image.data).decode()
        url = f"data:{image.media_type};base64,{data}"
        parts.append({"type": "input_image", "detail": "auto", "image_url": url})
    return parts


class ResponsesBodies(chat_requests.Bodies):
    """Encodes the requests to one model."""

    def body(self, request: transcript.ModelRequest, dialect: Dialect = PLAIN) -> bytes:
        """Return the body of one request."""
        system = (
            (b',"instructions":', chat_requests.encode(request.system)) if request.system else ()
        )
        tools = (b',"tools":', self._tools_of(request.tools)) if request.tools else ()
        ordered, _ = in_order(request)
        items = self._written(ordered, request, dialect)
        return b"".join(
            (
                b'{"model":',
                chat_requests.encode(self._model),
                *system,
                b',"input":[',
                b",".join(filter(None, items)),
                b"],",
                chat_requests.encode({**_responses_options(request, dialect), **self._added})[1:-1],
                *tools,
                b"}",
            )
        )

    def _piece(
        self, message: transcript.Message, named: str, dialect: Dialect
    ) -> chat_requests.Piece:
        who = self._provider, self._model
        items = _items_of(message, *who, named)
        return chat_requests.Piece(
            message, chat_requests.encode(items)[1:-1], _given_ids(message, *who)
        )

    def _tool(self, spec: transcript.ToolSpec) -> dict[str, Any]:
        return _responses_tool(spec)
