"""Looks at the page as a browser or a program does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientSession, CookieJar
from yarl import URL

from aouo.config.file import load_settings
from aouo.dashboard.listening import page, show_at_rest
from tests.path.looking import eventually
from tests.path.world import Running, World


@dataclass
class Dashboard:
    """The page of a running bot; `link` has its token, and the `client` keeps its cookie."""

    bot: Running
    link: URL
    client: ClientSession

    @property
    def token(self) -> str:
        return self.link.query["token"]

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        """Return the status and what the JSON says, or the text of a file, with the token in a
        header."""
        headers = {"X-Aouo-Token": self.token} | headers
        async with self.client.get(self.link.join(URL(path)), headers=headers) as response:
            is_json = response.content_type == "application/json"
            return response.status, await (response.json() if is_json else response.text())

    async def send(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        """Have it change something; return the status and what the JSON says."""
        headers = {"X-Aouo-Token": self.token} | headers
        address = self.link.join(URL(path))
        async with self.client.request(method, address, json=body, headers=headers) as response:
            return response.status, await response.json()


@asynccontextmanager
async def dashboard(world: World, port: int = 0) -> AsyncGenerator[Dashboard]:
    """Run the bot with its page; 0 = at a free port."""
    _listen(world, port)
    jar = CookieJar(unsafe=True)  # also of an address
    async with world.running(page=page) as bot, ClientSession(cookie_jar=jar) as client:

        async def link() -> str:
            assert bot.runtime.page
            state = bot.runtime.page.state
            return state if state.startswith("http") else ""

        yield Dashboard(bot, URL(await eventually(link)), client)


@asynccontextmanager
async def resting(world: World) -> AsyncGenerator[Dashboard]:
    """Serve what is stored while no bot runs; one ran before."""
    assert world.bot
    _listen(world, 0)
    world.configure()
    opened: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    loaded = load_settings(world.home.path, {})
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
        serving = asyncio.ensure_future(show_at_rest(world.home, loaded, opened.set_result))
        try:
            yield Dashboard(world.bot, URL(await opened), client)
        finally:
            serving.cancel()
            await asyncio.wait([serving])


def _listen(world: World, port: int) -> None:
    own = {**world.config.get("dashboard", {}), "port": port}
    world.config = {**world.config, "dashboard": own}
