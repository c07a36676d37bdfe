"""Runs the owner's local commands: a script in the sandbox, whose output is the answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from aouo.commands.file_text import CommandFile
from aouo.commands.registry import CommandCall, Result
from aouo.facts.events import Inbound
from aouo.facts.ports import Rendered
from aouo.sandbox import bubblewrap
from aouo.sandbox.order import Command, Order, Ran, RunLimits
from aouo.sandbox.run import NotConfined, Sandbox
from aouo.words.catalogue import say, text
from aouo.words.commands import output, unusable

log = structlog.get_logger()
LIMITS = RunLimits(time_s=60.0, output_bytes=200_000)
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

    async def run(self, command: CommandFile, call: CommandCall) -> Result:
        """Run a command's script with the words after it, and answer with all that it says."""
        if why := missing(self.folder, command):
            return self._unusable(command, call, why)
        try:
            ran = await self.sandbox().run(self._order(command, call))
        except NotConfined as error:
            log.warning("command_refused", command=command.name, why=str(error))
            return self._unusable(command, call, text("commands.not-confined", why=error))
        log.info("command_ran", command=command.name, end=ran.end, status=ran.status)
        return Result(_said(command.name, ran))

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
            limits=LIMITS,
        )

    def _unusable(self, command: CommandFile, call: CommandCall, why: str) -> Result:
        return Result(unusable(command.name, why if self.is_owner(call.inbound) else ""))


def missing(folder: Path, command: CommandFile) -> str:
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
            why = text("commands.said-too-much", bytes=LIMITS.output_bytes)
        case "scratch" | "room":
            why = text("commands.wrote-too-much", bytes=LIMITS.scratch_bytes)
    return output(name, f"{said}\n\n{why}".strip())
