"""Builds the command line of `bwrap` and the JSON for `inside.py`: what a run may see."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import struct
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, assert_never

from aouo.guard.sandbox import walls
from aouo.guard.sandbox.asking import GIVEN
from aouo.guard.sandbox.levels import INSIDE, Bubblewrap, Landlock, Unconfined
from aouo.guard.sandbox.order import Command, Function, Order, RunLimits
from aouo.guard.sandbox.watching import Kill
from aouo.plumbing import children

_SCRIPT_DEPTH = 4  # as far as the kernel follows a script's interpreter
_PT_INTERP = 3
SEARCHED = f"{Path(sys.executable).resolve().parent}:/usr/local/bin:/usr/bin:/bin"
"""The PATH inside; our own interpreter is found first."""


def found(name: str) -> Path | None:
    """Return the file of a program by its name, None = there is none; `python` is our own."""
    if name in ("python", "python3"):
        return Path(sys.executable).resolve()
    there = shutil.which(name, path=SEARCHED)
    return Path(there).resolve() if there else None


def _startable(programs: Iterable[Path]) -> tuple[Path, ...]:
    """Return these files and those that the kernel opens to start them, resolved, each once."""
    files: dict[Path, None] = {}
    for program in programs:
        _follow(program.resolve(), files, 0)
    return tuple(files)


def _follow(program: Path, files: dict[Path, None], depth: int) -> None:
    if program in files or depth > _SCRIPT_DEPTH:
        return
    files[program] = None
    try:
        with program.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return
    for needed in _interpreters(head) if head[:2] == b"#!" else _loader(head):
        _follow(needed.resolve(), files, depth + 1)


def _interpreters(head: bytes) -> list[Path]:
    """Return the interpreter that `#!` names; with `env` also the program that it looks for."""
    words = head[2:].partition(b"\n")[0].decode("utf-8", "replace").split()
    if not words:
        return []
    if Path(words[0]).name != "env":
        return [Path(words[0])]
    named = next((found(word) for word in words[1:] if not word.startswith("-")), None)
    return [Path(words[0]), *((named,) if named else ())]


def _loader(head: bytes) -> list[Path]:
    """Return the loader that a 64-bit little-endian ELF file names."""
    if head[:6] != b"\x7fELF\x02\x01":
        return []
    at, size, count = (
        struct.unpack_from("<Q", head, 32)[0],
        struct.unpack_from("<H", head, 54)[0],
        struct.unpack_from("<H", head, 56)[0],
    )
    for number in range(count):
        entry = at + number * size
        if entry + 56 > len(head):
            break
        kind, offset, length = (
            struct.unpack_from("<I", head, entry)[0],
            struct.unpack_from("<Q", head, entry + 8)[0],
            struct.unpack_from("<Q", head, entry + 32)[0],
        )
        if kind == _PT_INTERP:
            return [Path(head[offset : offset + length].rstrip(b"\0").decode())]
    return []


_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SCRATCH = ("/tmp", "/dev/shm")
"""The folders that are writable for everybody outside a sandbox; inside they are scratch."""
_NOBODY = "65534"
_CHILD = re.compile(rb'"child-pid": ([0-9]+)')
_ETC = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
    *("/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust"),
    *("/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/fonts"),
)
"""The part of /etc that programs need, without accounts, addresses and settings."""


@contextmanager
def pipe_of_inner() -> Generator[tuple[int, Kill]]:
    """Yield the end of a pipe by which bubblewrap tells of the process that it starts, and what
    kills all that is left of a run, right after bubblewrap's own process was ended.

    The end is to be closed once bubblewrap has its own copy, or was not started. The inner process
    asks the kernel to die with bubblewrap a moment after it began: if bubblewrap is ended in that
    moment it would stay for ever. What began earlier still is in bubblewrap's group.
    """
    reads, told = os.pipe()
    os.set_blocking(reads, False)
    try:
        yield told, partial(_kill, reads)
    finally:
        os.close(reads)


def _kill(reads: int, process: asyncio.subprocess.Process) -> None:
    children.kill_group(process)
    with suppress(BlockingIOError):
        if found := _CHILD.search(os.read(reads, 4096)):
            _kill_orphan(int(found[1]))


def _kill_orphan(pid: int) -> None:
    with suppress(OSError):  # it has ended
        if Path(f"/proc/{pid}/comm").read_bytes() == b"bwrap\n":
            os.kill(pid, signal.SIGKILL)


def python() -> Path:
    """Return the interpreter itself, outside its virtual environment."""
    return Path(sys.executable).resolve()


def python_folders() -> tuple[Path, ...]:
    """Return the interpreter's own folders, unless they are in the system's folders."""
    base = Path(sys.base_prefix).resolve()
    found = [base / "lib", base / "bin", python().parent]
    return tuple(folder for folder in found if not folder.is_relative_to("/usr"))


def system() -> Iterator[Path]:
    """Yield the system's folders of programs and libraries."""
    for text in ("/usr", *_SYSTEM, "/nix/store"):
        if Path(text).is_dir():
            yield Path(text)


