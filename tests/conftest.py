"""The order of all tests, the long ones first so that no worker ends up alone with one, how they
are collected, and that no example is held to a clock."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest
from hypothesis import settings

# Hypothesis gives an example 200 ms of the wall clock: a busy machine fails what is right.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

LONGEST = (
    "path/lanes/test_interleaved_events",
    "path/lanes/test_kill_matrix",
    "path/models/test_tool_arguments",
    "path/models/test_small_models",
    "path/memory/test_session_renewed",
    "path/packs/test_installing_killed",
    "path/stopping/test_stop_killed",
    "path/models/test_sixty_turns",
    "path/packs/test_restoring",
    "path/coming_in/test_setup_topics_killed",
    "path/memory/test_memory_killed",
    "path/coming_in/test_conversations_never_cross",
    "path/coming_in/test_odd_updates",
    "packs/data/test_migrations",
    "cli/test_terminals",
    "cli/test_other_machines",
)
"""Files with a test of ten seconds or more, or with a minute of tests."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: the search for garbage never looks through it again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort stably: within a file, and after the long ones, the order stays."""

    def place(item: pytest.Item) -> int:
        path = item.path.as_posix().removesuffix(".py")
        return next((at for at, name in enumerate(LONGEST) if path.endswith(name)), len(LONGEST))

    items.sort(key=place)
