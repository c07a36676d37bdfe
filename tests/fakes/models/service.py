"""Runs a local model service of one family: answers, and the pages besides.

async with ModelService(profile("groq")) as service:
    service.say("Hello")
    settings = Settings.model_validate(service.settings())
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, Self

from aiohttp import web
from aiohttp.typedefs import Middleware

from aouo.emulator.door import only_ours
from tests.fakes.models import chat, gemini, responses
from tests.fakes.models.asked import (
    Asked,
    file_of,
    read,
    sound_of,
    spoken,
    to_speak,
    to_write_down,
    written_down,
)
from tests.fakes.models.chat import answer_of
from tests.fakes.models.judging import Refused, called_up, filled, judge, refused
from tests.fakes.models.memory import Memory
from tests.fakes.models.profile import SOUNDS, Body, Model, Page, Profile, Sound, Wire
from tests.fakes.models.telling import Fails, Meets, Raw, Says, Script, Told


def _page_for(request: web.Request, data: bytes, profile: Profile) -> web.Response | None:
    """Return the page at a request's path, None = there is none; `data` is the request's body.

    Raises: as `json.loads`, or `AttributeError`, if a POST's body is no JSON object.
    """
    for page in profile.pages:
        if page.each and page.method == request.method == "GET":
            one = request.path.removeprefix(f"{page.path}/")
            if one in profile.models:
                return _one(page, profile, one)
        if (page.method, page.path) != (request.method, request.path):
            continue
        name = _named(data) if page.method == "POST" else ""
        if page.method == "POST" and name not in profile.models:
            wrong = refused(profile, "no_model", None, "no such model", {"model": name})
            return web.json_response(wrong.body, status=wrong.status)
        return web.json_response(_body(page, profile, name or profile.model))
    return None


def _one(page: Page, profile: Profile, name: str) -> web.Response:
    """Return a list's entry of one model as a page."""
    model = profile.models[name]
    if not model.dead:
        return web.json_response(_each(page, name, model))
    wrong = refused(profile, model.dead, None, "the model was shut down", {"model": name})
    return web.json_response(wrong.body, status=wrong.status)


def _named(data: bytes) -> str:
    body: Any = json.loads(data or b"{}")
    return str(body.get("model") or body.get("name") or "")


def _body(page: Page, profile: Profile, name: str) -> Any:
    listed = [_each(page, one, model) for one, model in profile.living.items()]
    facts = _facts(name, profile.models[name]) | {"models": listed}
    return filled(page.body, facts)


def _each(page: Page, name: str, model: Model) -> Body:
    return {**filled(dict(page.each), _facts(name, model)), **model.listed}


def _facts(name: str, model: Model) -> Body:
    return {
        "model": name,
        "path": f"models/{name}",
        "kind": "vlm" if model.sees else "llm",
        "window": model.window,
        "loaded": model.in_force,
        "output": model.output,
        "modalities": ["text", "image"] if model.sees else ["text"],
        "sees": model.sees,
        "shutdown": model.shutdown.isoformat() if model.shutdown else None,
    }


KEY = "sk-local"
_MAX_BODY_BYTES = 60_000_000
_FORMATS: Mapping[str, ModuleType] = {"chat": chat, "responses": responses, "gemini": gemini}
_STREAMED, _WHOLE = "streamGenerateContent", "generateContent"


