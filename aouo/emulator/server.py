"""Runs the emulator: a loopback server that lives as long as its context."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from aouo.emulator.botapi import BotApi
from aouo.emulator.chats import Person
from aouo.emulator.description import JsonObject, Upload, as_object
from aouo.emulator.door import Poll, only_ours, shown_nowhere_else
from aouo.emulator.objects import message_json
from aouo.emulator.refusals import ChangeSignal, Refusal
from aouo.emulator.verbs import READS, VERBS, Desk
from aouo.emulator.world import PARTS, TOPICS, World, furnish

BOT_ID = 4200
DEFAULT_TOKEN = f"{BOT_ID}:aouo-emulator"
"""The token of an emulator inside a test; as a process it makes a new one each time."""
_USERNAME = "aouo_try_bot"
_MAX_BODY_BYTES = 60_000_000

_PAGE = Path(__file__).with_name("page")
_NOTHING_FOREIGN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_MAX_WAIT_S = 60.0
_SHOWN_TYPES = frozenset(
    [
        *("image/png", "image/jpeg", "image/gif", "image/webp"),
        *("audio/ogg", "audio/mpeg", "audio/mp4", "text/plain"),
    ]
)


class Emulator:
    """A local Telegram on 127.0.0.1; `base_url` is the API address for a bot.

    `parts` says what exists at the start
    besides Ada: `ben`, `group`, `forum`; `topics` are those of the forum. `local`: it acts as a
    local Bot API server, which takes and gives large files.
    """

    def __init__(
        self,
        token: str = DEFAULT_TOKEN,
        *,
        port: int = 0,
        parts: Collection[str] = PARTS,
        topics: Sequence[str] = TOPICS,
        language: str = "en",
        private_topics: bool = False,
        privacy: bool = True,
        local: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        bot = Person(int(token.partition(":")[0]), "aouo", username=_USERNAME, is_bot=True)
        self.token = token
        self.world = World(bot, private_topics=private_topics, privacy=privacy, local=local)
        self.signal = ChangeSignal()
        self.base_url = ""
        self._port = port
        self._poll = Poll(self.world, self.signal)
        self._clock = clock
        self._desk = Desk(self.world, clock)
        furnish(self.world, clock(), parts, topics=topics, language=language)
        self._runner = web.AppRunner(
            self._application(), access_log=None, handler_cancellation=True, shutdown_timeout=1
        )

    def tell_of_topics(self) -> None:
        """Deliver the service messages of the first topics to the bot, as if it had been there."""
        for chat in self.world.chats.values():
            for message in chat.messages.values():
                if "forum_topic_created" in message.service:
                    self.world.updates.push("message", message_json(self.world, message))

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            site = web.TCPSite(self._runner, "127.0.0.1", self._port)
            await site.start()
        except BaseException:
            await self._runner.cleanup()
            raise
        host, port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._poll.stop()
        await self._runner.cleanup()

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=[only_ours])
        app.on_response_prepare.append(shown_nowhere_else)
        self._api().add_routes(app)
        app.router.add_get("/emulator/changes", self._changes)
        app.router.add_get("/emulator/media/{path}", self._media)
        app.router.add_post("/emulator/{verb}", self._act)
        app.router.add_get("/", _page)
        app.router.add_static("/page", _PAGE)
        return app

    def _api(self) -> BotApi:
        return BotApi(
            token=self.token,
            world=self.world,
            poll=self._poll,
            signal=self.signal,
            clock=self._clock,
        )

    async def _changes(self, request: web.Request) -> web.Response:
        """Answers `{"now": N}` once N exceeds `since`, at the latest after `timeout_s`."""
        since = int(request.query.get("since", "0"))
        timeout_s = min(_MAX_WAIT_S, float(request.query.get("timeout_s", "25")))
        return web.json_response({"now": await self.signal.wait_beyond(since, timeout_s)})

    async def _media(self, request: web.Request) -> web.StreamResponse:
        """A file of a message, for the page; never anything a browser would run."""
        found = self.world.files.get(request.match_info["path"])
        if not isinstance(found, Upload):
            raise web.HTTPNotFound
        shown = found.mime if found.mime in _SHOWN_TYPES else "application/octet-stream"
        headers = {"X-Content-Type-Options": "nosniff"}
        return web.Response(body=found.content, content_type=shown, headers=headers)

    async def _act(self, request: web.Request) -> web.Response:
        """Run one verb; a refusal is a 400 with its text.

        JSON only, so that a page of another origin cannot post here without asking first.
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
            self.signal.bump()
        return result

    async def _answer(self, query_id: str, timeout_s: float) -> JsonObject | None:
        """What the bot answers to a tap, or None if it says nothing in time."""
        if query_id not in self.world.tapped_at:
            raise KeyError(query_id)
        try:
            async with asyncio.timeout(timeout_s):
                while query_id not in self.world.tap_answers:
                    await self.signal.wait()
        except TimeoutError:
            return None
        return self.world.tap_answers[query_id]


async def _page(request: web.Request) -> web.StreamResponse:
    """Answer the chat page, which may load nothing from other origins."""
    headers = {"Content-Security-Policy": _NOTHING_FOREIGN, "Cache-Control": "no-store"}
    return web.FileResponse(_PAGE / "index.html", headers=headers)


def _failed(status: int, text: str) -> web.Response:
    return web.json_response({"error": text}, status=status)
