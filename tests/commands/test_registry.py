"""One entry for everything of ours that begins with a slash. Source: design §3.8, contract."""

from __future__ import annotations

import pytest

from aouo.commands.builtin import HANDLERS, list_sessions, stopping
from aouo.commands.registry import CommandCall, Commands, Handler, Look, Result
from aouo.facts.commands import COMMANDS, CommandEntry, Runs, by_name, check_handled
from aouo.facts.notices import Plain
from aouo.packs.library import Library
from aouo.store.database import Tx


def fresh(tx: Tx, call: CommandCall, library: Library) -> Result:
    return Result(Plain.EMPTY_MESSAGE)


IN_A_TRANSACTION: dict[str, Handler] = {
    **HANDLERS,
    "stop": stopping(lambda inbound: False),
    "cron": fresh,
    "help": fresh,
    "jobs": fresh,
    "status": fresh,
}
LOOKUPS: dict[str, Look] = {"sessions": list_sessions, "usage": list_sessions, "why": list_sessions}


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


def test_each_command_that_runs_in_a_transaction_or_looks_has_its_handler() -> None:
    commands = Commands(IN_A_TRANSACTION, LOOKUPS)

    for entry in COMMANDS.values():
        handled = entry.name in {**commands.handlers, **commands.lookups}
        assert handled is (entry.runs not in (Runs.FLOW, Runs.AGAIN))


@pytest.mark.parametrize("name", sorted(IN_A_TRANSACTION))
def test_a_command_without_its_handler_is_found_at_start(name: str) -> None:
    others = {one: handler for one, handler in IN_A_TRANSACTION.items() if one != name}

    with pytest.raises(ValueError, match=rf"without a handler.*'{name}'"):
        Commands(others, LOOKUPS)
    with pytest.raises(ValueError, match=r"without a handler.*'usage'"):
        Commands(IN_A_TRANSACTION, {"sessions": list_sessions})


def test_a_handler_of_no_command_or_in_another_place_is_found_at_start() -> None:
    with pytest.raises(ValueError, match="'nope'"):
        Commands({**IN_A_TRANSACTION, "nope": fresh}, LOOKUPS)
    with pytest.raises(ValueError, match="'usage'"):
        Commands({**IN_A_TRANSACTION, "usage": fresh}, LOOKUPS)


def test_a_command_of_the_flow_without_its_handler_is_found_at_start() -> None:
    names = {entry.name for entry in COMMANDS.values() if entry.runs is Runs.FLOW}
    check_handled(names, Runs.FLOW)

    with pytest.raises(ValueError, match="'compact'"):
        check_handled(names - {"compact"}, Runs.FLOW)
