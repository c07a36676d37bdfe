"""Starts and ends child processes: a clean environment, a group of their own, a bounded end."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeAlias

_Pipe: TypeAlias = int | IO[bytes]

PYTHON = (sys.executable, "-P")
"""Our own Python; `-P` keeps modules in its folder from being importable."""
_INHERITED = re.compile(
    r"PATH|HOME|LANG|LC_\w+|TMPDIR|(DY)?LD_LIBRARY_PATH|PYTHON(PATH|HOME)|VIRTUAL_ENV"
    r"|(OMP|GGML)_\w+"
)
_LOOK_EVERY_S = 0.01
_KILLED_S = 5.0
"""A process that left the group may hold a pipe of the dead child open for ever."""


def clean_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the part of our environment that a child needs: paths, locale, threads; no keys."""
    return {name: value for name, value in environ.items() if _INHERITED.fullmatch(name)}


async def spawn(
    *command: str,
    env: Mapping[str, str] | None = None,
    stdin: _Pipe = subprocess.PIPE,
    stdout: _Pipe = subprocess.PIPE,
    stderr: _Pipe | None = subprocess.DEVNULL,
    folder: Path | str | None = None,
    handed_on: Sequence[int] = (),
) -> asyncio.subprocess.Process:
    """Start a program in a session of its own, so that a terminal's Ctrl-C reaches only us.

    `env` is its whole environment, by default `clean_environment()`. `handed_on` are file
    descriptors that stay open in it. `end` ends it with every process that it started.
    """
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=clean_environment() if env is None else env,
        cwd=folder,
        pass_fds=handed_on,
        start_new_session=True,
    )


def _close_stdin(process: asyncio.subprocess.Process) -> None:
    """Close a child's stdin: ask it to end, if it ends at the end of its input."""
    if process.stdin is not None:
        process.stdin.close()


def kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill a child and its whole group, or what is left of the group right after the child ended:
    a child that is ended while it starts another one may leave that behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def end(
    process: asyncio.subprocess.Process,
    *,
    patience_s: float = 0.0,
    ask: Callable[[asyncio.subprocess.Process], None] = _close_stdin,
    kill: Callable[[asyncio.subprocess.Process], None] = kill_group,
) -> None:
    """Ask a child to end; then, after `patience_s` or when cancelled, kill what is left of it."""
    if process.returncode is not None:
        return
    ask(process)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await _ended(process)
    finally:
        kill(process)
    with suppress(TimeoutError):
        async with asyncio.timeout(_KILLED_S):
            await process.wait()


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait for a child alone; `Process.wait` waits for all that hold its pipes, too."""
    while process.returncode is None:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(_LOOK_EVERY_S)
