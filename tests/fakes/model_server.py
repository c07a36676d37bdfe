"""An OpenAI-compatible model service on loopback that says what a test tells it to.

    async with ModelServer() as server:
        server.say("Hello")
        model = CompatibleModel(base_url=server.base_url, ...)

Replies are used up in order, one a request; with none left, the last user message is said
back. `script` answers by what was asked instead. `requests` holds the bodies as received.
As a process of its own, for benchmarks: `python -m tests.fakes.model_server --port 0`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

from aiohttp import web

from tests.fakes import responses_stream

Body: TypeAlias = dict[str, Any]

CONTEXT = "[From the runtime, not the person. "
"""What stands before the words that began a turn begins so."""


@dataclass(frozen=True, slots=True)
class CallPart:
    """One tool call of a reply; `arguments` as a str goes out as it is, broken or not."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    id: str = ""

    @property
    def text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Says:
    """A streamed answer: thoughts, text in pieces, calls, a finish reason and the usage.

    `cut_after` breaks the connection behind that many chunks; `stall_after` waits there, or at
    each of several places, until the server's `release` is set.
    """

    text: str = ""
    calls: tuple[CallPart, ...] = ()
    chunks: int = 1
    usage: tuple[int, int, int] | None = (10, 0, 5)
    """Prompt, cached and completion tokens."""
    reason: str = ""
    thoughts: str = ""
    """What a reasoning model thinks first, as `reasoning_content`, or in `thoughts_field`."""
    thoughts_field: str = "reasoning_content"
    reasoning_tokens: int = 0
    """The part of the completion tokens that was thought."""
    cut_after: int | None = None
    stall_after: int | tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Fails:
    """An answer with an HTTP status; a body that is no str goes out as JSON."""

    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Raw:
    """Exactly these bytes, in these pieces."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "text/event-stream"
    encoding: str = ""
    cut: bool = False
    """End by breaking the connection."""


Reply: TypeAlias = Says | Fails | Raw
Script: TypeAlias = Callable[[Body], Reply | str]


class ModelServer:
    """The service; an async context manager that listens while it is open."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        port: int = 0,
        api_key: str = "",
        wires: tuple[str, ...] = ("/chat/completions",),
    ) -> None:
        """`wires`: the ends of the paths that are served; a body of `/responses` has `input`."""
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.refused: dict[str, Fails] = {}
        """What requests to paths with these ends are always refused with."""
        self.says: dict[str, object] = {}
        """What it answers at other paths: JSON, or a str as it is (`/v1/models`, `/api/show`)."""
        self.release = asyncio.Event()
        """Set it to let stalled answers go on."""
        self.stalled = asyncio.Event()
        """Set when an answer has begun to stall."""
        self.closed_by_client = asyncio.Event()
        """Set when a client left before its answer was all written."""
        self._replies: deque[Reply] = deque()
        self._script = script
        self._port = port
        self._api_key = api_key
        self._wires = wires
        self._runner: web.ServerRunner | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def port(self) -> int:
        return self._port

    @property
    def left(self) -> int:
        """Scripted replies nobody has asked for yet."""
        return len(self._replies)

    def say(
        self, text: str, *, chunks: int = 1, usage: tuple[int, int, int] | None = (10, 0, 5)
    ) -> None:
        self._replies.append(Says(text, chunks=chunks, usage=usage))

    def call(self, tool: str, args: Mapping[str, Any] | str | None = None, id: str = "") -> None:  # noqa: A002
        """Answer with one tool call."""
        self.calls(CallPart(tool, args if args is not None else {}, id))

    def calls(self, *parts: CallPart, text: str = "") -> None:
        """Answer with several tool calls in one response, perhaps with words before them."""
        self._replies.append(Says(text, parts))

    def fail(
        self, status: int, body: object = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self._replies.append(Fails(status, body, headers or {}))

    def cut(self, after_chunks: int, text: str = "The connection breaks here") -> None:
        """Break the connection behind that many of five chunks."""
        self._replies.append(Says(text, chunks=5, cut_after=after_chunks))

    def stall(self, after_chunks: int = 0, text: str = "Slowly but surely") -> None:
        """Fall silent behind that many of five chunks until `release` is set."""
        self._replies.append(Says(text, chunks=5, stall_after=after_chunks))

    def raw(
        self, *pieces: bytes, content_type: str = "text/event-stream", cut: bool = False
    ) -> None:
        self._replies.append(Raw(pieces, content_type=content_type, cut=cut))

    def reply(self, *replies: Reply) -> None:
        self._replies.extend(replies)

    async def __aenter__(self) -> Self:
        server = web.Server(self._answer, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        host: tuple[str, int] = self._runner.addresses[0]
        self._port = host[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path in self.says:
            return _failed(Fails(200, self.says[request.path]))
        if not request.path.endswith(self._wires):
            return _failed(Fails(404, _error("no such path", code="not_found")))
        if self._api_key and request.headers.get("Authorization") != f"Bearer {self._api_key}":
            return _failed(Fails(401, _error("wrong key", code="invalid_api_key")))
        body: Body = json.loads(await request.read())
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.paths.append(request.path)
        for end, fails in self.refused.items():
            if request.path.endswith(end):
                return _failed(fails)
        match self._next(body):
            case Fails() as fails:
                return _failed(fails)
            case Raw() as raw:
                return await self._write(
                    request, list(raw.pieces), raw.content_type, cut=raw.cut, encoding=raw.encoding
                )
            case Says() as says if "input" in body:
                stalls = says.stall_after
                pieces = responses_stream.pieces(says, str(body["model"]))
                if says.cut_after is not None:
                    pieces = pieces[: says.cut_after]
                return await self._write(
                    request, pieces, cut=says.cut_after is not None, stall_after=stalls
                )
            case Says() as says if not body.get("stream"):
                return web.json_response(_whole(says, str(body.get("model"))))
            case says:
                pieces = _stream(says, str(body.get("model")))
                return await self._write(
                    request,
                    pieces if says.cut_after is None else pieces[: says.cut_after],
                    cut=says.cut_after is not None,
                    stall_after=says.stall_after,
                )

    def _next(self, body: Body) -> Reply:
        if self._script is not None:
            reply = self._script(body)
            return Says(reply) if isinstance(reply, str) else reply
        return self._replies.popleft() if self._replies else Says(last_words(body))

    async def _write(
        self,
        request: web.BaseRequest,
        pieces: Sequence[bytes],
        content_type: str = "text/event-stream",
        *,
        cut: bool = False,
        encoding: str = "",
        stall_after: int | tuple[int, ...] | None = None,
    ) -> web.StreamResponse:
        stalls = stall_after if isinstance(stall_after, tuple) else (stall_after,)
        encoded = {"Content-Encoding": encoding} if encoding else {}
        response = web.StreamResponse(headers={"Content-Type": content_type, **encoded})
        try:
            await response.prepare(request)
            for at, piece in enumerate(pieces):
                if at in stalls:
                    self.stalled.set()
                    await self.release.wait()
                await response.write(piece)
            if cut and request.transport is not None:
                request.transport.abort()
                return response
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.closed_by_client.set()
            raise
        return response


def last_words(body: Body) -> str:
    """What the last user message of a request says, without what the runtime says before it."""
    for message in reversed(body.get("messages") or body["input"]):
        if message.get("role") == "user":
            return words_of(message)
    return ""


def text_of(message: Body) -> str:
    """All text of a message, in one form or the other."""
    content = message["content"]
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part["type"] == "text")
    return str(content)


def words_of(message: Body) -> str:
    """A person's own words in a message, which stand after what the runtime says."""
    text = text_of(message)
    _, told, rest = text.partition(CONTEXT)
    return rest.partition("]\n\n")[2] if told else text


def _failed(fails: Fails) -> web.Response:
    body = fails.body
    if body is None:
        body = _error(f"status {fails.status}")
    if isinstance(body, str):
        return web.Response(status=fails.status, text=body, headers=fails.headers)
    return web.json_response(body, status=fails.status, headers=fails.headers)


def _error(message: str, *, code: str | None = None) -> Body:
    return {"error": {"message": message, "type": None, "param": None, "code": code}}


def _stream(says: Says, model: str) -> list[bytes]:
    deltas: list[Body] = [{says.thoughts_field: part} for part in _split(says.thoughts, 2)]
    deltas += [{"content": part} for part in _split(says.text, says.chunks)]
    for at, call in enumerate(says.calls):
        head = {"name": call.tool, "arguments": ""}
        deltas.append(
            {"tool_calls": [_piece(at, head) | {"id": _id(at, call), "type": "function"}]}
        )
        deltas += [
            {"tool_calls": [_piece(at, {"arguments": part})]} for part in _split(call.text, 2)
        ]
    if deltas:
        deltas[0]["role"] = "assistant"
    chunks: list[Body] = [{"choices": [_choice(delta, None)]} for delta in deltas]
    chunks.append({"choices": [_choice({}, _reason(says))]})
    if says.usage:
        chunks.append({"choices": [], "usage": _usage(says.usage, says.reasoning_tokens)})
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    lines = [json.dumps(head | chunk, ensure_ascii=False).encode() for chunk in chunks]
    return [b"data: %b\n\n" % line for line in [*lines, b"[DONE]"]]


def _whole(says: Says, model: str) -> Body:
    calls = [
        {
            "id": _id(at, call),
            "type": "function",
            "function": {"name": call.tool, "arguments": call.text},
        }
        for at, call in enumerate(says.calls)
    ]
    message = {"role": "assistant", "content": says.text or None} | (
        {"tool_calls": calls} if calls else {}
    )
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": _reason(says)}],
        "usage": _usage(says.usage or (0, 0, 0)),
    }


def _choice(delta: Body, reason: str | None) -> Body:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def _piece(at: int, function: Body) -> Body:
    return {"index": at, "function": function}


def _id(at: int, call: CallPart) -> str:
    return call.id or f"call_{at}"


def _reason(says: Says) -> str:
    return says.reason or ("tool_calls" if says.calls else "stop")


def _usage(tokens: tuple[int, int, int], reasoning: int = 0) -> Body:
    prompt, cached, completion = tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def _split(text: str, pieces: int) -> list[str]:
    """`text` in at most that many pieces of about one length; none for no text."""
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[at : at + size] for at in range(0, len(text), size)]


async def _serve(port: int, text: str, chunks: int) -> None:
    """Answer every request at once with the same words, until killed."""
    reply = Says(text, chunks=chunks)
    server = ModelServer(lambda _: reply, port=port)
    server.requests = _Forgetful()
    server.headers = _Forgetful()
    server.paths = _Forgetful()
    async with server:
        print(json.dumps({"port": server.port, "base_url": server.base_url}), flush=True)  # noqa: T201
        await asyncio.Event().wait()


class _Forgetful(list[Any]):
    """A benchmark's requests are counted by others; keeping them would grow without end."""

    def append(self, item: object, /) -> None:
        """Keep nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description="a model service that answers at once")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--text", default="This is the answer to what you just asked of me here.")
    parser.add_argument("--chunks", type=int, default=18)
    options = parser.parse_args()
    try:
        asyncio.run(_serve(options.port, options.text, options.chunks))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
