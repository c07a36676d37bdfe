"""Encodes request bodies of the Responses format, and caches the bytes of each message."""

from __future__ import annotations

from collections import deque

from aouo.facts.transcript import AssistantSaid, Message, ModelRequest, ToolReturned, ToolSpec
from aouo.providers.chat.bodies import (
    BESIDE_BYTES,
    BYTES_MAX,
    PIECE_BYTES_MAX,
    Piece,
    reads_the_same,
)
from aouo.providers.chat.wire import encode
from aouo.providers.dialect import Dialect
from aouo.providers.order import in_order
from aouo.providers.responses.wire import (
    Asked,
    given_ids,
    items_of,
    replayed,
    responses_options,
    responses_tool,
)

_TOOLS_KEPT = 16


class ResponsesBodies:
    """Encodes the requests to one model, until thoughts are forgotten.

    A session's messages are the same objects turn after turn, so each is encoded once.
    """

    def __init__(self, asked: Asked, *, bytes_max: int = BYTES_MAX) -> None:
        self._asked = asked
        self._bytes_max = bytes_max
        self._bytes = 0
        self._pieces: dict[tuple[int, str], Piece] = {}
        self._tools: deque[tuple[tuple[ToolSpec, ...], bytes]] = deque(maxlen=_TOOLS_KEPT)
        self._forgotten: set[int] = set()
        """Hashes of thoughts that the service refused to take back."""

    def body(self, request: ModelRequest, dialect: Dialect) -> bytes:
        """Return the body of one request."""
        system = (b',"instructions":', encode(request.system)) if request.system else ()
        tools = (b',"tools":', self._tools_of(request.tools)) if request.tools else ()
        return b"".join(
            (
                b'{"model":',
                encode(self._asked.model),
                *system,
                b',"input":[',
                b",".join(filter(None, self._input(request))),
                b"],",
                encode(responses_options(request, dialect))[1:-1],
                *tools,
                b"}",
            )
        )

    def _input(self, request: ModelRequest) -> list[bytes]:
        lasting = set(map(id, request.messages))
        ids: dict[str, str] = {}
        pieces: list[bytes] = []
        for said in in_order(request).messages:
            named = ids.get(said.call_id, "") if ids and type(said) is ToolReturned else ""
            key = (id(said), named)
            piece = self._pieces.get(key)
            if piece is None:
                piece = self._written(said, named)
                if id(said) in lasting:
                    self._remember(key, piece)
            if piece.ids:
                ids |= piece.ids
            pieces.append(piece.written)
        return pieces

    def forget_thoughts(self, request: ModelRequest) -> bool:
        """Send the answers of this request without their thoughts from now on, since the service
        refused them; return whether any had been sent."""
        thought = [
            said
            for said in request.messages
            if type(said) is AssistantSaid and hash(said.native) not in self._forgotten
        ]
        told = [said for said in thought if replayed(said, self._asked)]
        self._forgotten.update(hash(said.native) for said in told)
        for said in told:
            self._pieces.pop((id(said), ""), None)
        return bool(told)

    def _written(self, said: Message, named: str) -> Piece:
        thoughts = type(said) is not AssistantSaid or hash(said.native) not in self._forgotten
        items = items_of(said, self._asked, named, thoughts=thoughts)
        return Piece(said, encode(items)[1:-1], given_ids(said, self._asked) if thoughts else {})

    def _remember(self, key: tuple[int, str], piece: Piece) -> None:
        size = len(piece.written) + BESIDE_BYTES
        if size > PIECE_BYTES_MAX:
            return
        if self._bytes + size > self._bytes_max:
            self._pieces.clear()
            self._bytes = 0
        self._bytes += size
        self._pieces[key] = piece

    def _tools_of(self, specs: tuple[ToolSpec, ...]) -> bytes:
        for known, written in self._tools:
            if len(known) == len(specs) and all(map(reads_the_same, known, specs)):
                return written
        written = encode([responses_tool(spec) for spec in specs])
        self._tools.append((specs, written))
        return written
