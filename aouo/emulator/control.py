"""Serves the people's side over HTTP: `POST /emulator/<verb>` with a JSON object of arguments."""

import asyncio
from typing import Any

from aiohttp import web

from aouo.emulator.changes import ChangeSignal
from aouo.emulator.description import Upload
from aouo.emulator.jsons import JsonObject, as_object
from aouo.emulator.refusal import Refusal
from aouo.emulator.verbs import READS, VERBS, Desk

MAX_WAIT_S = 60.0
SHOWN_TYPES = frozenset(
    {
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "audio/ogg",
        "audio/mpeg",
        "audio/mp4",
        "text/plain",
    }
)


class Control:
    """Runs verbs, waits for changes and for answers to buttons, shows files."""

    def __init__(self, desk: Desk, signal: ChangeSignal) -> None:
        self._desk = desk
        self._signal = signal

    def add_routes(self, app: web.Application) -> None:
        app.router.add_get("/emulator/changes", self.changes)
        app.router.add_get("/emulator/media/{path}", self.media)
        app.router.add_post("/emulator/{verb}", self.act)

    async def changes(self, request: web.Request) -> web.Response:
        """Answer `{"now": N}` once N exceeds `since`, at the latest after `timeout_s`."""
        since = int(request.query.get("since", "0"))
        timeout_s = min(MAX_WAIT_S, float(request.query.get("timeout_s", "25")))
        return web.json_response({"now": await self._signal.wait_beyond(since, timeout_s)})

    async def media(self, request: web.Request) -> web.StreamResponse:
        """Answer a file of a message for the page, never as a type that a browser would run."""
        found = self._desk.world.files.get(request.match_info["path"])
        if not isinstance(found, Upload):
            raise web.HTTPNotFound
        shown = found.mime if found.mime in SHOWN_TYPES else "application/octet-stream"
        headers = {"X-Content-Type-Options": "nosniff"}
        return web.Response(body=found.content, content_type=shown, headers=headers)

    async def act(self, request: web.Request) -> web.Response:
        """Run one verb; a refusal has its own status and text.

        JSON only, so that a page of another origin cannot post here without a CORS preflight.
        """
        if request.content_type != "application/json":
            return _failed(415, "application/json is expected")
        verb = request.match_info["verb"]
        try:
            arguments = as_object(await request.json())
        except (ValueError, RecursionError):
            arguments = None
        if arguments is None:
            return _failed(400, "a JSON object is expected")
        try:
            return web.json_response({"result": await self._run(verb, arguments)})
        except Refusal as refusal:
            return _failed(refusal.code, refusal.description)
        except (KeyError, TypeError, ValueError) as error:
            return _failed(400, f"wrong arguments for {verb}: {error}")

    async def _run(self, verb: str, arguments: JsonObject) -> Any:
        if verb == "answer":
            return await self._answer(arguments["query_id"], float(arguments.get("timeout_s", 10)))
        run = VERBS.get(verb)
        if run is None:
            raise Refusal(404, f"no such verb: {verb}")
        result = run(self._desk, arguments)
        if verb not in READS:
            self._signal.bump()
        return result

    async def _answer(self, query_id: str, timeout_s: float) -> JsonObject | None:
        """Wait for the bot's answer to a tap; None if none comes in time."""
        callback = self._desk.world.callbacks[query_id]
        try:
            async with asyncio.timeout(timeout_s):
                while callback.answer is None:
                    await self._signal.wait()
        except TimeoutError:
            return None
        return callback.answer


def _failed(status: int, text: str) -> web.Response:
    return web.json_response({"error": text}, status=status)
