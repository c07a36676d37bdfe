"""Serves the Bot API over HTTP: reads, checks, runs and answers every call."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from aouo.emulator import description
from aouo.emulator.door import Poll
from aouo.emulator.files import Parameters, file_at, read_parameters
from aouo.emulator.methods import METHODS, Handler
from aouo.emulator.refusals import ChangeSignal, Refusal, bad_request
from aouo.emulator.world import World

_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")
_MISSING = {
    "chat_id": "chat_id is empty",
    "text": "message text is empty",
    "message_id": "message identifier is not specified",
    "message_thread_id": "message thread not found",
}


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class BotApi:
    """Answers `/bot<token>/<method>` and `/file/bot<token>/<path>`."""

    token: str
    world: World
    poll: Poll
    signal: ChangeSignal
    clock: Callable[[], float]

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", r"/bot{token:[^/]*}/{method:[^/]*}", self.call)
        app.router.add_get(r"/file/bot{token:[^/]*}/{path:.+}", self.download)

    async def call(self, request: web.Request) -> web.StreamResponse:
        """One API call."""
        try:
            self._check_token(request.match_info["token"])
            raw = await read_parameters(request, local=self.world.local)
        except Refusal as refusal:
            return answer(refusal)
        method = request.match_info["method"]
        uploads = {name: item for name, item in raw.items() if isinstance(item, description.Upload)}
        known = description.api_methods().get(method.lower())
        if known is None:
            return self.refuse_unknown(method, raw)
        values, problems = description.read_call(known, raw)
        # An unknown parameter may be a part that `attach://` refers to.
        problems = [one for one in problems if not (one.flaw == "unknown" and one.path in uploads)]
        return await self.run(request, known, Parameters(values, uploads), problems)

    def refuse_unknown(self, method: str, raw: description.JsonObject) -> web.Response:
        """Answer a call of a method that Telegram does not have."""
        return answer(Refusal(404, "Not Found: method not found"))

    async def run(
        self,
        request: web.Request,
        method: description.Described,
        params: Parameters,
        problems: list[description.Problem],
    ) -> web.StreamResponse:
        """Carry a call out, and answer it."""
        outcome = await self.outcome(method, params, problems)
        self.signal.bump()
        return answer(outcome)

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Answer the bytes of a file, without its name."""
        try:
            self._check_token(request.match_info["token"])
        except Refusal as refusal:
            return answer(refusal)
        found = file_at(self.world, request.match_info["path"])
        if found is None:
            return answer(Refusal(404, "Not Found"))
        return web.Response(body=found.content, content_type="application/octet-stream")

    async def outcome(
        self, method: description.Described, params: Parameters, problems: list[description.Problem]
    ) -> Any:
        """Return the call's result, or the Refusal as a value."""
        try:
            _refuse_problems(problems)
            if method.name == "getUpdates":
                return await self.poll.get_updates(params)
            handler = self.handler(method, params)
            if handler is None:
                raise Refusal(501, f"Not Implemented in the emulator: {method.name}")
            now = self.clock()
            self.world.forget_expired(now)
            return handler(self.world, params, now)
        except Refusal as refusal:
            return refusal

    def handler(self, method: description.Described, params: Parameters) -> Handler | None:
        """Return what carries a method out."""
        return METHODS.get(method.name.lower())

    def _check_token(self, token: str) -> None:
        if not _TOKEN.fullmatch(token):
            raise Refusal(404, "Not Found")
        if token != self.token:
            raise Refusal(401, "Unauthorized")


def _refuse_problems(problems: list[description.Problem]) -> None:
    for problem in problems:
        if problem.flaw == "missing":
            raise bad_request(_MISSING.get(problem.path, f"parameter {problem.path} is required"))
        if problem.flaw == "type":
            raise bad_request(f"can't parse parameter {problem}")


def answer(outcome: Any) -> web.Response:
    """Return the answer to a call that ended with a result, or with a Refusal."""
    if not isinstance(outcome, Refusal):
        return web.json_response({"ok": True, "result": outcome})
    body: description.JsonObject = {
        "ok": False,
        "error_code": outcome.code,
        "description": outcome.description,
    }
    headers: dict[str, str] = {}
    if outcome.parameters:
        body["parameters"] = outcome.parameters
    if "retry_after" in outcome.parameters:
        headers["Retry-After"] = str(outcome.parameters["retry_after"])
    return web.json_response(body, status=outcome.code, headers=headers)
