"""One entry for everything of ours that begins with a slash. Source: design §3.8, contract."""

from __future__ import annotations

import pytest

from aouo.facts.commands import COMMANDS, CommandEntry, by_name, check_handled


@pytest.mark.parametrize("name", ["", "New", "new-one", "nöw", "x" * 33])
def test_a_name_telegram_would_not_take_is_found_at_start(name: str) -> None:
    """1-32 lower-case letters, digits, underscores. Source: Bot API, BotCommand."""
    with pytest.raises(ValueError, match="is taken or misspelt"):
        by_name([CommandEntry(name, "does something")])


def test_two_entries_of_one_name_are_found_at_start() -> None:
    with pytest.raises(ValueError, match="'new' is taken"):
        by_name([CommandEntry("new", "a"), CommandEntry("new", "b")])


def test_the_menu_lists_every_command_with_a_description() -> None:
    assert all(name == entry.name for name, entry in COMMANDS.items())
    assert all(0 < len(entry.line) <= 256 for entry in COMMANDS.values())


def test_a_command_without_its_handler_is_found_at_start() -> None:
    names = COMMANDS.keys() - {"retry"}
    check_handled(names)

    for name in names:
        with pytest.raises(ValueError, match=rf"without a handler.*'{name}'"):
            check_handled(names - {name})


def test_a_handler_of_no_command_is_found_at_start() -> None:
    with pytest.raises(ValueError, match="'nope'"):
        check_handled({*COMMANDS, "nope"})


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        *(("cron", False), ("cron page 2", False), ("cron History a1", False)),
        *(("cron remove? a1", False), ("cron remove a1", True), ("cron on a1", True)),
        *(("sessions", False), ("sessions ab", True), ("jobs stop 3", False), ("use x", True)),
    ],
)
def test_a_command_that_only_looks_waits_for_nothing(line: str, waits: bool) -> None:
    name, _, rest = line.partition(" ")

    assert COMMANDS[name].bypasses(rest, asked=False) is not waits
