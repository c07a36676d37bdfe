"""Finds out by trial how far this machine can confine a process, and makes control groups."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from aouo.guard.sandbox import syscalls, walls
from aouo.guard.sandbox.order import RunLimits

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "aouo-tool-"
_NEW_S = 60.0
_TRIES, _AGAIN_S = 50, 0.01
_TREE_FACTOR = 2  # the memory of all processes together, in that of one


def parents() -> tuple[Path, ...]:
    """Return the folders in which we can make groups with limits; () = none, or not needed.

    They are needed for root only: the kernel's own limit holds for all other users.
    """
    return () if os.geteuid() else tuple(_usable(Path("/proc/self/cgroup").read_text()))


def _limits_processes(groups: tuple[Path, ...]) -> bool:
    """Whether one of these groups limits the number of processes."""
    return any(_has(folder, "pids") for folder in groups)


@asynccontextmanager
async def group(
    within: tuple[Path, ...], name: str, limits: RunLimits
) -> AsyncGenerator[tuple[Path, ...]]:
    """Make groups with these limits; they are removed after the block, once they are empty.

    Yields the files to which a process writes its pid to join; () = there are no limits.
    """
    made: list[Path] = []
    try:
        for parent in within:
            with suppress(OSError):
                folder = parent / f"{_PREFIX}{name}"
                folder.mkdir()
                made.append(folder)
                _limit(folder, limits)
        yield tuple(folder / "cgroup.procs" for folder in made)
    finally:
        for folder in made:
            await _end(folder)


def _usable(ours: str) -> Iterator[Path]:
    for line in ours.splitlines():
        _, kinds, path = line.split(":", 2)
        for kind in ("pids", "memory") if kinds else ("",):
            if kind and kind not in kinds.split(","):
                continue
            folder = _ROOT / kind if kind else _ROOT
            folder = folder / path.lstrip("/") if (folder / path.lstrip("/")).is_dir() else folder
            wanted = ("pids", "memory") if not kind else (kind,)
            if any(_has(folder, one) for one in wanted) and os.access(folder, os.W_OK):
                yield folder


def _has(folder: Path, kind: str) -> bool:
    """Whether a group made in `folder` could limit `kind`; works for both versions of cgroups."""
    if (folder / "cgroup.subtree_control").exists():
        return kind in (folder / "cgroup.subtree_control").read_text().split()
    return (folder.parent == _ROOT and folder.name == kind) or folder.is_relative_to(_ROOT / kind)


def _limit(folder: Path, limits: RunLimits) -> None:
    memory = limits.memory_bytes * _TREE_FACTOR
    for file, value in (
        ("pids.max", limits.processes),
        ("memory.max", memory),
        ("memory.limit_in_bytes", memory),
    ):
        if (folder / file).exists():
            (folder / file).write_text(str(value))


async def _end(folder: Path) -> None:
    """Remove a group; killed processes may take a moment to leave it."""
    for _ in range(_TRIES):
        if _removed(folder):
            return
        await asyncio.sleep(_AGAIN_S)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True


def sweep(within: tuple[Path, ...]) -> None:
    """Remove groups that a killed runtime left.

    Groups with processes stay, and so do new ones, which another runtime may have just made.
    """
    for parent in within:
        for folder in parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > _NEW_S:
                    folder.rmdir()


Wish: TypeAlias = Literal["auto", "require", "off"]
INSIDE = Path(__file__).with_name("inside.py")
_LOWERING = Path(__file__).with_name("lowering.py")
_USERS_FROM, _USERS = 0x70000000, 0x01000000  # unused: systemd allocates lower ones
_HERE = str(INSIDE.resolve().parent)
_PROBE_S = 5.0
_INSTALL = "Install bubblewrap (Debian: apt install bubblewrap)."
_OR_OFF = "Or set security.sandbox to off to run tools unconfined."
_KNOWN = "Use a 64-bit system: Linux on x86-64 or ARM64."
_ON_LINUX = "Run aouo on Linux for packs with tools of their own; all else of packs works here."


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The program `bwrap` confines files, network and processes.

    `landlock` is the kernel's version of it, 0 = none: then any program may be started.
    `mounts`: more mounts can be made inside. `lowered`: root becomes an ordinary user first.
    """

    bwrap: str
    landlock: int
    groups: tuple[Path, ...]
    mounts: bool = True
    lowered: bool = False


@dataclass(frozen=True, slots=True)
class Landlock:
    """Landlock confines files; network, processes and mounts only with `namespaces`.
    `lowered`: root becomes an ordinary user first.
    """

    version: int
    namespaces: bool
    groups: tuple[Path, ...]
    lowered: bool = False


