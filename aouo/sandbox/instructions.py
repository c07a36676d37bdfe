"""Writes an order as the JSON that `inside.py` reads: which walls to put up, and what to run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, assert_never

from aouo.sandbox import bubblewrap, walls
from aouo.sandbox.levels import Bubblewrap, Landlock, Unconfined
from aouo.sandbox.order import Command, Function, Order, RunLimits
from aouo.sandbox.programs import startable

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def told(
    level: Bubblewrap | Landlock | Unconfined, order: Order, scratch: Path, egress: int
) -> str:
    """Return the order as JSON for `inside.py`."""
    is_nested = not isinstance(level, Bubblewrap)
    namespaces = isinstance(level, Landlock) and level.namespaces
    calls: dict[str, bool] | None = None
    rules: dict[str, Any] | None = None
    lowered = not isinstance(level, Unconfined) and level.lowered
    mounts = namespaces or (isinstance(level, Bubblewrap) and level.mounts)
    folders: list[str] = [str(scratch)] if is_nested else [*bubblewrap.SCRATCH]
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
            "limits": _limits(order.limits, processes=namespaces or not is_nested or lowered),
            "mounts": _mounts(order, folders) if mounts else None,
            "calls": calls,
            "landlock": rules,
            "run": _run(order.run),
        }
    )


def _mounts(order: Order, folders: list[str]) -> dict[str, Any]:
    """Return the arguments of `walls.mount`; later paths lie in or beside earlier ones."""
    kept = (path for path in bubblewrap.bound(order) if any(map(path.is_relative_to, folders)))
    return {
        "folders": folders,
        "kept": list(map(str, kept)),
        "size_bytes": order.limits.scratch_bytes,
        "entries": order.limits.scratch_entries,
    }


def _rules(order: Order, own: list[Path], scratch: list[Path], version: int) -> dict[str, Any]:
    named = order.run.program if isinstance(order.run, Command) else None
    programs = startable([*((named,) if named else ()), *order.programs])
    readable = [
        *bubblewrap.system(),
        *map(Path, bubblewrap.ETC),
        *bubblewrap.python_folders(),
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
