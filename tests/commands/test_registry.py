"""One registry for everything that begins with a slash. Source: design §3.8, contract."""

from __future__ import annotations

import pytest

from aouo.commands.builtin import builtin
from aouo.commands.registry import Call, Commands, Entry, Result
from aouo.commands.spending import spending
from aouo.facts.notices import EmptyMessage
from aouo.packs.library import Library
from aouo.routing.door import BYPASSING
from aouo.store.database import Tx


def fresh(tx: Tx, call: Call, library: Library) -> Result:
    return Result(EmptyMessage())


@pytest.mark.parametrize("name", ["", "New", "new-one", "nöw", "x" * 33])
def test_a_name_telegram_would_not_take_is_found_at_start(name: str) -> None:
    """1-32 lower-case letters, digits, underscores. Source: Bot API, BotCommand."""
    with pytest.raises(ValueError, match="is taken or misspelt"):
        Commands([Entry(name, "does something", fresh)])


def test_two_handlers_for_one_name_are_found_at_start() -> None:
    with pytest.raises(ValueError, match="'new' is taken"):
        Commands([Entry("new", "a", fresh), Entry("new", "b", fresh)])


def test_the_menu_lists_every_command_with_a_description() -> None:
    commands = builtin()

    assert {name for name, _ in commands.menu()} == commands.names
    assert all(0 < len(text) <= 256 for _, text in commands.menu())


def test_what_bypasses_the_lane_is_a_command_that_exists() -> None:
    usage = spending(lambda: "", lambda inbound: False)

    assert builtin([usage]).names >= BYPASSING