@dataclass(frozen=True, slots=True)
class Unconfined:
    """No walls, by the owner's setting: only a clean environment and limits."""

    groups: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The machine cannot confine tools well enough, so none runs; says why, and what to do."""

    why: str
    fix: str


Level: TypeAlias = Bubblewrap | Landlock | Unconfined | Refused


def level_of(wish: Wish, home: Path | None = None) -> Level:
    """Return the best level of this machine; this starts a process or two.

    Root becomes an ordinary user only if that user may change the files in `home`.
    """
    if sys.platform != "linux":
        return Refused(f"they need Linux, and this is {platform.system()}", _ON_LINUX)
    groups = parents()
    if wish == "off":
        return Unconfined(groups)
    lowered = can_lower(home or Path(tempfile.gettempdir()))
    bwrap, why = _bubblewrap(lowered)
    if bwrap and syscalls.is_known():
        mounts = not _tried([*_through(bwrap, lowered), *_walls("new_mounts")])
        return Bubblewrap(bwrap, walls.landlock_version(), groups, mounts, lowered)
    version = walls.landlock_version() if syscalls.is_known() else 0
    if not syscalls.is_known():
        why = f"there is no filter of system calls for {platform.machine()}"
        return Refused(why, f"{_KNOWN} {_OR_OFF}")
    if not version:
        return Refused(f"{why}, and the kernel has no Landlock", f"{_INSTALL} {_OR_OFF}")
    namespaces = makes_namespaces(lowered)
    if wish == "require":
        why = f"{why}; Landlock alone does not confine everything"
        return Refused(why, f"{_INSTALL} Or set security.sandbox to auto.")
    return Landlock(version, namespaces, groups, lowered)


def can_lower(folder: Path) -> bool:
    """Whether we are root and can become an ordinary user who may change files in `folder`."""
    if os.geteuid() or not syscalls.is_known():
        return False
    there = next(path for path in (folder, *folder.resolve().parents) if path.is_dir())
    code = "import os, sys; sys.exit(not os.access(sys.argv[1], 7))"
    return not _tried([*lowering(), *_bare("-c", code, str(there))])


def lowering() -> list[str]:
    """Return the words before a command that make root an ordinary user, another one each time."""
    return _bare(str(_LOWERING.resolve()), str(_USERS_FROM + secrets.randbelow(_USERS)))


def in_words(level: Level) -> str:
    """Return one line for the owner: how tools of packs are confined."""
    match level:
        case Bubblewrap():
            programs = "" if level.landlock else "; programs are not limited (no Landlock)"
            held = "bubblewrap: files, network, processes and system calls are confined"
            return f"{held}{programs}{_as_root(level)}"
        case Landlock():
            return f"Landlock {level.version}: {_held(level)}{_as_root(level)}"
        case Unconfined():
            return "off: tools of packs run unconfined, as security.sandbox says"
        case Refused():
            return f"tools of packs are refused: {level.why}"
        case _:
            assert_never(level)


def better(level: Level) -> str:
    """Return what the owner can do for a better level, "" = nothing."""
    match level:
        case Bubblewrap():
            return _ordinary_user(level)
        case Landlock():
            return _INSTALL
        case Unconfined():
            return "Set security.sandbox to auto."
        case Refused():
            return level.fix
        case _:
            assert_never(level)


def _held(level: Landlock) -> str:
    stay = "; times and modes of files stay as they are, though no tool is told so"
    if level.namespaces:
        return f"files, network, processes and system calls are confined; names stay visible{stay}"
    return (
        "files and system calls are confined, there is no network for any tool; names of files "
        f"and other processes stay visible{stay}"
    )


def _as_root(level: Bubblewrap | Landlock) -> str:
    """Return what is missing for root, for whom the kernel's limit on processes does not hold."""
    if not _ordinary_user(level):
        return ""
    counted = _limits_processes(level.groups)
    return f"; tools run as root{'' if counted else ', and their processes are not counted'}"


def _ordinary_user(level: Bubblewrap | Landlock) -> str:
    if os.geteuid() or level.lowered:
        return ""
    return "Run aouo as an ordinary user: here root cannot become one for its tools."


def _bubblewrap(lowered: bool) -> tuple[str, str]:
    """Return the path of `bwrap` if it works here, else "" and why not."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "", "bubblewrap is not installed"
    said = _tried([*_through(bwrap, lowered), "/bin/true"])
    return ("", f"bubblewrap does not work here ({said})") if said else (bwrap, "")


def _through(bwrap: str, lowered: bool) -> list[str]:
    command = [*(lowering() if lowered else ()), bwrap, "--ro-bind", "/", "/", "--unshare-all"]
    command += ["--uid", "65534", "--gid", "65534", "--proc", "/proc", "--dev", "/dev"]
    return [*command, "--cap-drop", "ALL", "--die-with-parent", "--"]


def makes_namespaces(lowered: bool) -> bool:
    """Whether we can make namespaces of users, processes, mounts and network."""
    return not _tried([*(lowering() if lowered else ()), *_walls("new_namespaces")])


def _walls(new: str) -> list[str]:
    """Return a command that tries new namespaces and a mount in them."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import walls; "
    return _bare("-c", f"{code}walls.{new}(); walls.mount(['/tmp'], [], 4096, 2)", _HERE)


def _bare(*words: str) -> list[str]:
    return [str(Path(sys.executable).resolve()), "-I", "-S", "-B", *words]


def _tried(command: list[str]) -> str:
    """Run a command; return why it failed, "" = it did not."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
            env={"PATH": os.defpath},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return (lines[-1][:200] if lines else f"exit {done.returncode}") if done.returncode else ""
