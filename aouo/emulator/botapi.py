"""Serves the Bot API over HTTP: reads, checks, runs, answers and records every call."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from aouo.emulator import description
from aouo.emulator.entities import AUTOMATIC, SETTABLE
from aouo.emulator.faults import (
    Fault,
    FloodControl,
    Journal,
    Refusal,
    bad_request,
    next_fault,
    too_many_requests,
)
from aouo.emulator.files import Parameters, file_at, read_parameters
from aouo.emulator.methods import METHODS
from aouo.emulator.webhook import Poll
from aouo.emulator.world import World

_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")
_MISSING = {
    "chat_id": "chat_id is empty",
    "text": "message text is empty",
    "message_id": "message identifier is not specified",
    "message_thread_id": "message thread not found",
}
_PROXY_PAGE = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


_DOWNLOAD = "download"
"""The name of a file download in a plan of faults."""


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class BotApi:
    """Answers `/bot<token>/<method>` and `/file/bot<token>/<path>`."""

    token: str
    world: World
    journal: Journal
    poll: Poll
    faults: list[Fault]
    flood: FloodControl
    clock: Callable[[], float]

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", r"/bot{token:[^/]*}/{method:[^/]*}", self.call)
        app.router.add_get(r"/file/bot{token:[^/]*}/{path:.+}", self.download)

    async def call(self, request: web.Request) -> web.StreamResponse:
        """One API call, with the fault planned for it."""
        try:
            self._check_token(request.match_info["token"])
            raw = await read_parameters(request, local=self.world.local)
        except Refusal as refusal:
            return _refused(refusal)
        method = request.match_info["method"]
        uploads = {name: item for name, item in raw.items() if isinstance(item, description.Upload)}
        known = description.api_methods().get(method.lower())
        if known is None:
            number = self.journal.arrived(self.clock(), method, raw)
            self.journal.violation(number, "no such method")
            return self._answer(number, Refusal(404, "Not Found: method not found"))
        values, problems = description.read_call(known, raw)
        problems = [one for one in problems if not _is_attached(one, uploads)]
        number = self.journal.arrived(self.clock(), known.name, values)
        self._note(number, values, problems)
        fault = self._fault(known, Parameters(values, uploads))
        if fault is not None and fault.kind == "drop_before":
            return self._drop(request, number, fault)
        if fault is not None and fault.kind == "status":
            return self._answer_status(number, fault)
        outcome = await self._outcome(known, Parameters(values, uploads), problems, fault)
        if fault is not None and fault.kind == "drop_after":
            return self._drop(request, number, fault)
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        self._check_result(number, known, outcome)
        if fault is not None and fault.kind == "garbage":
            return self._answer_garbage(number, outcome, fault)
        return self._answer(number, outcome, fault)

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Answer the bytes of a file, without its name."""
        try:
            self._check_token(request.match_info["token"])
        except Refusal as refusal:
            return _refused(refusal)
        found = file_at(self.world, request.match_info["path"])
        if found is None:
            return _refused(Refusal(404, "Not Found"))
        fault = next_fault(self.faults, _DOWNLOAD, None)
        if fault is not None and fault.kind == "status":
            return web.Response(status=fault.status, text=fault.description)
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        elif fault is not None:
            return await _cut_in_half(request, found)
        return web.Response(body=found.content, content_type="application/octet-stream")

    async def _outcome(
        self,
        method: description.Described,
        params: Parameters,
        problems: list[description.Problem],
        fault: Fault | None,
    ) -> Any:
        """Return the call's result, or the Refusal as a value."""
        try:
            _refuse_problems(problems)
            if method.name == "getUpdates":
                duplicate = fault is not None and fault.kind == "duplicate_update"
                return await self.poll.get_updates(params, duplicate=duplicate)
            handler = METHODS.get(method.name.lower())
            if handler is None:
                raise Refusal(501, f"Not Implemented in the emulator: {method.name}")
            now = self.clock()
            self._check_flood(method, params, now)
            self.world.forget_expired(now)
            return handler(self.world, params, now)
        except Refusal as refusal:
            return refusal

    def _fault(self, method: description.Described, params: Parameters) -> Fault | None:
        polls = method.name == "getUpdates"
        confirms = polls and self.world.updates.confirmable(params.integer("offset"))
        return next_fault(self.faults, method.name, params.values.get("chat_id"), confirms=confirms)

    def _check_flood(self, method: description.Described, params: Parameters, now: float) -> None:
        chat_id = params.values.get("chat_id")
        is_group = isinstance(chat_id, int) and chat_id < 0
        refusal = self.flood.judge(method.name, chat_id, is_group, now)
        if refusal is not None:
            raise refusal

    def _check_token(self, token: str) -> None:
        if not _TOKEN.fullmatch(token):
            raise Refusal(404, "Not Found")
        if token != self.token:
            raise Refusal(401, "Unauthorized")

    def _note(
        self, number: int, values: description.JsonObject, problems: list[description.Problem]
    ) -> None:
        for problem in problems:
            self.journal.violation(number, str(problem))
        if "parse_mode" in values:
            self.journal.violation(number, "parse_mode: the emulator parses no markup")
        for name in ("entities", "caption_entities"):
            for item in values.get(name, []):
                if item["type"] not in SETTABLE | AUTOMATIC:
                    self.journal.violation(number, f"{name}: unknown type {item['type']!r}")

    def _check_result(self, number: int, method: description.Described, outcome: Any) -> None:
        if isinstance(outcome, Refusal):
            return
        problems: list[description.Problem | str]
        try:
            problems = [*description.check(method.types, outcome, "result")]
        except RecursionError:
            problems = ["it is nested too deeply to be looked through"]
        for problem in problems:
            self.journal.violation(number, f"the emulator's own answer: {problem}")

    def _answer(self, number: int, outcome: Any, fault: Fault | None = None) -> web.Response:
        name = fault.kind if fault is not None else ""
        if isinstance(outcome, Refusal):
            self.journal.answered(number, outcome.code, outcome.description, name)
            return _refused(outcome)
        self.journal.answered(number, 200, fault=name)
        return web.json_response({"ok": True, "result": outcome})

    def _answer_status(self, number: int, fault: Fault) -> web.Response:
        if fault.status == 502:
            self.journal.answered(number, 502, "Bad Gateway", fault.kind)
            return web.Response(status=502, text=_PROXY_PAGE, content_type="text/html")
        if fault.status == 429:
            return self._answer(number, too_many_requests(fault.retry_after), fault)
        return self._answer(number, Refusal(fault.status, fault.description), fault)

    def _answer_garbage(self, number: int, outcome: Any, fault: Fault) -> web.Response:
        whole = self._answer(number, outcome, fault).body
        content = whole if isinstance(whole, bytes) else b"{"
        half = content[: len(content) // 2]
        return web.Response(body=half, content_type="application/json")

    def _drop(self, request: web.Request, number: int, fault: Fault) -> web.Response:
        self.journal.answered(number, None, "connection closed", fault.kind)
        if request.transport is not None:
            request.transport.abort()
        return web.Response()


async def _cut_in_half(request: web.Request, file: description.Upload) -> web.StreamResponse:
    """Send half of a file, and break the connection."""
    response = web.StreamResponse()
    response.content_length = len(file.content)
    await response.prepare(request)
    await response.write(file.content[: len(file.content) // 2])
    if request.transport is not None:
        request.transport.abort()
    return response


def _is_attached(problem: description.Problem, uploads: dict[str, description.Upload]) -> bool:
    """Whether an unknown parameter is a part that `attach://` refers to."""
    return problem.flaw == "unknown" and problem.path in uploads


def _refuse_problems(problems: list[description.Problem]) -> None:
    for problem in problems:
        if problem.flaw == "missing":
            raise bad_request(_MISSING.get(problem.path, f"parameter {problem.path} is required"))
        if problem.flaw == "type":
            raise bad_request(f"can't parse parameter {problem}")


def _refused(refusal: Refusal) -> web.Response:
    body: description.JsonObject = {
        "ok": False,
        "error_code": refusal.code,
        "description": refusal.description,
    }
    headers: dict[str, str] = {}
    if refusal.parameters:
        body["parameters"] = refusal.parameters
    if "retry_after" in refusal.parameters:
        headers["Retry-After"] = str(refusal.parameters["retry_after"])
    return web.json_response(body, status=refusal.code, headers=headers)
