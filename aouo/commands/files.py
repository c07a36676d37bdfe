"""Holds the owner's commands in `commands/*.md`; reads them again when they change."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import structlog

from aouo.commands.file_text import CommandFile, read
from aouo.commands.registry import AddedCommand, CommandCall, Result
from aouo.commands.scripts import Scripts, missing
from aouo.facts.commands import COMMANDS, Takes, TurnHints
from aouo.packs.format.inside import NotInside, read_inside
from aouo.packs.format.problems import Problem
from aouo.words.commands import unusable

log = structlog.get_logger()
MAX_BYTES = 64 * 1024
"""Of one file: it is said to a model whole."""
MAX_FILES = 200
_WORDS = "# What was written after the command"


def command_files(folder: Path, taken: Collection[str] = ()) -> list[CommandFile]:
    """Read the owner's files; `taken` are names of commands that their packages brought."""
    found: list[CommandFile] = []
    names = dict.fromkeys(taken, "a package of yours")
    for file in _listed(folder):
        command = _read(folder, file)
        if command.name in names:
            message = f"/{command.name} is a command of {names[command.name]} already"
            problem = Problem(file, 0, "command", message)
            command = replace(command, problems=(*command.problems, problem))
        elif command.name not in COMMANDS:
            names[command.name] = f"commands/{file}"
        found.append(command)
    return found


def problems_of(folder: Path, files: Iterable[CommandFile]) -> Iterator[str]:
    """What is wrong with the files, and with the scripts that they name, as lines."""
    for command in files:
        yield from (f"commands/{problem}" for problem in command.problems)
        if command.type == "local" and not command.problems and (why := missing(folder, command)):
            yield why


def _listed(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".md"))
    except OSError:
        return []
    return [name for name in names if not name.startswith(".")][:MAX_FILES]


def _read(folder: Path, file: str) -> CommandFile:
    try:
        return read(file, read_inside(folder, file, max_bytes=MAX_BYTES))
    except (NotInside, FileNotFoundError) as error:
        return replace(read(file, "-"), problems=(Problem(file, 0, "", str(error)),))


_Seen: TypeAlias = tuple[int, tuple[str, ...], tuple[tuple[int, int], ...]]
"""When something was put into the folder or taken out, the files in it, and a stamp for each."""


@dataclass(eq=False)
class CommandFiles:
    """The owner's files as commands; a look at them costs one `stat` a file.

    `changed` is called when they are not what they were before. `look` belongs to the event loop;
    what it saw last may be read anywhere.
    """

    scripts: Scripts
    taken: Collection[str]
    changed: Callable[[], None]

    def __post_init__(self) -> None:
        self._seen: _Seen | None = None
        self._files: list[CommandFile] = []
        self.seen: Mapping[str, AddedCommand] = {}

    def look(self) -> Mapping[str, AddedCommand]:
        """Return the commands as the files are now; one whose file has problems says so to the
        owner."""
        if (seen := self._stamps()) != self._seen:
            first, self._seen = self._seen is None, seen
            self._files = command_files(self.scripts.folder, self.taken)
            for problem in problems_of(self.scripts.folder, self._files):
                log.warning("command_file_broken", problem=problem)
            self.seen = self._made()
            if not first:
                self.changed()
        return self.seen

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the files that were seen, and with the scripts that they name."""
        return tuple(problems_of(self.scripts.folder, self._files))

    def _stamps(self) -> _Seen:
        folder = self.scripts.folder
        try:
            at = folder.stat().st_mtime_ns
        except OSError:
            return (0, (), ())
        seen = self._seen
        names = seen[1] if seen and seen[0] == at else tuple(_listed(folder))
        return (at, names, tuple(_stamp(folder / name) for name in names))

    def _made(self) -> Mapping[str, AddedCommand]:
        made: dict[str, AddedCommand] = {}
        for command in self._files:
            if command.name in COMMANDS or command.name in self.taken or command.name in made:
                continue
            if command.problems:
                made[command.name] = AddedCommand("", self._broken(command), Takes.TEXT)
            elif command.type == "local":
                made[command.name] = AddedCommand(command.line, self._script(command))
            else:
                made[command.name] = AddedCommand(command.line, _preset(command), Takes.TEXT)
        return made

    def _script(self, command: CommandFile) -> Callable[[CommandCall], Awaitable[Result]]:
        return lambda call: self.scripts.run(command, call)

    def _broken(self, command: CommandFile) -> Callable[[CommandCall], Awaitable[Result]]:
        async def run(call: CommandCall) -> Result:
            problem = f"commands/{command.problems[0]}"
            seen = problem if self.scripts.is_owner(call.inbound) else ""
            return Result(unusable(command.name, seen))

        return run


def _preset(command: CommandFile) -> Callable[[CommandCall], Awaitable[Result]]:
    async def run(call: CommandCall) -> Result:
        if command.passthrough:
            said = f"/{command.name} {call.rest}".strip()
            return Result(hints=TurnHints(said, isolated=command.isolated))
        words = f"{_WORDS}\n\n{call.rest}" if call.rest else ""
        said = "\n\n".join(filter(None, (command.body, words)))
        return Result(hints=TurnHints(said, isolated=command.isolated))

    return run


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
