"""One Chromium for all tests of a worker; where there is none they are skipped, but not in CI."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from aouo.plumbing.home import Home
from tests.browser.browsing import CHROMIUM, MISSING, launched
from tests.browser.looking import PATIENCE_MS
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import LocalTelegram
from tests.path.world import World
from tests.sampling import left

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All run in the loop that the browser was started in, which knows no other; they
    are left to `--all`, since one takes as long as a hundred others."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(left())


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncGenerator[Browser]:
    if not CHROMIUM:
        assert os.environ.get("CI", "").lower() not in ("true", "1"), "`.ci/run` installs it."
        pytest.skip(MISSING)
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright, launched(playwright) as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    """A home with two packs, a Telegram with Ada and Ben, a model that echoes; in real time."""
    home = Home(tmp_path / "home")
    home.create()
    async with LocalTelegram() as emulator, ModelServer() as model:
        world = World(home, emulator, model)
        world.install("notes", "vocab")
        yield world
