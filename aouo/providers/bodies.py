"""Request bodies as bytes, written in pieces that are remembered from one request to the next."""

from __future__ import annotations

from collections import deque

from aouo.providers.dialect import PLAIN, Dialect
from aouo.providers.wire import (
    chat_message,
    chat_messages,
    chat_tool,
    encode,
    newest_words,
    options,
)
from aouo.transcript import AssistantSaid, Message, ModelRequest, SystemSaid, ToolSpec

BYTES_MAX, PIECE_BYTES_MAX = 16_000_000, 100_000
_TOOLS_KEPT = 16
_BESIDE_BYTES = 300
"""What remembering a message takes besides its bytes, about."""


class Bodies:
    """Bodies of the requests to one model, as `encode(chat_body(…))` makes them, byte for byte.

    A session's messages are the same objects turn after turn, so that each is written once, and
    the tools are too: a long history costs little more than a short one.
    """

    def __init__(self, *, model: str, provider: str = "", bytes_max: int = BYTES_MAX) -> None:
        self._model = encode(model)
        self._provider = provider
        self._bytes_max = bytes_max
        self._bytes = 0
        # Each message is kept with its piece, so that its id cannot become another one's.
        self._pieces: dict[int, tuple[Message, bytes]] = {}
        self._tools: deque[tuple[tuple[ToolSpec, ...], bytes]] = deque(maxlen=_TOOLS_KEPT)

    def body(self, request: ModelRequest, dialect: Dialect = PLAIN) -> bytes:
        """The body of one request."""
        tools = b',"tools":' + self._tools_of(request.tools) if request.tools else b""
        return b"".join(
            (
                b'{"model":',
                self._model,
                b',"messages":[',
                b",".join(self._messages(request, dialect)),
                b"],",
                encode(options(request, dialect))[1:-1],
                tools,
                b"}",
            )
        )

    def _messages(self, request: ModelRequest, dialect: Dialect) -> list[bytes]:
        said = request.messages
        if dialect.thoughts or [m for m in said if type(m) is AssistantSaid and m.native]:
            # What is sent of a message depends on the others and on who is asked.
            every = chat_messages(request, self._provider, thoughts=dialect.thoughts)
            return [encode(message) for message in every]
        known = self._pieces
        pieces = [(known.get(id(message)) or self._written(message))[1] for message in said]
        if request.context:
            pieces.insert(newest_words(said), encode(chat_message(SystemSaid(request.context))))
        if request.system:
            pieces.insert(0, encode(chat_message(SystemSaid(request.system))))
        return pieces

    def _written(self, message: Message) -> tuple[Message, bytes]:
        piece = encode(chat_message(message))
        size = len(piece) + _BESIDE_BYTES
        if size > PIECE_BYTES_MAX:
            return message, piece
        if self._bytes + size > self._bytes_max:
            self._pieces.clear()
            self._bytes = 0
        self._bytes += size
        self._pieces[id(message)] = found = (message, piece)
        return found

    def _tools_of(self, specs: tuple[ToolSpec, ...]) -> bytes:
        for known, written in self._tools:
            if len(known) == len(specs) and all(map(_reads_the_same, known, specs)):
                return written
        written = encode([chat_tool(spec) for spec in specs])
        self._tools.append((specs, written))
        return written


def _reads_the_same(one: ToolSpec, other: ToolSpec) -> bool:
    """Equal schemas are not enough: 1 and true are equal."""
    return one is other or (
        one.parameters is other.parameters
        and (one.name, one.description) == (other.name, other.description)
    )
