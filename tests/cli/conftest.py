"""A runner whose home is a fresh folder, far from the machine's own settings."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from click.testing import CliRunner

from aouo.plumbing import client
from aouo.plumbing.home import Home
from tests.fakes import log


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def runner(home: Home, monkeypatch: pytest.MonkeyPatch) -> Generator[CliRunner]:
    """Runs verbs in this process; the log that a verb opened is nobody's afterwards."""
    for name in os.environ:
        if name.startswith("AOUO_") or name.endswith(("_API_KEY", "_BOT_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(client, "_BEGINS_S", 0.0)  # else who plays a bot that begins is waited for
    yield CliRunner(env={"AOUO_HOME": str(home.path), "NO_COLOR": "1"})
    log.reset()
