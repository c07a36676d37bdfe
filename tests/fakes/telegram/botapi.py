"""The Bot API with planned faults, flood control and a journal, which holds a bot to Telegram."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from aouo.emulator import description
from aouo.emulator.botapi import BotApi, answer
from aouo.emulator.door import Poll
from aouo.emulator.entities import SETTABLE
from aouo.emulator.files import Parameters, file_at
from aouo.emulator.methods import Handler
from aouo.emulator.refusals import Refusal
from aouo.emulator.world import UpdateQueue
from tests.fakes.telegram.faults import (
    Fault,
    FloodControl,
    Journal,
    next_fault,
    too_many_requests,
)
from tests.fakes.telegram.methods import METHODS

_AUTOMATIC = frozenset(
    ["mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"]
)
"""The kinds of entities that the server finds by itself."""
_PROXY_PAGE = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
_DOWNLOAD = "download"
"""The name of a file download in a plan of faults."""
_FUTURE = 10  # an offset further ahead than this is ignored


class RepeatingPoll(Poll):
    """A poll that may deliver once more what a call confirms."""

    repeats = False

    def confirm(self, params: Parameters) -> list[description.JsonObject]:
        gone = super().confirm(params)
        if self.repeats:
            self._world.updates._waiting.extendleft(reversed(gone))
        return gone


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class FaultyApi(BotApi):
    """Suffers the planned faults, and records each call and what differs from the description."""

    journal: Journal
    faults: list[Fault]
    flood: FloodControl

    def refuse_unknown(self, method: str, raw: description.JsonObject) -> web.Response:
        number = self.journal.arrived(self.clock(), method, raw)
        self.journal.violation(number, "no such method")
        return self._answer(number, Refusal(404, "Not Found: method not found"))

    async def run(
        self,
        request: web.Request,
        method: description.Described,
        params: Parameters,
        problems: list[description.Problem],
    ) -> web.StreamResponse:
        """One API call, with the fault planned for it."""
        number = self.journal.arrived(self.clock(), method.name, dict(params.values))
        self._note(number, params.values, problems)
        fault = self._fault(method, params)
        if fault is not None and fault.kind == "drop_before":
            return self._drop(request, number, fault)
        if fault is not None and fault.kind == "status":
            return self._answer_status(number, fault)
        assert isinstance(self.poll, RepeatingPoll)
        self.poll.repeats = fault is not None and fault.kind == "duplicate_update"
        outcome = await self.outcome(method, params, problems)
        if fault is not None and fault.kind == "drop_after":
            return self._drop(request, number, fault)
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        self._check_result(number, method, outcome)
        if fault is not None and fault.kind == "garbage":
            return self._answer_garbage(number, outcome, fault)
        return self._answer(number, outcome, fault)

    async def download(self, request: web.Request) -> web.StreamResponse:
        whole = await BotApi.download(self, request)
        found = file_at(self.world, request.match_info["path"])
        if whole.status != 200 or found is None:
            return whole
        fault = next_fault(self.faults, _DOWNLOAD, None)
        if fault is not None and fault.kind == "status":
            return web.Response(status=fault.status, text=fault.description)
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        elif fault is not None:
            return await _cut_in_half(request, found)
        return whole

    def handler(self, method: description.Described, params: Parameters) -> Handler | None:
        handler = METHODS.get(method.name.lower()) or BotApi.handler(self, method, params)
        if handler is not None:
            self._check_flood(method, params, self.clock())
        return handler

    def _fault(self, method: description.Described, params: Parameters) -> Fault | None:
        confirms = method.name == "getUpdates" and _confirms(
            self.world.updates, params.integer("offset")
        )
        return next_fault(self.faults, method.name, params.values.get("chat_id"), confirms=confirms)

    def _check_flood(self, method: description.Described, params: Parameters, now: float) -> None:
        chat_id = params.values.get("chat_id")
        is_group = isinstance(chat_id, int) and chat_id < 0
        refusal = self.flood.judge(method.name, chat_id, is_group, now)
        if refusal is not None:
            raise refusal

    def _note(
        self, number: int, values: Mapping[str, Any], problems: list[description.Problem]
    ) -> None:
        for problem in problems:
            self.journal.violation(number, str(problem))
        if "parse_mode" in values:
            self.journal.violation(number, "parse_mode: the emulator parses no markup")
        for name in ("entities", "caption_entities"):
            for item in values.get(name, []):
                if item["type"] not in SETTABLE | _AUTOMATIC:
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
        else:
            self.journal.answered(number, 200, fault=name)
        return answer(outcome)

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


def _confirms(updates: UpdateQueue, offset: int) -> bool:
    """Whether a positive `offset` makes something be forgotten."""
    in_range = 0 < offset <= updates._next_id + _FUTURE
    return in_range and bool(updates._waiting) and updates._waiting[0]["update_id"] < offset


async def _cut_in_half(request: web.Request, file: description.Upload) -> web.StreamResponse:
    """Send half of a file, and break the connection."""
    response = web.StreamResponse()
    response.content_length = len(file.content)
    await response.prepare(request)
    await response.write(file.content[: len(file.content) // 2])
    if request.transport is not None:
        request.transport.abort()
    return response
