"""The speech endpoints of OpenAI and Groq on loopback, saying and hearing what a test wants.

    async with SpeechServer(api_key="k") as server:
        server.speak(b"OggS…")
        server.hear("good morning")

Replies are used up in order, one a request; `spoken` and `files` hold what was received.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import BodyPartReader, web


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was uploaded, and the form's other fields."""

    name: str
    data: bytes
    fields: dict[str, str]


class SpeechServer:
    """The service; an async context manager that listens while it is open."""

    def __init__(self, *, api_key: str) -> None:
        self.paths: list[str] = []
        self.spoken: list[dict[str, Any]] = []
        self.files: list[File] = []
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        """Set when a client left before it was answered."""
        self._api_key = api_key
        self._replies: deque[web.Response | None] = deque()
        self._runner: web.ServerRunner | None = None
        self.url = ""

    def speak(self, data: bytes, content_type: str = "audio/ogg") -> None:
        self._replies.append(web.Response(body=data, content_type=content_type))

    def hear(self, text: str) -> None:
        self._replies.append(web.json_response({"text": text}))

    def fail(
        self, status: int, body: object = None, headers: Mapping[str, str] | None = None
    ) -> None:
        if isinstance(body, str):
            self._replies.append(web.Response(status=status, text=body, headers=headers))
            return
        told = body or {"error": {"message": f"status {status}"}}
        self._replies.append(web.json_response(told, status=status, headers=headers))

    def stay_silent(self) -> None:
        """Never answer the next request."""
        self._replies.append(None)

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(
            web.Server(self._answer, handler_cancellation=True), shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self._api_key}":
            error = {"error": {"message": "wrong key", "code": "invalid_api_key"}}
            return web.json_response(error, status=401)
        self.paths.append(request.path)
        if request.path.endswith("/audio/speech"):
            self.spoken.append(await request.json())
        elif request.path.endswith("/audio/transcriptions"):
            self.files.append(await _file(request))
        else:
            return web.json_response({"error": {"message": "no such path"}}, status=404)
        self.asked.set()
        reply = self._replies.popleft()
        if reply is None:
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        assert reply is not None
        return reply


async def _file(request: web.BaseRequest) -> File:
    name, data, fields = "", b"", dict[str, str]()
    async for part in await request.multipart():
        assert isinstance(part, BodyPartReader)
        if part.filename is None:
            fields[str(part.name)] = await part.text()
        else:
            name, data = part.filename, bytes(await part.read())
    return File(name, data, fields)
