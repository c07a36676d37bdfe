"""The front matter of `commands/*.md`. Source: kernel A6, "Workspace commands"."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.commands.file_text import CommandFile, read


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
