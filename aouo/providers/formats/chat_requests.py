"""Writes requests in the OpenAI-compatible chat format, each message encoded once."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aouo.facts import transcript
from aouo.providers import thoughts
from aouo.providers.dialect import PLAIN, Dialect
from aouo.providers.order import in_order

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def chat_body(
    request: transcript.ModelRequest, *, model: str, dialect: Dialect = PLAIN, provider: str = ""
) -> dict[str, Any]:
    """Return the body of `POST <base_url>/chat/completions`, streamed.

    The `native` part of an answer goes back only to the `provider` it came from. The parts that
    stay the same from turn to turn come first (system, history), so that a service that caches
    prefixes reads them once.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": _chat_messages(request, model=model, dialect=dialect, provider=provider),
        **_options(request, dialect),
    }
    if request.tools:
        body["tools"] = [chat_tool(spec) for spec in request.tools]
    return body


def _options(request: transcript.ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """Return the small fields of a body, between messages and tools."""
    found: dict[str, Any] = {"stream": True}
    if dialect.max_tokens:
        found[dialect.max_tokens] = request.max_tokens
    if dialect.stream_options:
        found["stream_options"] = {"include_usage": True}
    if dialect.temperature and request.temperature is not None:
        found["temperature"] = request.temperature
    if dialect.cache_key:
        found["prompt_cache_key"] = _cache_key(request)
    effort = dialect.effort_of(request)
    if effort == "none" and dialect.switched:
        found["thinking"] = {"type": "disabled"}
    elif effort:
        found["reasoning_effort"] = effort
    return found


def encode(value: object) -> bytes:
    """Return JSON in UTF-8; a lone surrogate, which no service takes, becomes a question mark."""
    return _JSON.encode(value).encode("utf-8", "replace")


def _chat_messages(
    request: transcript.ModelRequest, *, model: str, dialect: Dialect, provider: str
) -> list[dict[str, Any]]:
    ordered, words_at = in_order(request)
    ids: dict[str, str] = {}
    messages: list[dict[str, Any]] = []
    for message in ordered:
        native = thoughts.native_of(message, provider, model)
        ids |= _given_ids(message, native)
        named = ids.get(message.call_id, "") if isinstance(message, transcript.ToolReturned) else ""
        messages.append(_chat_message(message, native, named, dialect))
    system = [_system_message(request)] if request.system else []
    if dialect.cache_marks:
        system = [_marked(message) for message in system]
        for at in _mark_places(ordered, words_at):
            messages[at] = _marked(messages[at])
    return system + messages


def _system_message(request: transcript.ModelRequest) -> dict[str, Any]:
    return {"role": "system", "content": request.system}


def _given_ids(message: transcript.Message, native: thoughts.Native) -> dict[str, str]:
    """Return the service's own id for each of our ids of an answer's calls, where it gave one."""
    calls = message.calls if isinstance(message, transcript.AssistantSaid) else ()
    given = zip(calls, native.calls, strict=False)
    return {call.id: str(kept["id"]) for call, kept in given if "id" in kept}


def _chat_message(
    message: transcript.Message,
    native: thoughts.Native = thoughts.NOTHING,
    named: str = "",
    dialect: Dialect = PLAIN,
) -> dict[str, Any]:
    """Return one message of `in_order` in the format.

    `named` is the service's id of a result's call, "" if another service made the call.
    """
    match message:
        case transcript.UserSaid(text, ()):
            return {"role": "user", "content": text}
        case transcript.UserSaid(text, images):
            return {"role": "user", "content": _parts(text, images)}
        case transcript.AssistantSaid(text, calls):
            said: dict[str, Any] = {"role": "assistant", "content": text or None}
            if calls:
                said["tool_calls"] = _calls(
                    calls, native.calls or [thoughts.NO_FIELDS] * len(calls)
                )
            said |= native.message
            if calls and dialect.signed:
                said = thoughts.signed(said, dialect.signed)
            if dialect.thoughts and not any(said.get(name) for name in thoughts.THOUGHTS):
                said["reasoning_content"] = thoughts.NONE_KEPT
            return said
        case transcript.ToolReturned(call_id, _, text):
            named = named or thoughts.sendable_id(call_id)
            return {"role": "tool", "tool_call_id": named, "content": text}
        case _:
            return {"role": "system", "content": message.text}


def _calls(
    calls: Sequence[transcript.ToolCall], natives: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {
            "id": thoughts.sendable_id(call.id),
            "type": "function",
            "function": {
                "name": sendable_name(call.name),
                "arguments": sendable_arguments(call.arguments),
            },
            **native,
        }
        for call, native in zip(calls, natives, strict=True)
    ]


def wants_marks(provider: str, base_url: str, model: str) -> bool:
    """Whether the service caches only marked parts of a prompt: Claude at OpenRouter.

    Anthropic's own compatible address caches nothing, marked or not
    (platform.claude.com/docs/en/api/openai-sdk).
    """
    claude = model.lower().lstrip("~").startswith("anthropic/")
    return claude and thoughts.is_at("openrouter", provider, base_url)


def _mark_places(messages: Sequence[transcript.Message], words_at: int) -> list[int]:
    """Return the two newest messages that end a prefix of the next request too.

    A service surely finds the last request's mark only if it is sent again. Only words of the
    person are marked: OpenRouter takes text in parts for system and user only.
    """
    earlier = messages[:words_at]
    return [at for at, message in enumerate(earlier) if type(message) is transcript.UserSaid][-2:]


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message with a mark that the prompt is cached up to its end.

    Source: openrouter.ai/docs/guides/best-practices/prompt-caching: only in a part of text, four
    at most; this makes three.
    """
    parts = message["content"]
    if isinstance(parts, str):
        parts = [{"type": "text", "text": parts}]
    at = max((n for n, part in enumerate(parts) if part["type"] == "text"), default=-1)
    control = {"cache_control": {"type": "ephemeral"}}
    return message | {
        "content": [part | control if n == at else part for n, part in enumerate(parts)]
    }


def _cache_key(request: transcript.ModelRequest) -> str:
    """Return a cache key for the beginning of requests: a hash that reveals nothing of it.

    Source: docs.mistral.ai/studio-api/conversations/advanced/prompt-caching (read 23 Nov 2026): the
    same key where a prefix is likely to be shared, and no secrets or personal data in it.
    """
    begins = request.system.encode("utf-8", "replace")
    return hashlib.blake2b(begins, digest_size=8).hexdigest()


def sendable_name(name: str) -> str:
    """Return a tool name that services accept.

    They refuse a whole request over a name that is empty, too long or of other characters, though
    a model made it up.
    """
    name = _NOT_IN_NAMES.sub("_", name)
    return (name if name[:1].isalpha() or name[:1] == "_" else f"_{name}")[:64]


def sendable_arguments(text: str) -> str:
    """Return arguments as one JSON object, which some servers parse; broken ones stay readable."""
    try:
        value: object = json.loads(text or "{}")
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return text or "{}"
    return json.dumps({"": text}, ensure_ascii=False)


def _parts(text: str, images: Sequence[transcript.Image]) -> list[dict[str, Any]]:
    """Return the text and pictures of one message as parts; pictures are data URLs."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for image in images:
        data = base64.b64encode(image.data).decode()
        url = {"url": f"data:{image.media_type};base64,{data}"}
        parts.append({"type": "image_url", "image_url": url})
    return parts


def chat_tool(spec: transcript.ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


BYTES_MAX, _PIECE_BYTES_MAX = 16_000_000, 100_000
_TOOLS_KEPT = 16
_BESIDE_BYTES = 300
"""Roughly the memory that a cached message takes besides its bytes."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A message's bytes, and the service's own ids of its calls.

    It keeps the message itself alive, so that its Python `id` cannot become another object's.
    """

    message: transcript.Message
    written: bytes
    ids: Mapping[str, str]


class Bodies:
    """Encodes the requests to one model, with the same bytes as `encode(chat_body(…))`.

    A session's messages are the same objects turn after turn, so each is encoded once, and so are
    the tools: a long history costs little more than a short one.
    """

    def __init__(
        self,
        *,
        model: str,
        provider: str = "",
        bytes_max: int = BYTES_MAX,
        added: Mapping[str, Any] = thoughts.NO_FIELDS,
    ) -> None:
        self._model = model
        self._added = added
        self._provider = provider
        self._bytes_max = bytes_max
        self._bytes = 0
        self._pieces: dict[bool, dict[object, Piece]] = {False: {}, True: {}}
        self._tools: deque[tuple[tuple[transcript.ToolSpec, ...], bytes]] = deque(
            maxlen=_TOOLS_KEPT
        )

    def body(self, request: transcript.ModelRequest, dialect: Dialect = PLAIN) -> bytes:
        """Return the body of one request."""
        tools = b',"tools":' + self._tools_of(request.tools) if request.tools else b""
        return b"".join(
            (
                b'{"model":',
                encode(self._model),
                b',"messages":[',
                b",".join(self._messages(request, dialect)),
                b"],",
                encode({**_options(request, dialect), **self._added})[1:-1],
                tools,
                b"}",
            )
        )

    def _messages(self, request: transcript.ModelRequest, dialect: Dialect) -> list[bytes]:
        ordered, words_at = in_order(request)
        pieces = self._written(ordered, request, dialect)
        system = [_system_message(request)] if request.system else []
        if dialect.cache_marks:
            system = [_marked(message) for message in system]
            for at in _mark_places(ordered, words_at):
                pieces[at] = encode(_marked(_chat_message(ordered[at])))
        return [*map(encode, system), *pieces]

    def _written(
        self,
        messages: Sequence[transcript.Message],
        request: transcript.ModelRequest,
        dialect: Dialect,
    ) -> list[bytes]:
        """Return the bytes of each message; those that are in the request are remembered."""
        lasting = set(map(id, request.messages))
        known = self._pieces[dialect.thoughts]
        ids: dict[str, str] = {}
        pieces: list[bytes] = []
        for message in messages:
            named = (
                ids.get(message.call_id, "")
                if ids and type(message) is transcript.ToolReturned
                else ""
            )
            # A message's bytes depend on these alone, since one model of one service is asked.
            key = (id(message), named) if named else id(message)
            piece = known.get(key)
            if piece is None:
                piece = self._piece(message, named, dialect)
                if id(message) in lasting:
                    self._remember(known, key, piece)
            if piece.ids:
                ids |= piece.ids
            pieces.append(piece.written)
        return pieces

    def _piece(self, message: transcript.Message, named: str, dialect: Dialect) -> Piece:
        """Encode one message; `named` is the service's id of a result's call, "" = another's."""
        native = thoughts.native_of(message, self._provider, self._model)
        written = encode(_chat_message(message, native, named, dialect))
        return Piece(message, written, _given_ids(message, native))

    def _tool(self, spec: transcript.ToolSpec) -> dict[str, Any]:
        return chat_tool(spec)

    def _remember(self, known: dict[object, Piece], key: object, piece: Piece) -> None:
        size = len(piece.written) + _BESIDE_BYTES
        if size > _PIECE_BYTES_MAX:
            return
        if self._bytes + size > self._bytes_max:
            for kept in self._pieces.values():
                kept.clear()
            self._bytes = 0
        self._bytes += size
        known[key] = piece

    def _tools_of(self, specs: tuple[transcript.ToolSpec, ...]) -> bytes:
        for known, written in self._tools:
            if len(known) == len(specs) and all(map(_reads_the_same, known, specs)):
                return written
        written = encode([self._tool(spec) for spec in specs])
        self._tools.append((specs, written))
        return written


def _reads_the_same(one: transcript.ToolSpec, other: transcript.ToolSpec) -> bool:
    """Whether two tools give the same bytes; equal schemas need not, since 1 equals true."""
    return one is other or (
        one.parameters is other.parameters
        and (one.name, one.description) == (other.name, other.description)
    )
