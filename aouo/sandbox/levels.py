"""How far this machine can confine a process: tried out, not guessed."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from aouo.sandbox import cgroup, syscalls, walls

Wish: TypeAlias = Literal["auto", "require", "off"]
INSIDE = Path(__file__).with_name("inside.py")
_PROBE_S = 5.0
_INSTALL = "Install bubblewrap (Debian: apt install bubblewrap)."


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Files, network and processes of its own, by the program `bwrap`.

    `landlock` is the kernel's version of it, 0 = none: then any program may be started.
    """

    bwrap: str
    landlock: int
    groups: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Landlock:
    """Files by Landlock; network and processes of its own only with `namespaces`."""

    version: int
    namespaces: bool
    groups: tuple[Path, ...]


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


def level_of(wish: Wish) -> Level:
    """The best this machine has; takes some milliseconds, since it starts a process or two."""
    groups = cgroup.parents()
    if wish == "off":
        return Unconfined(groups)
    bwrap, why = _bubblewrap()
    if bwrap and syscalls.is_known():
        return Bubblewrap(bwrap, walls.landlock_version(), groups)
    version = walls.landlock_version() if syscalls.is_known() else 0
    if not version:
        why = f"{why}, and the kernel has no Landlock" if syscalls.is_known() else _unknown()
        return Refused(why, f"{_INSTALL} Or set security.sandbox to off to run tools unconfined.")
    namespaces = makes_namespaces()
    if wish == "require":
        why = f"{why}; Landlock alone does not confine everything"
        return Refused(why, f"{_INSTALL} Or set security.sandbox to auto.")
    return Landlock(version, namespaces, groups)


def in_words(level: Level) -> str:
    """One line for the owner: what holds here for tools of packs."""
    match level:
        case Bubblewrap():
            programs = "" if level.landlock else "; programs are not limited (no Landlock)"
            held = "bubblewrap: files, network, processes and system calls are confined"
            return f"{held}{programs}{_processes(level.groups)}"
        case Landlock():
            return f"Landlock {level.version}: {_held(level)}{_processes(level.groups)}"
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
            return _ordinary_user(level.groups)
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


def _processes(groups: tuple[Path, ...]) -> str:
    return "; the number of processes is not limited" if _ordinary_user(groups) else ""


def _ordinary_user(groups: tuple[Path, ...]) -> str:
    """The kernel's own limit does not count for root, so it takes a control group."""
    if os.geteuid() or cgroup.limits_processes(groups):
        return ""
    return "Run aouo as an ordinary user: root's processes cannot be limited here."


def _unknown() -> str:
    return f"there is no filter of system calls for {platform.machine()}"


def _bubblewrap() -> tuple[str, str]:
    """The program if it works here, else "" and why not."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "", "bubblewrap is not installed"
    command = [bwrap, "--ro-bind", "/", "/", "--unshare-all", "--proc", "/proc", "--dev", "/dev"]
    command += ["--cap-drop", "ALL", "--die-with-parent", "--", "/bin/true"]
    said = _tried(command)
    return ("", f"bubblewrap does not work here ({said})") if said else (bwrap, "")


def makes_namespaces() -> bool:
    """Whether we may have users, processes and a network of our own."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import walls; walls.new_namespaces()"
    return not _tried([sys.executable, "-I", "-S", "-B", "-c", code, str(INSIDE.parent)])


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
