"""Encodes request bodies of the Responses format, and caches the bytes of each message."""

from __future__ import annotations

from typing import Any

from aouo.facts.transcript import AssistantSaid, Message, ModelRequest, ToolSpec
from aouo.providers.chat.bodies import BYTES_MAX, Bodies, Piece
from aouo.providers.chat.wire import encode
from aouo.providers.dialect import PLAIN, Dialect
from aouo.providers.order import in_order
from aouo.providers.responses.wire import (
    given_ids,
    items_of,
    replayed,
    responses_options,
    responses_tool,
)


class ResponsesBodies(Bodies):
    """Encodes the requests to one model, until thoughts are forgotten."""

    def __init__(self, *, model: str, provider: str = "", bytes_max: int = BYTES_MAX) -> None:
        super().__init__(model=model, provider=provider, bytes_max=bytes_max)
        self._forgotten: set[int] = set()
        """Hashes of thoughts that the service refused to take back."""

    def body(self, request: ModelRequest, dialect: Dialect = PLAIN) -> bytes:
        """Return the body of one request."""
        system = (b',"instructions":', encode(request.system)) if request.system else ()
        tools = (b',"tools":', self._tools_of(request.tools)) if request.tools else ()
        ordered, _ = in_order(request)
        items = self._written(ordered, request, dialect)
        return b"".join(
            (
                b'{"model":',
                encode(self._model),
                *system,
                b',"input":[',
                b",".join(filter(None, items)),
                b"],",
                encode(responses_options(request, dialect))[1:-1],
                *tools,
                b"}",
            )
        )

    def forget_thoughts(self, request: ModelRequest) -> bool:
        """Send the answers of this request without their thoughts from now on, since the service
        refused them; return whether any had been sent."""
        thought = [
            said
            for said in request.messages
            if type(said) is AssistantSaid and hash(said.native) not in self._forgotten
        ]
        told = [said for said in thought if replayed(said, self._provider, self._model)]
        self._forgotten.update(hash(said.native) for said in told)
        for said in told:
            for known in self._pieces.values():
                known.pop(id(said), None)
        return bool(told)

    def _piece(self, message: Message, named: str, dialect: Dialect) -> Piece:
        who = self._provider, self._model
        thoughts = type(message) is not AssistantSaid or hash(message.native) not in self._forgotten
        items = items_of(message, *who, named, thoughts=thoughts)
        return Piece(message, encode(items)[1:-1], given_ids(message, *who) if thoughts else {})

    def _tool(self, spec: ToolSpec) -> dict[str, Any]:
        return responses_tool(spec)
