"""The world that every path test starts from."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from aouo.emulator import Emulator
from aouo.home import Home
from tests.fakes.model_server import ModelServer
from tests.path.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    """A home without packs, a Telegram with Ada and Ben, a model that echoes."""
    home = Home(tmp_path / "home")
    home.create()
    async with Emulator() as emulator, ModelServer() as model:
        yield World(home, emulator, model)
        assert await emulator.client.violations() == []
