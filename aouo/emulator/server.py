"""The emulator as one object: a loopback server that lives as long as its context."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from aiohttp import web

from aouo.emulator.access import only_ours, shown_nowhere_else
from aouo.emulator.botapi import BotApi
from aouo.emulator.changes import ChangeSignal
from aouo.emulator.client import EmulatorClient
from aouo.emulator.control import Control
from aouo.emulator.faults import FaultPlan
from aouo.emulator.flood import FloodControl
from aouo.emulator.journal import Journal
from aouo.emulator.objects import message_json
from aouo.emulator.people import Person
from aouo.emulator.polling import Poll
from aouo.emulator.start import PARTS, TOPICS, furnish
from aouo.emulator.verbs import Desk
from aouo.emulator.webhook import WebhookCaller
from aouo.emulator.world import World

BOT_ID = 4200
DEFAULT_TOKEN = f"{BOT_ID}:aouo-emulator"
"""Of an emulator inside of a test; as a process it makes a new one each time."""
DEFAULT_USERNAME = "aouo_try_bot"
MAX_BODY_BYTES = 60_000_000

_PAGE = Path(__file__).with_name("page")
_NOTHING_FOREIGN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


class Emulator:
    """A local Telegram on 127.0.0.1; `base_url` is what a bot gets as its API address.

    `client` is the people's side and is open while the emulator is. `parts` says what is there
    at start besides Ada: `ben`, `group`, `forum`; `topics` are those of the forum. `local`: it is a
    server of the bot's own, which takes and gives large files.
    """

    def __init__(
        self,
        token: str = DEFAULT_TOKEN,
        *,
        port: int = 0,
        username: str = DEFAULT_USERNAME,
        name: str = "aouo",
        parts: Collection[str] = PARTS,
        topics: Sequence[str] = TOPICS,
        language: str = "en",
        private_topics: bool = False,
        privacy: bool = True,
        flood: bool = False,
        local: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        bot = Person(int(token.partition(":")[0]), name, username=username, is_bot=True)
        self.token = token
        self.world = World(bot, private_topics=private_topics, privacy=privacy, local=local)
        self.signal = ChangeSignal()
        self.journal = Journal(self.signal)
        self.faults = FaultPlan()
        self.flood = FloodControl(on=flood)
        self.client = EmulatorClient("")
        self.base_url = ""
        self._port = port
        self._poll = Poll(self.world, self.signal)
        self._clock = clock
        self.webhook = WebhookCaller(self.world, self.signal, self.faults, clock)
        self._calling: asyncio.Future[None] | None = None
        furnish(self.world, clock(), parts, topics=topics, language=language)
        self._runner = web.AppRunner(
            self._application(), access_log=None, handler_cancellation=True, shutdown_timeout=1
        )

    def tell_of_topics(self) -> None:
        """Let the bot hear of the topics that are there from the start: it was in the group."""
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
        self.client = EmulatorClient(self.base_url)
        await self.client.__aenter__()
        self._calling = asyncio.ensure_future(self.webhook.run())  # as long as the server
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._calling:
            self._calling.cancel()
            with suppress(asyncio.CancelledError):
                await self._calling
        await self.client.__aexit__()
        self._poll.stop()
        await self._runner.cleanup()

    @property
    def bot_url(self) -> str:
        """The address methods are appended to: `<base_url>/bot<token>`."""
        return f"{self.base_url}/bot{self.token}"

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[only_ours])
        app.on_response_prepare.append(shown_nowhere_else)
        api = BotApi(
            token=self.token,
            world=self.world,
            journal=self.journal,
            poll=self._poll,
            faults=self.faults,
            flood=self.flood,
            clock=self._clock,
        )
        desk = Desk(self.world, self.journal, self.faults, self.flood, self._clock)
        control = Control(desk, self.signal)
        api.add_routes(app)
        control.add_routes(app)
        app.router.add_get("/", _page)
        app.router.add_static("/page", _PAGE)
        return app


async def _page(request: web.Request) -> web.StreamResponse:
    """The chat page; it may load nothing from elsewhere."""
    headers = {"Content-Security-Policy": _NOTHING_FOREIGN, "Cache-Control": "no-store"}
    return web.FileResponse(_PAGE / "index.html", headers=headers)