def _bound(order: Order) -> tuple[Path, ...]:
    """Return the mounted paths besides the system's: those for reading, then those for writing."""
    return (*python_folders(), INSIDE.parent.resolve(), *order.readable, *order.writable)


def command(level: Bubblewrap, order: Order, scratch: Path, told: int) -> list[str]:
    """Return the command line up to the program inside; later mounts cover earlier ones.

    `told` is as in `pipe_of_inner`. Where no mounts can be made inside, the folder `scratch` is
    mounted for temporary files.
    """
    words = [
        level.bwrap,
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--info-fd",
        str(told),
    ]
    words += ["--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"]
    for folder in system():
        if folder.is_symlink():
            words += ["--symlink", str(folder.readlink()), str(folder)]
        else:
            words += _bind("--ro-bind", folder)
    for text in _ETC:
        words += ["--ro-bind-try", text, text]
    words += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    if level.mounts:
        words += [word for text in SCRATCH for word in ("--size", "4096", "--tmpfs", text)]
    else:
        words += ["--remount-ro", "/proc"]
        words += [word for text in SCRATCH for word in ("--bind", str(scratch), text)]
    for path in _bound(order):
        words += _bind("--bind" if path in order.writable else "--ro-bind", path)
    return [*words, "--remount-ro", "/", "--chdir", str(order.folder), "--"]


def _bind(how: str, path: Path) -> list[str]:
    return [how, str(path), str(path)]


_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def told(
    level: Bubblewrap | Landlock | Unconfined, order: Order, scratch: Path, egress: int, asks: int
) -> str:
    """Return the order as JSON for `inside.py`."""
    is_nested = not isinstance(level, Bubblewrap)
    namespaces = isinstance(level, Landlock) and level.namespaces
    calls: dict[str, bool] | None = None
    rules: dict[str, Any] | None = None
    lowered = not isinstance(level, Unconfined) and level.lowered
    mounts = namespaces or (isinstance(level, Bubblewrap) and level.mounts)
    folders: list[str] = [str(scratch)] if is_nested else [*SCRATCH]
    if not isinstance(level, Unconfined):
        version = level.version if isinstance(level, Landlock) else level.landlock
        calls = {
            "network": egress >= 0,
            "files": is_nested,
            "signals": is_nested and not namespaces and version < walls.SCOPE_SINCE,
        }
        own = [] if is_nested else [Path("/proc")]
        rules = _rules(order, own, list(map(Path, folders)), version) if version else None
        if rules is not None and egress >= 0:
            rules["network"] = True  # the network there leads only to our proxy
    return json.dumps(
        {
            "nested": is_nested,
            "namespaces": namespaces,
            "parent": os.getpid(),
            "egress": egress,
            "asks": asks,
            "given": str(GIVEN),
            "limits": _limits(order.limits, processes=namespaces or not is_nested or lowered),
            "mounts": _mounts(order, folders) if mounts else None,
            "calls": calls,
            "landlock": rules,
            "run": _run(order.run),
        }
    )


def _mounts(order: Order, folders: list[str]) -> dict[str, Any]:
    """Return the arguments of `walls.mount`; later paths lie in or beside earlier ones."""
    kept = (path for path in _bound(order) if any(map(path.is_relative_to, folders)))
    return {
        "folders": folders,
        "kept": list(map(str, kept)),
        "size_bytes": order.limits.scratch_bytes,
        "entries": order.limits.scratch_entries,
    }


def _rules(order: Order, own: list[Path], scratch: list[Path], version: int) -> dict[str, Any]:
    named = order.run.program if isinstance(order.run, Command) else None
    programs = _startable([*((named,) if named else ()), *order.programs])
    readable = [
        *system(),
        *map(Path, _ETC),
        *python_folders(),
        GIVEN,
        *order.readable,
        *own,
        *map(Path, _DEVICES),
    ]
    return {
        "version": version,
        "network": False,
        "programs": list(map(str, programs)),
        "readable": list(map(str, readable)),
        "writable": list(map(str, [*order.writable, *scratch, *map(Path, _DEVICES[:3])])),
    }


def _limits(limits: RunLimits, *, processes: bool) -> dict[str, int]:
    """Return limits by the names of `resource`.

    Processes are limited only where the run has a user of its own, since all of a user's count.
    """
    found = {
        "RLIMIT_CPU": limits.cpu_s,
        "RLIMIT_AS": limits.memory_bytes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
    }
    return found | ({"RLIMIT_NPROC": limits.processes} if processes else {})


def _run(run: Function | Command) -> dict[str, Any]:
    match run:
        case Function():
            return {
                "file": str(run.file),
                "module": run.file.stem,
                "function": run.name,
                "path": list(map(str, run.path)),
            }
        case Command():
            return {"program": str(run.program), "argv": list(run.words)}
        case _:
            assert_never(run)
