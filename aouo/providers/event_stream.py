"""Cuts the bytes of an answer into JSON objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, cast

from aouo.facts.errors import NoModelService, ProviderBusy
from aouo.providers.failures import parse_body

_BLANK = b"\xef\xbb\xbf \t\r\n"  # with the byte order mark
_DONE = b"[DONE]"
_FIELDS = (b":", b"event:", b"id:", b"retry:", b"data")
_MAX_PENDING_BYTES = 16 * 1024 * 1024  # one line of a stream, or one whole unstreamed answer

Event: TypeAlias = dict[str, Any]


class EventStream:
    """Cuts bytes into events as they arrive, independently of how the bytes are cut.

    An event is one line (`data: {…}`), as all services send it. It raises `ProviderError`s only,
    each in its place among the events.
    """

    def __init__(self, provider: str, *, mask: Callable[[str], str] = str) -> None:
        self.done = False
        """`[DONE]` came; what follows is ignored."""
        self.plain = False
        """The answer is one JSON text, no stream."""
        self._provider = provider
        self._mask = mask
        self._pending = bytearray()
        self._known = False
        self._began = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """Add the next bytes; yield the events that are complete now."""
        pending = self._pending
        # CRLF and CR end a line too; the empty lines this makes mean nothing.
        pending += data.replace(b"\r", b"\n") if b"\r" in data else data
        if len(pending) > _MAX_PENDING_BYTES:
            raise ProviderBusy(f"{self._provider}: an event of over {_MAX_PENDING_BYTES} bytes")
        if not self._known:
            head = pending.lstrip(_BLANK)
            if not head:
                return
            self._known, self.plain = True, head[:1] in b"{["
            pending[:] = head
        end = -1 if self.plain else pending.rfind(b"\n")
        if end < 0:
            return
        lines = bytes(pending[:end])
        del pending[: end + 1]
        yield from self._lines(lines.split(b"\n"))

    def end(self) -> Iterator[Event]:
        """Yield the events in the rest, once no more bytes come; half an event is dropped."""
        rest = bytes(self._pending).strip(_BLANK)
        self._pending.clear()
        payload = rest[5:].strip() if rest.startswith(b"data:") else b""
        if self.plain:
            yield from self._objects(rest)
        elif any(field.startswith(rest) for field in _FIELDS):
            return  # the first letters of a line
        elif not payload or payload == _DONE or parse_body(payload) is not None:
            yield from self._lines([rest])

    def _lines(self, lines: Iterable[bytes]) -> Iterator[Event]:
        for line in lines:
            if self.done:
                return
            payload = line[5:].strip() if line.startswith(b"data:") else b""
            if payload == _DONE:
                self.done = True
            elif payload:
                yield from self._objects(payload)
                self._began = True
            else:
                self._other(line)

    def _other(self, line: bytes) -> None:
        """Ignore comments, empty lines and the other fields of the format; refuse other text."""
        if self._began or not line or line.startswith(_FIELDS):
            return
        raise NoModelService(
            f"{self._provider}: the answer is no event stream, is base_url right? "
            + self._quote(line)
        )

    def _objects(self, payload: bytes) -> list[Event]:
        """Return one object, or those of a list."""
        try:
            value: object = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise ProviderBusy(f"{self._provider}: broken JSON: {self._quote(payload)}") from error
        items = cast("list[object]", value if isinstance(value, list) else [value])
        if not items or not all(isinstance(item, dict) for item in items):
            raise ProviderBusy(f"{self._provider}: not an event: {self._quote(payload)}")
        return cast("list[Event]", items)

    def _quote(self, data: bytes) -> str:
        return self._mask(data[:200].decode("utf-8", "replace"))
