"""Verbs that print facts take `--json`. Source: docs/reference.md."""

from __future__ import annotations

from collections.abc import Iterator

import click

from aouo.cli.main import aouo

WITHOUT_FACTS = {
    "ask": "prints what was answered, as it is",
    "audit export": "prints JSON",
    "chat": "is a conversation",
    "config edit": "opens an editor",
    "config schema": "prints JSON",
    "dev": "runs until it is stopped",
    "pack schema": "prints JSON",
    "pack set": "asks for a secret, and prints one line",
    "service install": "prints one line",
    "service logs": "prints another program's lines",
    "service status": "prints another program's lines",
    "service uninstall": "prints one line",
    "setup": "asks question by question",
    "start": "runs until it is stopped",
    "try": "runs until it is stopped",
}


def verbs(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, bool]]:
    """Each verb, and whether it takes `--json`."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below
            yield from verbs(below, (*path, name))
        if not command.invoke_without_command:
            return
    yield " ".join(path), any("--json" in parameter.opts for parameter in command.params)


def test_each_verb_takes_json_but_those_that_print_no_facts() -> None:
    assert {verb for verb, takes in verbs(aouo) if not takes} == set(WITHOUT_FACTS)
