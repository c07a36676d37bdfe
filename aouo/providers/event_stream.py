"""Cuts the bytes of an answer into JSON objects, and reads calls that a model printed.

Models that do not know their server's form of a call write it as text:
`{"name": "persist", "arguments": {…}}`, bare, fenced, or between `<tool_call>` marks. It counts as
a call only if it is the whole answer, names a tool of the request, and stands nowhere in what the
model had read: a stranger's text must not be carried out because a model repeats it.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeAlias, cast
from uuid import uuid4

from aouo.facts import transcript
from aouo.facts.errors import NoModelService, ProviderBusy
from aouo.providers.failures import parse_body

_MAX_CHARS = 20_000
_OPENINGS = ("{", "[", "```", "<tool_call>")
_WHOLE = re.compile(
    r"\s*(?:<tool_call>\s*(?P<marked>.+?)\s*</tool_call>"
    r"|```(?:json|tool_call|tool_code)?\s*\n(?P<fenced>.+?)\n?\s*```|(?P<bare>[{\[].+))\s*",
    re.DOTALL,
)


async def read_printed(
    events: AsyncGenerator[transcript.ModelEvent, None], request: transcript.ModelRequest
) -> AsyncGenerator[transcript.ModelEvent, None]:
    """Yield `events` with a printed call as a call; text that may become one is held back."""
    async with aclosing(events):
        held, decided = "", not request.tools
        async for event in events:
            match event:
                case transcript.TextDelta(text) if not decided:
                    held += text
                    if not _may_become_one(held):
                        decided = True
                        yield transcript.TextDelta(held)
                case transcript.StartedOver():
                    held, decided = "", not request.tools
                    yield event
                case transcript.Finished(said=said) if not decided:
                    calls = () if said.calls else _printed_calls(said.text, request)
                    if calls:
                        said = transcript.AssistantSaid("", calls)
                        yield replace(event, said=said, reason="tool_calls")
                        return
                    if held:
                        yield transcript.TextDelta(held)
                    yield event
                case _:
                    yield event


def _printed_calls(text: str, request: transcript.ModelRequest) -> tuple[transcript.ToolCall, ...]:
    """Return the calls that `text` consists of, () when it is anything else."""
    whole = _WHOLE.fullmatch(text) if len(text) <= _MAX_CHARS else None
    if whole is None:
        return ()
    body = whole["marked"] or whole["fenced"] or whole["bare"]
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    listed = cast("list[object]", found) if isinstance(found, list) else [found]
    shown = {tool.name for tool in request.tools}
    calls = [_call(item, shown) for item in listed]
    if not calls or None in calls or _was_read(body, request):
        return ()
    return tuple(call for call in calls if call)


def _call(item: object, shown: set[str]) -> transcript.ToolCall | None:
    entry = _object(item)
    entry = _object(entry.get("function")) or entry
    name = entry.get("name", entry.get("tool"))
    arguments = entry.get("arguments", entry.get("parameters"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    if not isinstance(name, str) or name not in shown or not isinstance(arguments, dict):
        return None
    return transcript.ToolCall(
        f"call_{uuid4().hex[:16]}", name, json.dumps(arguments, ensure_ascii=False)
    )


def _was_read(body: str, request: transcript.ModelRequest) -> bool:
    """Whether the model only repeats a text that it has read, ignoring white space."""
    wanted = "".join(body.split())
    read: Sequence[str] = [
        message.text
        for message in request.messages
        if not isinstance(message, transcript.AssistantSaid)
    ]
    return any(wanted in "".join(text.split()) for text in (*read, request.context))


def _may_become_one(text: str) -> bool:
    start = text.lstrip()
    return len(text) <= _MAX_CHARS and (
        start.startswith(_OPENINGS) or any(opening.startswith(start) for opening in _OPENINGS)
    )


def _object(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


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
