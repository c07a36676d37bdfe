"""Bodies of the Responses format as bytes, written in pieces that are remembered."""

from __future__ import annotations

from collections import deque

from aouo.providers.bodies import BYTES_MAX, PIECE_BYTES_MAX
from aouo.providers.dialect import Dialect
from aouo.providers.order import in_order
from aouo.providers.responses_wire import (
    Asked,
    items_of,
    replayed,
    responses_options,
    responses_tool,
)
from aouo.providers.wire import encode
from aouo.transcript import AssistantSaid, Message, ModelRequest, ToolSpec

_TOOLS_KEPT = 16
_BESIDE_BYTES = 300
"""What remembering a message takes besides its bytes, about."""


class ResponsesBodies:
    """Bodies of the requests to one model, as `encode(responses_body(…))` makes them, byte for
    byte, until thoughts are forgotten.

    A session's messages are the same objects turn after turn, so that each is written once.
    """

    def __init__(self, asked: Asked, *, bytes_max: int = BYTES_MAX) -> None:
        self._asked = asked
        self._bytes_max = bytes_max
        self._bytes = 0
        # Each message is kept with its piece, so that its id cannot become another one's.
        self._pieces: dict[int, tuple[Message, bytes]] = {}
        self._tools: deque[tuple[tuple[ToolSpec, ...], bytes]] = deque(maxlen=_TOOLS_KEPT)
        self._forgotten: set[str] = set()

    def body(self, request: ModelRequest, dialect: Dialect) -> bytes:
        """The body of one request."""
        lasting = set(map(id, request.messages))
        system = (b',"instructions":', encode(request.system)) if request.system else ()
        tools = (b',"tools":', self._tools_of(request.tools)) if request.tools else ()
        return b"".join(
            (
                b'{"model":',
                encode(self._asked.model),
                *system,
                b',"input":[',
                b",".join(
                    piece
                    for said in in_order(request)
                    if (piece := self._piece(said, lasting=id(said) in lasting))
                ),
                b"],",
                encode(responses_options(request, dialect))[1:-1],
                *tools,
                b"}",
            )
        )

    def forget_thoughts(self, request: ModelRequest) -> bool:
        """Tell the answers of this request without their thoughts from now on, for the service
        did not take them; false when none went along."""
        thought = [
            said
            for said in request.messages
            if type(said) is AssistantSaid and said.native and said.native not in self._forgotten
        ]
        told = [said for said in thought if replayed(said, self._asked)]
        self._forgotten.update(said.native for said in told)
        for said in told:
            self._pieces.pop(id(said), None)
        return bool(told)

    def _piece(self, said: Message, *, lasting: bool) -> bytes:
        known = self._pieces.get(id(said)) if lasting else None
        if known:
            return known[1]
        thoughts = type(said) is not AssistantSaid or said.native not in self._forgotten
        piece = encode(items_of(said, self._asked, thoughts=thoughts))[1:-1]
        size = len(piece) + _BESIDE_BYTES
        if lasting and size <= PIECE_BYTES_MAX:
            self._remember(said, piece, size)
        return piece

    def _remember(self, said: Message, piece: bytes, size: int) -> None:
        if self._bytes + size > self._bytes_max:
            self._pieces.clear()
            self._bytes = 0
        self._bytes += size
        self._pieces[id(said)] = (said, piece)

    def _tools_of(self, specs: tuple[ToolSpec, ...]) -> bytes:
        for known, written in self._tools:
            if len(known) == len(specs) and all(map(_is_the_same, known, specs)):
                return written
        written = encode([responses_tool(spec) for spec in specs])
        self._tools.append((specs, written))
        return written


def _is_the_same(one: ToolSpec, other: ToolSpec) -> bool:
    """Equal schemas are not enough: 1 and true are equal."""
    return one is other or (
        one.parameters is other.parameters
        and (one.name, one.description) == (other.name, other.description)
    )
