"""One entry for everything of ours that begins with a slash. Source: design §3.8, contract."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.commands import (
    COMMANDS,
    Carried,
    CommandEntry,
    PostAction,
    TurnHints,
    _by_name,
    check_handled,
)
from aouo.flow.commands.file_text import CommandFile, read
from aouo.words.catalogue import text


@pytest.mark.parametrize("name", ["", "New", "new-one", "nöw", "x" * 33])
def test_a_name_telegram_would_not_take_is_found_at_start(name: str) -> None:
    """1-32 lower-case letters, digits, underscores. Source: Bot API, BotCommand."""
    with pytest.raises(ValueError, match="is taken or misspelt"):
        _by_name([CommandEntry(name)])


def test_two_entries_of_one_name_are_found_at_start() -> None:
    with pytest.raises(ValueError, match="'new' is taken"):
        _by_name([CommandEntry("new"), CommandEntry("new")])


def test_the_menu_lists_every_command_with_a_description() -> None:
    assert all(name == entry.name for name, entry in COMMANDS.items())
    assert all(0 < len(text(f"about-commands.{entry.name}")) <= 256 for entry in COMMANDS.values())


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


# What a command leaves to its turn outlives the process. Source: issue 14, Commands


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
HINTS = st.builds(TurnHints, st.text(), st.text(), st.booleans(), st.booleans())
ACTIONS = st.none() | st.builds(PostAction, st.text(), st.dictionaries(st.text(), VALUES))


@given(st.builds(Carried, HINTS, ACTIONS, st.integers()))
def test_it_comes_back_as_it_was_stored(carried: Carried) -> None:
    assert Carried.load(carried.dump()) == carried


def test_what_an_older_version_stored_is_read() -> None:
    stored = '{"hints": {"said": "buy milk"}, "post_action": {"kind": "note", "arguments": {}}}'

    assert Carried.load(stored) == Carried(TurnHints("buy milk"), PostAction("note"))


@pytest.mark.parametrize("value", [object(), float("nan")])
def test_what_is_no_json_is_not_stored(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        Carried(TurnHints(), PostAction("x", {"value": value})).dump()


# The front matter of `commands/*.md`. Source: kernel A6, "Workspace commands"


def test_a_file_without_a_front_matter_is_named_after_itself() -> None:
    assert read("Daily-Brief.md", "# Mine\n\nSum my day up.\n") == CommandFile(
        "Daily-Brief.md", "daily_brief", "Sum my day up.", body="# Mine\n\nSum my day up."
    )


def test_every_field_is_read() -> None:
    head = (
        "---\ncommand: brief\ndescription: The\n  day\ntype: pipeline\nsession: isolated\n"
        "passthrough: true\nstreaming: false\n---\n"
    )

    assert read("x.md", head) == CommandFile(
        "x.md", "brief", "The day", "pipeline", passthrough=True, isolated=True
    )


@pytest.mark.parametrize(
    ("head", "body", "problem"),
    [
        ("command: Daily Brief", "x", "x.md:2: command: must be 1 to 32 of a-z, 0-9 and _"),
        ("command: help", "x", "x.md:2: command: /help is one of aouo's own"),
        ("command: 7", "x", "x.md:2: command: must be text"),
        (f"description: {'x' * 257}", "x", "x.md:2: description: has more than 256 characters"),
        ("type: shell", "x", "x.md:2: type: must be agent, pipeline or local"),
        ("session: new", "x", "x.md:2: session: must be current or isolated"),
        ("passthrough: true", "x", "x.md:2: passthrough: only a command of the type pipeline"),
        ("type: pipeline\npassthrough: maybe", "x", "x.md:3: passthrough: must be true or false"),
        ("handler: a.sh", "x", "x.md:2: handler: only a command of the type local"),
        ("type: local", "", "x.md: handler: name the script"),
        ("type: local\nhandler: /bin/sh", "", "x.md:3: handler: must be a file below"),
        ("type: local\nhandler: a/../../b", "", "x.md:3: handler: must be a file below"),
        ("type: local\nhandler: a.sh\nsession: isolated", "", "x.md:4: session: a script has no"),
        ("type: agent", "", "x.md: has no text below its front matter"),
        ("typ: agent", "x", 'x.md:2: typ: unknown key; did you mean "type"?'),
        ("command: [", "x", "x.md:2: not valid YAML"),
    ],
)
def test_a_mistake_is_named_with_its_field(head: str, body: str, problem: str) -> None:
    (found,) = read("x.md", f"---\n{head}\n---\n{body}\n").problems

    assert str(found).startswith(problem)


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    read("x.md", text)
    read("x.md", f"---\n{text}\n---\n{text}")
