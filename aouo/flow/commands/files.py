"""Holds the commands of the owner: `commands/*.md`, scripts, and Python packages."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from aouo.facts.commands import COMMANDS, Takes, TurnHints
from aouo.facts.events import Inbound
from aouo.facts.ids import ulid
from aouo.facts.ports import Clock, Rendered, stamp
from aouo.facts.records import AuditEntry
from aouo.flow.commands.file_text import CommandFile, read
from aouo.flow.commands.registry import AddedCommand, CommandCall, Doing, Result
from aouo.guard.prepared import digest
from aouo.guard.sandbox import bubblewrap
from aouo.guard.sandbox.order import Command, Order, Ran, RunLimits
from aouo.guard.sandbox.run import NotConfined, Sandbox
from aouo.packs.format.folder import NotInside, read_inside
from aouo.packs.format.problems import Problem
from aouo.plumbing import resources
from aouo.plumbing.logs import log
from aouo.store import audit
from aouo.store.database import Database
from aouo.words.catalogue import say, text
from aouo.words.conversations import output, unusable

_LIMITS = RunLimits(time_s=60.0, output_bytes=200_000)
_SHELL = Path("/bin/sh")
_BOTH = 'exec "$0" "$@" 2>&1'
"""Lets a script write what it says and what it complains of in one order."""


@dataclass(frozen=True, slots=True)
class Scripts:
    """Runs scripts below `folder`; only the owner reads what is wrong with one.

    A script may start the machine's programs, read its own folder, and write temporary files only;
    it has no network.
    """

    folder: Path
    sandbox: Callable[[], Sandbox]
    is_owner: Callable[[Inbound], bool]
    database: Database
    clock: Clock

    async def run(self, command: CommandFile, call: CommandCall) -> Result:
        """Run a command's script with the words after it, and answer with all that it says."""
        if why := _missing(self.folder, command):
            return self._unusable(command, call, why)
        try:
            ran = await self.sandbox().run(self._order(command, call))
        except NotConfined as error:
            log.warning("command_refused", command=command.name, why=str(error))
            return self._unusable(command, call, text("commands.not-confined", why=error))
        log.info("command_ran", command=command.name, end=ran.end, status=ran.status)
        await self._record(command, call, done=ran.end == "exit" and not ran.status)
        return Result(_said(command.name, ran))

    async def _record(self, command: CommandFile, call: CommandCall, *, done: bool) -> None:
        """Tell the audit that a person had a script run."""
        number, origin = ulid(), call.inbound.origin
        given = digest(command.name, call.words.all)
        about = number, number, f"/{command.name}", "", origin, given, "typed by a person"
        row = AuditEntry("EXECUTED" if done else "FAILED", "", *about, sink="run")
        now = stamp(self.clock)
        await self.database.transact(lambda tx: audit.append(tx, row, now))

    def _order(self, command: CommandFile, call: CommandCall) -> Order:
        folder = self.folder.resolve()
        script = (folder / command.handler).resolve()
        return Order(
            run=Command(_SHELL.resolve(), ("sh", "-c", _BOTH, str(script), *call.words.all)),
            stdin=b"",
            folder=folder,
            readable=(folder,),
            programs=(script, folder, *bubblewrap.system(), *bubblewrap.python_folders()),
            env=(("SESSION_ID", call.session_id), ("WORKSPACE", str(folder))),
            limits=_LIMITS,
        )

    def _unusable(self, command: CommandFile, call: CommandCall, why: str) -> Result:
        return Result(unusable(command.name, why if self.is_owner(call.inbound) else ""))


def _missing(folder: Path, command: CommandFile) -> str:
    """What keeps a command's script in `folder` from being started, "" = nothing."""
    script = (folder / command.handler).resolve()
    where = f"commands/{command.file}: handler: commands/{command.handler}"
    if not script.is_relative_to(folder.resolve()):
        return f"{where} leads out of the folder."
    if not script.is_file():
        return f"{where} is not there."
    return "" if os.access(script, os.X_OK) else f"{where} is not executable: chmod +x it."


def _said(name: str, ran: Ran) -> Rendered:
    said = ran.stdout.decode("utf-8", "replace").strip()
    match ran.end:
        case "time":
            return say("commands.took-too-long", name=name)
        case "exit" if not ran.status:
            return output(name, said)
        case "exit":
            why = text("commands.ended-with-status", status=ran.status)
            said = said or ran.stderr.strip()
        case "output":
            why = text("commands.said-too-much", bytes=_LIMITS.output_bytes)
        case "scratch" | "room":
            why = text("commands.wrote-too-much", bytes=_LIMITS.scratch_bytes)
    return output(name, f"{said}\n\n{why}".strip())


_MAX_BYTES = 64 * 1024
"""Of one file: it is said to a model whole."""
_MAX_FILES = 200
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
        if command.type == "local" and not command.problems and (why := _missing(folder, command)):
            yield why


def _listed(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".md"))
    except OSError:
        return []
    return [name for name in names if not name.startswith(".")][:_MAX_FILES]


def _read(folder: Path, file: str) -> CommandFile:
    try:
        return read(file, read_inside(folder, file, max_bytes=_MAX_BYTES))
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


COMMANDS_GROUP = "aouo.commands"
_POST_ACTIONS_GROUP = "aouo.post_actions"
_NAME = re.compile(r"[a-z0-9_]{1,32}")


def commands_of_packages() -> Mapping[str, AddedCommand]:
    """Return the commands that the owner's packages bring, by name.

    Raises:
        SetupError: one does not load, is no `AddedCommand`, or its name is taken or misspelt.
    """
    found: dict[str, AddedCommand] = {}
    for entry in resources.found_entry_points(COMMANDS_GROUP):
        what = "command"
        if not _NAME.fullmatch(entry.name):
            raise resources.entry_point_failed(
                entry, what, "is misspelt: 1 to 32 of a-z, 0-9 and _"
            )
        if entry.name in COMMANDS or entry.name in found:
            raise resources.entry_point_failed(entry, what, "has a name that is taken")
        command: object = resources.load_entry_point(entry, what)
        if not isinstance(command, AddedCommand):
            raise resources.entry_point_failed(entry, what, "is no AddedCommand")
        found[entry.name] = command
        log.info("command_added", command=entry.name)
    return found


def post_actions_of_packages(built_in: Mapping[str, Doing]) -> Mapping[str, Doing]:
    """Return the built-in kinds of post-actions and those that the owner's packages bring.

    Raises:
        SetupError: one does not load, cannot be called, or its name is taken.
    """
    found: dict[str, Doing] = dict(built_in)
    for entry in resources.found_entry_points(_POST_ACTIONS_GROUP):
        what = "post-action"
        if entry.name in found:
            raise resources.entry_point_failed(entry, what, "has a name that is taken")
        doing: Doing = resources.load_entry_point(entry, what)
        if not callable(doing):
            raise resources.entry_point_failed(entry, what, "cannot be called")
        found[entry.name] = doing
        log.info("post_action_added", kind=entry.name)
    return found
