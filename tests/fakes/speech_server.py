"""The speech endpoints of OpenAI and Groq on loopback, saying and hearing what a test wants.

    async with SpeechServer(api_key="k") as server:
        server.speak(b"OggS…")
        server.hear("good morning")

Replies are used up in order, one a request; `spoken` and `files` hold what was received.

    async with SpeechServer(api_key="k", rules_of="groq") as server: ...

refuses what that service refuses (`speech_rules.yml`), and answers what it takes by itself: it
speaks `MS_A_CHARACTER` of sound a character, and hears "what was said".
"""

from __future__ import annotations

import asyncio
import io
import wave
from array import array
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml
from aiohttp import BodyPartReader, web

RULES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("speech_rules.yml").read_text())
MS_A_CHARACTER = 10
RATE_HZ = 24_000


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was uploaded, and the form's other fields."""

    name: str
    data: bytes
    fields: dict[str, str]


class SpeechServer:
    """The service; an async context manager that listens while it is open."""

    def __init__(self, *, api_key: str, rules_of: str = "") -> None:
        self.rules: dict[str, Any] = RULES[rules_of] if rules_of else {}
        self.accepted: set[str] = set()
        """Models whose terms were accepted."""
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
            self.spoken.append(wish := await request.json())
            own = self._speech_by_the_rules(wish)
        elif request.path.endswith("/audio/transcriptions"):
            self.files.append(file := await _file(request))
            own = self._transcript_by_the_rules(file)
        elif "/models/" in request.path:
            return self._about(request.path.partition("/models/")[2])
        else:
            return web.json_response({"error": {"message": "no such path"}}, status=404)
        self.asked.set()
        if own is not None and not self._replies:
            return own
        reply = self._replies.popleft()
        if reply is None:
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        assert reply is not None
        return reply

    def _speech_by_the_rules(self, wish: Mapping[str, Any]) -> web.Response | None:
        rules = self.rules
        if not rules:
            return None
        model, text, how = wish["model"], wish["input"], wish.get("response_format", "mp3")
        refusal = self._refusal_of(model)
        if refusal is None and len(text) > rules["max_chars"]:
            refusal = _refused(rules["too_long"], limit=rules["max_chars"])
        if refusal is None and how not in rules["formats"]:
            refusal = _refused(rules["bad_format"], formats=", ".join(rules["formats"]))
        if refusal is not None:
            return refusal
        sound = (
            tone(len(text)) if how == "wav" else b"OggS" + bytes(24) + b"OpusHead" + b"and so on"
        )
        return web.Response(body=sound, content_type=f"audio/{how}")

    def _transcript_by_the_rules(self, file: File) -> web.Response | None:
        rules = self.rules
        if not rules:
            return None
        model, how = file.fields["model"], file.fields.get("response_format", "json")
        refusal = self._refusal_of(model)
        if refusal is None and len(file.data) > rules["max_heard_bytes"]:
            refusal = _refused(rules["too_large"])
        if refusal is None and how not in rules["heard_formats"].get(model, [how]):
            refusal = _refused(rules["bad_format"], formats="json")
        return refusal or web.json_response({"text": "what was said"})

    def _refusal_of(self, model: str) -> web.Response | None:
        if model in self.rules["dead"]:
            return _refused(self.rules["is_dead"], model=model)
        if model in self.rules["terms"] and model not in self.accepted:
            return _refused(self.rules["terms_asked"], model=model)
        return None

    def _about(self, model: str) -> web.Response:
        """`GET /models/NAME`."""
        if self.rules and model in self.rules["dead"]:
            return _refused(self.rules["is_dead"], model=model)
        about: dict[str, Any] = {"id": model, "object": "model"}
        if model in RULES["shutdown_dates"]:
            about["shutdown_date"] = RULES["shutdown_dates"][model]
        return web.json_response(about)


def tone(characters: int) -> bytes:
    """So much sound as WAV, as a service sends it that does not know its length beforehand."""
    frames = RATE_HZ * MS_A_CHARACTER * characters // 1000
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(array("h", [8000 if at // 50 % 2 else -8000 for at in range(frames)]))
    sound = bytearray(made.getvalue())
    sound[4:8] = sound[40:44] = b"\xff\xff\xff\xff"
    return bytes(sound)


def _refused(rule: Mapping[str, Any], **words: object) -> web.Response:
    error = {
        name: value.format(**words) if isinstance(value, str) else value
        for name, value in rule["error"].items()
    }
    return web.json_response({"error": error}, status=rule["status"])


async def _file(request: web.BaseRequest) -> File:
    name, data, fields = "", b"", dict[str, str]()
    async for part in await request.multipart():
        assert isinstance(part, BodyPartReader)
        if part.filename is None:
            fields[str(part.name)] = await part.text()
        else:
            name, data = part.filename, bytes(await part.read())
    return File(name, data, fields)
