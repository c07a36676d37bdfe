"""The world that every path test starts from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web_app

from aouo.facts.transcript import ModelRequest, UserSaid
from aouo.plumbing.home import Home
from aouo.providers.service import CompatibleModel
from tests.fakes import log
from tests.fakes.clock import FastClock, SkippingClock
from tests.fakes.model_server import ModelServer
from tests.fakes.road import Road
from tests.fakes.telegram import LocalTelegram
from tests.path.lives import kill_runner
from tests.path.world import World


@pytest.fixture(autouse=True)
def every_event_is_heard() -> None:
    """A program that was run in this process before leaves the log quiet."""
    log.reset()


@pytest.fixture(autouse=True)
def ended_servers_are_let_go() -> Generator[None]:
    """aiohttp keeps the last thousand applications for their middlewares, with all they hold: of
    each world some 50 MB."""
    yield
    web_app._cached_build_middleware.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def first_call() -> None:
    """The first model call of a process imports the SDK, for as long as a test waits."""

    async def call() -> None:
        async with ModelServer() as server, aiohttp.ClientSession() as session:
            model = CompatibleModel(
                provider="fake",
                model="fake",
                base_url=server.base_url,
                api_key="key",
                context_window=1000,
                session=session,
            )
            async for _ in model.stream(ModelRequest("", (UserSaid("Hello"),), ())):
                pass

    asyncio.run(call())


@pytest.fixture(scope="session")
def runner_port() -> Generator[int]:
    """Where to ask for a runtime that may be killed."""
    with kill_runner() as port:
        yield port


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    """A home without packs, a Telegram with Ada and Ben, a model that echoes."""
    home = Home(tmp_path / "home")
    home.create()
    async with LocalTelegram() as emulator, ModelServer() as model:
        world = World(home, emulator, model, clock=SkippingClock())
        yield world
        assert await emulator.client.violations() == []
        world.let_go()


@pytest.fixture
async def road(world: World) -> AsyncGenerator[Road]:
    """The way to Telegram."""
    async with Road(int(world.emulator.base_url.rpartition(":")[2])).running() as road:
        world.config = {"telegram": {"api_base_url": road.base_url}}
        world.clock = FastClock()
        yield road


@pytest.fixture
async def private(tmp_path: Path) -> AsyncGenerator[World]:
    """A bot with topics in its private chats, and two packs."""
    home = Home(tmp_path / "private")
    home.create()
    async with LocalTelegram(private_topics=True) as emulator, ModelServer() as model:
        world = World(home, emulator, model, clock=FastClock())
        world.install("notes", "vocab")
        yield world
        assert await emulator.client.violations() == []
        world.let_go()
