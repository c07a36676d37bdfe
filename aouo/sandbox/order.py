"""What to run in a sandbox and what came of it, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one run may take; memory, files and open files are for each of its processes.

    `scratch` is what is temporary: files and folders, and files that have no name any more.
    """

    time_s: float = 30.0
    cpu_s: int = 20
    memory_bytes: int = 512 * 1024 * 1024
    file_bytes: int = 64 * 1024 * 1024
    open_files: int = 256
    processes: int = 48
    output_bytes: int = 1_000_000
    scratch_bytes: int = 64 * 1024 * 1024
    scratch_entries: int = 10_000


@dataclass(frozen=True, slots=True)
class Function:
    """A public function of a pack's Python file; `path` is where it may import from besides."""

    file: Path
    name: str
    path: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A program by its file, and its words, the first one included."""

    program: Path
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """One run. Nothing but what is named here can be read, written, started or reached.

    All paths are absolute with links followed. `programs` may be started besides; `online`: a
    proxy of ours is the network, see `Sandbox.run`. `env` is all the environment besides the
    little that every program needs.
    """

    run: Function | Command
    stdin: bytes
    folder: Path
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    programs: tuple[Path, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    online: bool = False
    limits: RunLimits = field(default_factory=RunLimits)


End: TypeAlias = Literal["exit", "time", "output", "room", "scratch"]
"""By itself, or what it took too much of; `room` is that of the pack's own folder."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How it ended: by itself with `status`, or by us. `stderr` is its last 4,000 characters."""

    end: End
    status: int
    stdout: bytes
    stderr: str
