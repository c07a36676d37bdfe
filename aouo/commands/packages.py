"""Loads the commands and post-actions of the owner's Python packages, by their entry points."""

from __future__ import annotations

import re
from collections.abc import Mapping

import structlog

from aouo.commands.post_actions import Doing
from aouo.commands.registry import AddedCommand
from aouo.facts.commands import COMMANDS
from aouo.plumbing import entry_points

log = structlog.get_logger()
COMMANDS_GROUP = "aouo.commands"
POST_ACTIONS_GROUP = "aouo.post_actions"
_NAME = re.compile(r"[a-z0-9_]{1,32}")


def commands_of_packages() -> Mapping[str, AddedCommand]:
    """Return the commands that the owner's packages bring, by name.

    Raises:
        SetupError: one does not load, is no `AddedCommand`, or its name is taken or misspelt.
    """
    found: dict[str, AddedCommand] = {}
    for entry in entry_points.found(COMMANDS_GROUP):
        what = "command"
        if not _NAME.fullmatch(entry.name):
            raise entry_points.failed(entry, what, "is misspelt: 1 to 32 of a-z, 0-9 and _")
        if entry.name in COMMANDS or entry.name in found:
            raise entry_points.failed(entry, what, "has a name that is taken")
        command: object = entry_points.load(entry, what)
        if not isinstance(command, AddedCommand):
            raise entry_points.failed(entry, what, "is no AddedCommand")
        found[entry.name] = command
        log.info("command_added", command=entry.name)
    return found


def post_actions_of_packages(built_in: Mapping[str, Doing]) -> Mapping[str, Doing]:
    """Return the built-in kinds of post-actions and those that the owner's packages bring.

    Raises:
        SetupError: one does not load, cannot be called, or its name is taken.
    """
    found: dict[str, Doing] = dict(built_in)
    for entry in entry_points.found(POST_ACTIONS_GROUP):
        what = "post-action"
        if entry.name in found:
            raise entry_points.failed(entry, what, "has a name that is taken")
        doing: Doing = entry_points.load(entry, what)
        if not callable(doing):
            raise entry_points.failed(entry, what, "cannot be called")
        found[entry.name] = doing
        log.info("post_action_added", kind=entry.name)
    return found