class ModelService(Told):
    """The service; an async context manager that listens while it is open.

    `plan` is the profile's plan whose limits apply, "" = none. `loaded` is the window of all its
    models in tokens, 0 = their own. Without `keep` requests and answers are only counted.
    """

    doors: ClassVar[tuple[Middleware, ...]] = (only_ours,)
    """The middlewares before every request."""

    def __init__(
        self,
        profile: Profile,
        script: Script | None = None,
        *,
        port: int = 0,
        plan: str = "",
        loaded: int = 0,
        api_key: str = KEY,
        keep: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(profile.loaded_with(loaded) if loaded else profile, script, keep=keep)
        self.memory = Memory()
        self._port = port
        self._plan = plan
        self._api_key = api_key
        self._clock = clock
        self._serial = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """The address for aouo's configuration."""
        return self.url + self.profile.address

    @property
    def port(self) -> int:
        return self._port

    def settings(self, model: str = "") -> Body:
        """Return the part of aouo's configuration that points here."""
        return self.profile.settings(self.url, model, key=self._api_key)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=self.doors)
        app.router.add_route("*", "/{path:.*}", self._receive)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        except BaseException:
            await self._runner.cleanup()
            raise
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _receive(self, request: web.Request) -> web.StreamResponse:
        """Answer one request with a page, a refusal or an answer."""
        profile = self.profile
        if not self._admits(request):
            return self._refuse(refused(profile, "wrong_key", None, "the key is wrong"))
        if sound := sound_of(request, profile):
            return await self._receive_sound(request, sound)
        found = _wire_of(request, profile)
        data = await request.read()
        try:
            if found is None:
                page = _page_for(request, data, profile)
                return page or web.Response(status=404, text="404 page not found")
            wire, model = found
            body: Body = json.loads(data)
            asked = read(wire, body, model)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return web.json_response({"error": {"message": f"unreadable: {error!r}"}}, status=400)
        self.note_request(body, request.headers, request.path)
        now_s = self._clock()
        wrong = judge(asked, profile, self.memory, now_s=now_s, plan=self._plan)
        return self._refuse(wrong) if wrong else await self._reply(request, asked, now_s)

    async def _receive_sound(self, request: web.Request, sound: Sound) -> web.StreamResponse:
        """Answer one request to speak or to transcribe with a refusal or an answer."""
        try:
            if sound == "speech":
                wish: Body = await request.json()
                asked = to_speak(wish)
                self.note_sound(wish, request.path)
            else:
                file = await file_of(request)
                asked = to_write_down(file)
                self.note_sound(file, request.path)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return web.json_response({"error": {"message": f"unreadable: {error!r}"}}, status=400)
        now_s = self._clock()
        wrong = judge(asked, self.profile, self.memory, now_s=now_s, plan=self._plan)
        return self._refuse(wrong) if wrong else await self._reply(request, asked, now_s)

    async def _reply(self, request: web.Request, asked: Asked, now_s: float) -> web.StreamResponse:
        match self.next_reply(asked):
            case Meets(name):
                return self._refuse(called_up(self.profile, name, asked, now_s))
            case Fails() as fails:
                return failed(fails.status, fails.body, fails.headers)
            case Raw() as raw:
                return await self._write(
                    request,
                    raw.pieces,
                    raw.content_type,
                    status=raw.status,
                    cut=raw.cut,
                    encoding=raw.encoding,
                )
            case says if asked.wire in SOUNDS:
                return await self._sound(request, asked, says, now_s)
            case says:
                return await self._speak(request, asked, says, now_s)

    async def _sound(
        self, request: web.Request, asked: Asked, says: Says, now_s: float
    ) -> web.StreamResponse:
        self.memory.spend(now_s, asked.model, asked.prompt_tokens)
        if asked.wire == "speech":
            data, kind = spoken(asked)
        else:
            told = {"text": says.text} if says.text else written_down(asked)
            data, kind = json.dumps(told).encode(), "application/json"
        return await self._write(request, [data], kind, stall_after=says.stall_after)

    async def _speak(
        self, request: web.Request, asked: Asked, says: Says, now_s: float
    ) -> web.StreamResponse:
        self._serial += 1
        cached = self.memory.cached_tokens(asked, self.profile.caching)
        answer = answer_of(says, asked, self.profile, cached=cached, serial=self._serial)
        self.note_answer(answer)
        self.memory.spend(now_s, asked.model, answer.prompt_tokens + answer.said_tokens)
        form, stream = _FORMATS[asked.wire], self.profile.stream
        self.memory.issued.update(form.issued(answer, stream))
        if not (asked.body.get("stream") or request.path.endswith(_STREAMED)):
            return web.json_response(form.whole(answer, asked, stream))
        pieces: list[bytes] = form.pieces(answer, asked, stream)
        return await self._write(
            request,
            pieces if says.cut_after is None else pieces[: says.cut_after],
            cut=says.cut_after is not None,
            stall_after=says.stall_after,
        )

    def _refuse(self, wrong: Refused) -> web.Response:
        self.note_refusal(wrong)
        if wrong.inside:
            event = b"data: %b\n\n" % json.dumps(wrong.body).encode()
            return web.Response(body=event, content_type="text/event-stream")
        return failed(wrong.status, wrong.body, wrong.headers)

    def _admits(self, request: web.Request) -> bool:
        match self.profile.key:
            case "none":
                return True
            case "bearer":
                return request.headers.get("Authorization") == f"Bearer {self._api_key}"
            case "google":
                return request.headers.get("x-goog-api-key") == self._api_key

    async def _write(
        self,
        request: web.Request,
        pieces: Sequence[bytes],
        content_type: str = "text/event-stream",
        *,
        status: int = 200,
        cut: bool = False,
        encoding: str = "",
        stall_after: int | tuple[int, ...] | None = None,
    ) -> web.StreamResponse:
        stalls = stall_after if isinstance(stall_after, tuple) else (stall_after,)
        encoded = {"Content-Encoding": encoding} if encoding else {}
        headers = {"Content-Type": content_type, **encoded}
        response = web.StreamResponse(status=status, headers=headers)
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


def _wire_of(request: web.Request, profile: Profile) -> tuple[Wire, str] | None:
    """Return a request's format and the model in its path; None = it asks no model."""
    if request.method != "POST":
        return None
    for wire, path in profile.paths.items():
        if wire != "gemini" and request.path == path:
            return wire, ""
        model, _, verb = request.path.removeprefix(path).partition(":")
        if wire == "gemini" and request.path.startswith(path) and verb in (_STREAMED, _WHOLE):
            return wire, model
    return None


def failed(status: int, body: Any, headers: Mapping[str, str]) -> web.Response:
    if body is None:
        body = {"error": {"message": f"status {status}", "type": None, "code": None}}
    if isinstance(body, str):
        kind = "text/html" if body.lstrip().startswith("<") else "text/plain"
        return web.Response(status=status, text=body, headers=headers, content_type=kind)
    return web.json_response(body, status=status, headers=headers)
