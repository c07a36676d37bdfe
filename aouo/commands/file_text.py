"""Reads one `commands/*.md` of the owner's: its front matter, its body, and what is wrong. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from aouo.facts.commands import COMMANDS
from aouo.packs.format.problems import Problem, did_you_mean
from aouo.packs.format.skills import FrontMatter, front_matter, split

FileType: TypeAlias = Literal["agent", "pipeline", "local"]
_NAME = re.compile(r"[a-z0-9_]{1,32}")
_DESCRIPTION_CHARS = 256
_KEYS = ("command", "description", "type", "session", "handler", "passthrough")
_ACCEPTED = ("streaming",)
"""Keys of the original that mean nothing here: how an answer is shown is the channel's."""


@dataclass(frozen=True, slots=True)
class CommandFile:
    """One file: a preset that a turn begins with, or a local script.

    `handler` is the script's path below the folder. `passthrough`: the turn reads the line as it
    was typed. `isolated`: it has a session of its own. A file with `problems` is not used.
    """

    file: str
    name: str
    line: str
    type: FileType = "agent"
    handler: str = ""
    passthrough: bool = False
    isolated: bool = False
    body: str = ""
    problems: tuple[Problem, ...] = ()


def read(file: str, text: str) -> CommandFile:
    """Read the text of the file of this name; never raises."""
    header, body = split(text)
    front = FrontMatter(front_matter(header), file)
    name = front.text("command") or _named_after(file)
    found = CommandFile(
        file,
        name,
        " ".join(front.text("description").split()) or _first_line(body) or name,
        _type(front),
        front.text("handler"),
        front.flag("passthrough"),
        front.text("session") == "isolated",
        body.strip(),
    )
    _check(front, found)
    return replace(found, line=found.line[:_DESCRIPTION_CHARS], problems=tuple(front.problems))


def _named_after(file: str) -> str:
    """A file's name as a command: `Daily-Brief.md` is `daily_brief`."""
    return file.removesuffix(".md").lower().replace("-", "_").replace(" ", "_")


def _first_line(body: str) -> str:
    lines = (line.strip() for line in body.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def _type(front: FrontMatter) -> FileType:
    said = front.text("type") or "agent"
    for kind in get_args(FileType):
        if said == kind:
            return kind
    front.add("type", f"must be agent, pipeline or local, and is {said!r}")
    return "agent"


def _check(front: FrontMatter, found: CommandFile) -> None:
    """Check what one field alone cannot say."""
    for key in front.values:
        if key not in _KEYS + _ACCEPTED:
            front.add(key, f"unknown key{did_you_mean(key, _KEYS)}")
    if not _NAME.fullmatch(found.name):
        front.add("command", f"must be 1 to 32 of a-z, 0-9 and _, and is {found.name!r}")
    elif found.name in COMMANDS:
        front.add("command", f"/{found.name} is one of aouo's own; choose another name")
    if len(front.text("description")) > _DESCRIPTION_CHARS:
        front.add("description", f"has more than {_DESCRIPTION_CHARS} characters")
    if front.text("session") not in ("", "current", "isolated"):
        front.add("session", f"must be current or isolated, and is {front.text('session')!r}")
    if found.isolated and found.type == "local":
        front.add("session", "a script has no session; leave it out")
    if found.passthrough and found.type != "pipeline":
        front.add("passthrough", "only a command of the type pipeline passes its line through")
    if found.type == "local":
        _check_handler(front, found.handler)
    elif found.handler:
        front.add("handler", "only a command of the type local runs a script")
    elif not found.body and not found.passthrough:
        front.add("", "has no text below its front matter: nothing would be said to the model")


def _check_handler(front: FrontMatter, handler: str) -> None:
    if not handler:
        front.add("handler", "name the script, a file in this folder")
    elif handler.startswith("/") or ".." in handler.split("/") or "\0" in handler:
        front.add("handler", "must be a file below the folder commands/")
