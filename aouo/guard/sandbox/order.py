"""Orders to a sandbox and their results, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of one run; memory, file size and open files are for each of its processes.

    `scratch` is for temporary files and folders, also for open files without a name.
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
    """A public function of a pack's Python file; `path` are more folders to import from."""

    file: Path
    name: str
    path: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A program's file, and its argv with the first word."""

    program: Path
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """One run; it can read, write, start and reach only what is named here.

    All paths are absolute and resolved. `programs` may be started too; `online`: the egress proxy
    is its network, see `Sandbox.run`. `env` is added to the few variables that every program needs.
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
"""By itself, or by the limit that it exceeded; `room` is the room of the pack's own folder."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a run: it ended by itself with `status`, or we ended it.

    `stderr` is its last 4,000 bytes as text.
    """

    end: End
    status: int
    stdout: bytes
    stderr: str
