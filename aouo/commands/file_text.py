"""Reads one `commands/*.md` of the owner's: its front matter, its body, and what is wrong. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from aouo.facts.commands import COMMANDS
from aouo.packs.format.problems import Problem, did_you_mean
from aouo.packs.format.skills import front_matter, split
from aouo.packs.format.yaml_text import PlainValue, YamlMapping, field_name

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
    document = front_matter(header)
    front = _FrontMatter(file, document)
    front.problems += [
        Problem(file, each.line, each.field, each.message) for each in document.faults
    ]
    name = front.text("command") or _named_after(file)
    found = CommandFile(
        file,
        name,
        " ".join(front.text("description").split()) or _first_line(body) or name,
        front.type(),
        front.text("handler"),
        front.flag("passthrough"),
        front.text("session") == "isolated",
        body.strip(),
    )
    front.check(found)
    return replace(found, line=found.line[:_DESCRIPTION_CHARS], problems=tuple(front.problems))


def _named_after(file: str) -> str:
    """A file's name as a command: `Daily-Brief.md` is `daily_brief`."""
    return file.removesuffix(".md").lower().replace("-", "_").replace(" ", "_")


def _first_line(body: str) -> str:
    lines = (line.strip() for line in body.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


class _FrontMatter:
    """Takes typed values out of a front matter and collects what is wrong with it."""

    def __init__(self, file: str, document: YamlMapping) -> None:
        self.problems: list[Problem] = []
        self._file = file
        self._document = document

    def text(self, key: str) -> str:
        value = self._document.values.get(key)
        if value is None or isinstance(value, str):
            return (value or "").strip()
        self.add(key, "must be text")
        return ""

    def flag(self, key: str) -> bool:
        value = self._document.values.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.add(key, "must be true or false")
        return False

    def type(self) -> FileType:
        said = self.text("type") or "agent"
        for kind in get_args(FileType):
            if said == kind:
                return kind
        self.add("type", f"must be agent, pipeline or local, and is {said!r}")
        return "agent"

    def check(self, found: CommandFile) -> None:
        """Check what one field alone cannot say."""
        stated: dict[str, PlainValue] = self._document.values
        for key in stated:
            if key not in _KEYS + _ACCEPTED:
                self.add(key, f"unknown key{did_you_mean(key, _KEYS)}")
        self._check_name(found.name)
        if len(self.text("description")) > _DESCRIPTION_CHARS:
            self.add("description", f"has more than {_DESCRIPTION_CHARS} characters")
        if self.text("session") not in ("", "current", "isolated"):
            self.add("session", f"must be current or isolated, and is {self.text('session')!r}")
        if found.isolated and found.type == "local":
            self.add("session", "a script has no session; leave it out")
        if found.passthrough and found.type != "pipeline":
            self.add("passthrough", "only a command of the type pipeline passes its line through")
        if found.type == "local":
            self._check_handler(found.handler)
        elif found.handler:
            self.add("handler", "only a command of the type local runs a script")
        elif not found.body and not found.passthrough:
            self.add("", "has no text below its front matter: nothing would be said to the model")

    def _check_name(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            self.add("command", f"must be 1 to 32 of a-z, 0-9 and _, and is {name!r}")
        elif name in COMMANDS:
            self.add("command", f"/{name} is one of aouo's own; choose another name")

    def _check_handler(self, handler: str) -> None:
        if not handler:
            self.add("handler", "name the script, a file in this folder")
        elif handler.startswith("/") or ".." in handler.split("/") or "\0" in handler:
            self.add("handler", "must be a file below the folder commands/")

    def add(self, key: str, message: str) -> None:
        path = (key,) if key else ()
        line = self._document.line_of(path)
        self.problems.append(Problem(self._file, line, field_name(path), message))
