"""How far this machine can confine a process: tried out, not guessed."""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from aouo.sandbox import cgroup, syscalls, walls

Wish: TypeAlias = Literal["auto", "require", "off"]
INSIDE = Path(__file__).with_name("inside.py")
_LOWERING = Path(__file__).with_name("lowering.py")
_USERS_FROM, _USERS = 0x70000000, 0x01000000  # nobody's: systemd gives its own up to there
_HERE = str(INSIDE.resolve().parent)
_PROBE_S = 5.0
_INSTALL = "Install bubblewrap (Debian: apt install bubblewrap)."
_OR_OFF = "Or set security.sandbox to off to run tools unconfined."
_KNOWN = "Use a 64-bit system: Linux on x86-64 or ARM64."
_ON_LINUX = "Run aouo on Linux for packs with tools of their own; all else of packs works here."


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Files, network and processes of its own, by the program `bwrap`.

    `landlock` is the kernel's version of it, 0 = none: then any program may be started.
    `mounts`: inside may be more of them. `lowered`: root becomes an ordinary user first.
    """

    bwrap: str
    landlock: int
    groups: tuple[Path, ...]
    mounts: bool = True
    lowered: bool = False


@dataclass(frozen=True, slots=True)
class Landlock:
    """Files by Landlock; network, processes and mounts of its own only with `namespaces`.

    `lowered`: root becomes an ordinary user first.
    """

    version: int
    namespaces: bool
    groups: tuple[Path, ...]
    lowered: bool = False


@dataclass(frozen=True, slots=True)
class Unconfined:
    """No walls: a clean environment and limits only; the owner wants it so."""

    groups: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing here is good enough, so no tool of a pack runs; says why, and what to do."""

    why: str
    fix: str


Level: TypeAlias = Bubblewrap | Landlock | Unconfined | Refused


def level_of(wish: Wish, home: Path | None = None) -> Level:
    """The best this machine has; takes some milliseconds, since it starts a process or two.

    Root becomes an ordinary user only if what is in `home` can be changed by that one.
    """
    if sys.platform != "linux":
        return Refused(f"they need Linux, and this is {platform.system()}", _ON_LINUX)
    groups = cgroup.parents()
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
    """Whether we are root and can be an ordinary user who may change what is in `folder`."""
    if os.geteuid() or not syscalls.is_known():
        return False
    there = next(path for path in (folder, *folder.resolve().parents) if path.is_dir())
    code = "import os, sys; sys.exit(not os.access(sys.argv[1], 7))"
    return not _tried([*lowering(), *_bare("-c", code, str(there))])


def lowering() -> list[str]:
    """What goes before a command so that root is an ordinary user, each time another one."""
    return _bare(str(_LOWERING.resolve()), str(_USERS_FROM + secrets.randbelow(_USERS)))


def in_words(level: Level) -> str:
    """One line for the owner: what holds here for tools of packs."""
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
    """What the owner can do for more, "" = nothing is missing."""
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
    if level.namespaces:
        return "files, network, processes and system calls are confined; names stay visible"
    return (
        "files and system calls are confined, there is no network for any tool; names of files "
        "and other processes stay visible"
    )


def _as_root(level: Bubblewrap | Landlock) -> str:
    """What is missing for root; the kernel's limit on processes does not count for it."""
    if not _ordinary_user(level):
        return ""
    counted = cgroup.limits_processes(level.groups)
    return f"; tools run as root{'' if counted else ', and their processes are not counted'}"


def _ordinary_user(level: Bubblewrap | Landlock) -> str:
    if os.geteuid() or level.lowered:
        return ""
    return "Run aouo as an ordinary user: here root cannot become one for its tools."


def _bubblewrap(lowered: bool) -> tuple[str, str]:
    """The program if it works here, else "" and why not."""
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
    """Whether we may have users, processes, mounts and a network of our own."""
    return not _tried([*(lowering() if lowered else ()), *_walls("new_namespaces")])


def _walls(new: str) -> list[str]:
    """A trial of new namespaces and of a mount in them."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import walls; "
    return _bare("-c", f"{code}walls.{new}(); walls.mount(['/tmp'], [], 4096, 2)", _HERE)


def _bare(*words: str) -> list[str]:
    return [str(Path(sys.executable).resolve()), "-I", "-S", "-B", *words]


def _tried(command: list[str]) -> str:
    """Why a command failed, "" = it did not."""
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
