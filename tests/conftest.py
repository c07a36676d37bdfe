"""The order of all tests: the long ones first, so that no worker ends up alone with one."""

from __future__ import annotations

import pytest

LONGEST = (
    "path/test_interleaved_events",
    "path/test_kill_matrix",
    "path/test_tool_arguments",
    "path/test_small_models",
    "path/test_session_renewed",
    "path/test_installing_killed",
    "path/test_stop_killed",
    "path/test_sixty_turns",
    "path/test_restoring",
    "path/test_setup_topics_killed",
    "path/test_memory_killed",
    "path/test_conversations_never_cross",
    "path/test_odd_updates",
    "packs/test_migrations",
    "cli/test_terminals",
    "cli/test_other_machines",
)
"""Files with a test of ten seconds or more, or with a minute of tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort stably: within a file, and after the long ones, the order stays."""

    def place(item: pytest.Item) -> int:
        path = item.path.as_posix().removesuffix(".py")
        return next((at for at, name in enumerate(LONGEST) if path.endswith(name)), len(LONGEST))

    items.sort(key=place)
