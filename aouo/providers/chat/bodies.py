"""Encodes request bodies, and caches the bytes of each message from one request to the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aouo.facts.transcript import Message, ModelRequest, ToolReturned, ToolSpec
from aouo.providers.chat.wire import (
    chat_message,
    chat_tool,
    encode,
    given_ids,
    mark_places,
    marked,
    options,
    system_message,
)
from aouo.providers.dialect import PLAIN, Dialect
from aouo.providers.order import in_order
from aouo.providers.thoughts import native_of

BYTES_MAX, _PIECE_BYTES_MAX = 16_000_000, 100_000
_TOOLS_KEPT = 16
_BESIDE_BYTES = 300
"""Roughly the memory that a cached message takes besides its bytes."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A message's bytes, and the service's own ids of its calls.

    It keeps the message itself alive, so that its Python `id` cannot become another object's.
    """

    message: Message
    written: bytes
    ids: Mapping[str, str]


class Bodies:
    """Encodes the requests to one model, with the same bytes as `encode(chat_body(…))`.

    A session's messages are the same objects turn after turn, so each is encoded once, and so are
    the tools: a long history costs little more than a short one.
    """

    def __init__(self, *, model: str, provider: str = "", bytes_max: int = BYTES_MAX) -> None:
        self._model = model
        self._provider = provider
        self._bytes_max = bytes_max
        self._bytes = 0
        self._pieces: dict[bool, dict[object, Piece]] = {False: {}, True: {}}
        self._tools: deque[tuple[tuple[ToolSpec, ...], bytes]] = deque(maxlen=_TOOLS_KEPT)

    def body(self, request: ModelRequest, dialect: Dialect = PLAIN) -> bytes:
        """Return the body of one request."""
        tools = b',"tools":' + self._tools_of(request.tools) if request.tools else b""
        return b"".join(
            (
                b'{"model":',
                encode(self._model),
                b',"messages":[',
                b",".join(self._messages(request, dialect)),
                b"],",
                encode(options(request, dialect))[1:-1],
                tools,
                b"}",
            )
        )

    def _messages(self, request: ModelRequest, dialect: Dialect) -> list[bytes]:
        ordered, words_at = in_order(request)
        pieces = self._written(ordered, request, dialect)
        system = [system_message(request)] if request.system else []
        if dialect.cache_marks:
            system = [marked(message) for message in system]
            for at in mark_places(ordered, words_at):
                pieces[at] = encode(marked(chat_message(ordered[at])))
        return [*map(encode, system), *pieces]

    def _written(
        self, messages: Sequence[Message], request: ModelRequest, dialect: Dialect
    ) -> list[bytes]:
        """Return the bytes of each message; those that are in the request are remembered."""
        lasting = set(map(id, request.messages))
        known = self._pieces[dialect.thoughts]
        ids: dict[str, str] = {}
        pieces: list[bytes] = []
        for message in messages:
            named = ids.get(message.call_id, "") if ids and type(message) is ToolReturned else ""
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

    def _piece(self, message: Message, named: str, dialect: Dialect) -> Piece:
        """Encode one message; `named` is the service's id of a result's call, "" = another's."""
        native = native_of(message, self._provider, self._model)
        written = encode(chat_message(message, native, named, dialect))
        return Piece(message, written, given_ids(message, native))

    def _tool(self, spec: ToolSpec) -> dict[str, Any]:
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

    def _tools_of(self, specs: tuple[ToolSpec, ...]) -> bytes:
        for known, written in self._tools:
            if len(known) == len(specs) and all(map(_reads_the_same, known, specs)):
                return written
        written = encode([self._tool(spec) for spec in specs])
        self._tools.append((specs, written))
        return written


def _reads_the_same(one: ToolSpec, other: ToolSpec) -> bool:
    """Whether two tools give the same bytes; equal schemas need not, since 1 equals true."""
    return one is other or (
        one.parameters is other.parameters
        and (one.name, one.description) == (other.name, other.description)
    )
