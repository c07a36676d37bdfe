"""Reads one `commands/*.md`, and builds the chat's command menu: pure.

Source: core.telegram.org/bots/api#setmycommands, and reference, "Outbound" (the whole body).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from aouo.facts.commands import COMMANDS, offered
from aouo.packs.format.problems import Problem, did_you_mean
from aouo.packs.format.skills import FrontMatter, front_matter, split
from aouo.packs.library import Library
from aouo.words.catalogue import speaking, text

_FileType: TypeAlias = Literal["agent", "pipeline", "local"]
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
    type: _FileType = "agent"
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


def _type(front: FrontMatter) -> _FileType:
    said = front.text("type") or "agent"
    for kind in get_args(_FileType):
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


_MAX_COMMANDS = 100
_MAX_DESCRIPTION_CHARS = 256
_MAX_BODY_BYTES = 7_800
_SHORTEST_CHARS = 3


@dataclass(frozen=True, slots=True)
class _Menu:
    """The menu's (name, description) in order; `taken` are skills' names that another command has,
    `left_out` names for which there was no room."""

    entries: tuple[tuple[str, str], ...]
    taken: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def menu(ours: Sequence[tuple[str, str]], skills: Mapping[str, str]) -> _Menu:
    """Make the menu of our and the skills' commands: name → description.

    If it is too long, all descriptions are cut to the same length.
    """
    names = {name for name, _ in ours}
    taken = tuple(name for name in skills if name in names)
    wanted = [*ours, *((name, text) for name, text in skills.items() if name not in names)]
    lines = [(name, " ".join(text.split()) or name) for name, text in wanted]
    kept = lines[:_MAX_COMMANDS]
    while _body_bytes(_cut(kept, _SHORTEST_CHARS)) > _MAX_BODY_BYTES:
        kept.pop()
    left_out = tuple(name for name, _ in lines[len(kept) :])
    return _Menu(tuple(_cut(kept, _longest(kept))), taken, left_out)


def menu_of(
    library: Library,
    added: Mapping[str, str],
    *,
    platform: str = "tg",
    pack: str = "",
    language: str = "en",
) -> _Menu:
    """The menu of a platform with what the owner `added` (name → description, "" = not listed) and
    the skills of a pack, "" = of all that are installed."""
    skills = {
        name: _about(library, qualified, language)
        for name, qualified in library.commands(pack).items()
        if pack in ("", qualified.partition(":")[0])
    }
    with speaking(language):
        ours = [(entry.name, text(f"about-commands.{entry.name}")) for entry in offered(platform)]
    ours += [(name, line) for name, line in added.items() if line]
    return menu(ours, skills)


def _about(library: Library, qualified: str, language: str) -> str:
    """What a skill does."""
    name, _, skill = qualified.partition(":")
    pack = library.get(name)
    said = library.resolve_skill(name, skill).description
    return pack.said(language, said) if pack else said


def _longest(kept: Sequence[tuple[str, str]]) -> int:
    """The most characters that every description may have."""
    low, high = _SHORTEST_CHARS, _MAX_DESCRIPTION_CHARS
    while low < high:
        middle = (low + high + 1) // 2
        fits = _body_bytes(_cut(kept, middle)) <= _MAX_BODY_BYTES
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _cut(lines: Sequence[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    return [
        (name, text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…")
        for name, text in lines
    ]


def _body_bytes(lines: Sequence[tuple[str, str]]) -> int:
    """As python-telegram-bot writes it: ASCII, other characters escaped."""
    return len(json.dumps([{"command": name, "description": text} for name, text in lines]))
