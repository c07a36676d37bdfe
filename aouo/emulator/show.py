"""Plays a model for `aouo try --show`: each message of a person gets the next scene."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from aouo.emulator.door import only_ours

_MODEL = "scripted"
_WINDOW_TOKENS = 32_768
_PIECE_CHARS = 24
_MAX_BODY_BYTES = 60_000_000


@dataclass(frozen=True, slots=True)
class _Call:
    tool: str
    arguments: Mapping[str, object]


@asynccontextmanager
async def playing() -> AsyncGenerator[Mapping[str, Any]]:
    """Serve the scripted model on this machine; yield the settings that point there."""
    show = _Show()
    app = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=[only_ours])
    app.router.add_get("/v1/models", show.list_models)
    app.router.add_post("/v1/chat/completions", show.answer)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield {
            "provider": {"backend": "show", "model": _MODEL},
            "providers": {"show": {"base_url": address, "api_key": "sk-local"}},
        }
    finally:
        await runner.cleanup()


class _Show:
    """The scenes, which begin anew after the last, in the form of Chat Completions."""

    def __init__(self) -> None:
        script = yaml.safe_load(Path(__file__).with_name("show.yml").read_text("utf-8"))
        self._scenes = cycle(
            (_Call(**scene["call"]) if "call" in scene else None, scene["words"])
            for scene in script["scenes"]
        )
        self._sending, self._end = _Call(**script["sending"]), script["end"]
        self._words = ""  # of the scene that a person's message has begun
        self._calls = 0

    async def list_models(self, _request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": _MODEL, "max_model_len": _WINDOW_TOKENS}]})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        reply = self._reply(body)
        for delta in self._deltas(reply):
            await response.write(_chunk(delta, None))
        await response.write(_chunk({}, "stop" if isinstance(reply, str) else "tool_calls"))
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    def _reply(self, body: Mapping[str, Any]) -> str | _Call:
        if not body.get("tools"):  # the runtime asks for a title, a summary
            return "The show"
        messages: list[dict[str, Any]] = body["messages"]
        if messages[-1]["role"] != "tool":
            call, self._words = next(self._scenes)
            return call or self._words
        tools = [call["function"]["name"] for call in messages[-2].get("tool_calls") or ()]
        return self._words or (self._end if self._sending.tool in tools else self._sending)

    def _deltas(self, reply: str | _Call) -> list[dict[str, Any]]:
        """Return a reply in the pieces that are streamed."""
        if isinstance(reply, str):
            starts = range(0, len(reply), _PIECE_CHARS)
            return [{"content": reply[start : start + _PIECE_CHARS]} for start in starts]
        self._calls += 1
        function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
        call = {"index": 0, "id": f"call_{self._calls}", "type": "function", "function": function}
        return [{"tool_calls": [call]}]


def _chunk(delta: dict[str, Any], reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: %b\n\n" % json.dumps({"model": _MODEL, "choices": [choice]}).encode()
