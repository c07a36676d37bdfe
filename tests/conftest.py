"""The order of all tests, the long ones first so that no worker ends up alone with one, how they
are collected, where their files lie, what is left to `--all`, and that no example is held to a
clock."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import sampling

# Hypothesis gives an example 200 ms of the wall clock: a busy machine fails what is right.
settings.register_profile("all", deadline=None)
settings.register_profile("each commit", deadline=None, max_examples=25)

LONGEST = (
    "path/lanes/test_interleaved_events",
    "path/kills/test_kill_table",
    "path/models/test_tool_arguments",
    "path/models/test_small_models",
    "path/memory/test_session_renewed",
    "path/packs/test_installing_killed",
    "path/models/test_sixty_turns",
    "backup/test_backup",
    "path/coming_in/test_conversations_never_cross",
    "path/coming_in/test_odd_updates",
    "packs/data/test_migrations",
    "cli/test_terminals",
    "cli/test_other_machines",
)
"""Files with a test of ten seconds or more, or with a minute of tests."""


IN_MEMORY = Path("/dev/shm")
IN_MEMORY_BYTES = 4 << 30  # what tests leave until they end, some times over

_CASES = pytest.StashKey[int]()
_LEFT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="also what each commit leaves out")


def pytest_configure(config: pytest.Config) -> None:
    if _holds_homes(IN_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))
    sampling.Run.takes_all = bool(config.getoption("--all"))
    settings.load_profile("all" if sampling.Run.takes_all else "each commit")


def _holds_homes(folder: Path) -> bool:
    """Whether homes may lie there: thousands of them wait for a disk for half of their time."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    room = found.f_bavail * found.f_frsize >= IN_MEMORY_BYTES
    return room and not found.f_flag & os.ST_NOEXEC


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: the search for garbage never looks through it again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is left to `--all` unless a case is named, and sort stably: within a file,
    and after the long ones, the order stays."""
    config.stash[_CASES] = len(items)
    if not sampling.Run.takes_all and not any("::" in arg for arg in config.args):
        items[:] = [item for item in items if item.get_closest_marker("left_to_all") is None]
    config.stash[_LEFT] = config.stash[_CASES] - len(items)

    def place(item: pytest.Item) -> int:
        path = item.path.as_posix().removesuffix(".py")
        return next((at for at, name in enumerate(LONGEST) if path.endswith(name)), len(LONGEST))

    items.sort(key=place)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells what it left out, which the others left out too."""
    told: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if told is not None and _LEFT in session.config.stash:
        told |= {"cases": session.config.stash[_CASES], "left": session.config.stash[_LEFT]}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    told: dict[str, Any] = getattr(node, "workeroutput", {})
    if "left" in told:
        node.config.stash[_CASES] = told["cases"]
        node.config.stash[_LEFT] = told["left"]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if left := config.stash.get(_LEFT, 0):
        terminalreporter.write_line(
            f"{left:,} of {config.stash[_CASES]:,} cases, and {sampling.STEP - 1} of "
            f"{sampling.STEP} places to be killed at, are left to --all"
        )
