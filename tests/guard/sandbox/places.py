"""A pack, its data and what it must not reach, around a sandbox of every level this machine has."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aouo.guard.sandbox import levels, walls
from aouo.guard.sandbox.levels import Bubblewrap, Landlock, Level, Refused
from aouo.guard.sandbox.order import Function, Order, Ran, RunLimits
from aouo.guard.sandbox.run import Sandbox, _Egress

LIMITS = RunLimits(
    time_s=20, cpu_s=3, memory_bytes=256 * 1024 * 1024, file_bytes=1_000_000, processes=20
)
SECRET = "the-secret-of-the-home"


def here() -> dict[str, Level]:
    """The levels that confine, by name; bubblewrap first, so that it counts as the default."""
    best = levels.level_of("auto")
    found: dict[str, Level] = {}
    if isinstance(best, Refused):
        return found
    if isinstance(best, Bubblewrap):
        found["bubblewrap"] = best
    if version := walls.landlock_version():
        groups = levels.parents()
        lowered = levels.can_lower(Path("/tmp"))
        if levels.makes_namespaces(lowered):
            found["landlock with namespaces"] = Landlock(version, True, groups, lowered)
        found["landlock"] = Landlock(version, False, groups, lowered)
    return found


def weaker() -> dict[str, Level]:
    """Those besides that other machines have: each wall has to hold without one of the others."""
    found: dict[str, Level] = {}
    for name, level in HERE.items():
        is_root = isinstance(level, Bubblewrap | Landlock) and level.lowered
        for lowered in (True, False) if is_root else (False,):
            kept = "" if lowered or not is_root else ", as root"
            if isinstance(level, Landlock):
                found[f"{name}{kept}"] = replace(level, lowered=lowered)
            if isinstance(level, Bubblewrap):
                one = replace(level, lowered=lowered)
                found[f"{name}{kept}"] = one
                found[f"{name}, no mounts{kept}"] = replace(one, mounts=False)
                found[f"{name}, no Landlock{kept}"] = replace(one, landlock=0)
                found[f"{name}, no mounts, no Landlock{kept}"] = replace(
                    one, mounts=False, landlock=0
                )
    return {name: level for name, level in found.items() if name not in HERE}


def or_fail(found: dict[str, Level], environ: Mapping[str, str]) -> dict[str, Level]:
    """What was found; elsewhere than in CI a machine where nothing confines skips its tests."""
    if not found and environ.get("CI", "").lower() in ("true", "1"):
        raise RuntimeError(
            "Nothing confines a process on this machine, so in CI no test of the sandbox would "
            f"run: {levels.in_words(levels.level_of('auto'))}. `.ci/run` installs bubblewrap; the "
            "container has to allow namespaces, or its kernel Landlock."
        )
    return found


HERE = or_fail(here(), os.environ)


@dataclass
class Place:
    """A home with secrets, one pack's folder and its data; `attack` runs code as its tool."""

    root: Path
    level: Level
    sandbox: Sandbox = field(init=False)

    def __post_init__(self) -> None:
        self.sandbox = Sandbox("auto", level=self.level)
        for folder in (self.tools, self.data, self.other, self.home / "run"):
            folder.mkdir(parents=True)
        for file in (self.home / "config.json", self.other / "diary.txt", self.outside):
            file.write_text(SECRET)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def pack(self) -> Path:
        return self.home / "packs" / "desk"

    @property
    def tools(self) -> Path:
        return self.pack / "tools"

    @property
    def data(self) -> Path:
        return self.home / "data" / "packs" / "desk" / "tg_1"

    @property
    def other(self) -> Path:
        """What the same pack keeps for somebody else."""
        return self.data.with_name("tg_2")

    @property
    def outside(self) -> Path:
        return self.root / "outside.txt"

    def order(self, body: str, **given: Any) -> Order:
        """An order to call a function with this body; `data` and the like are in its reach."""
        lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
        file = self.tools / "attack.py"
        names = "".join(f"{name}={value!r}, " for name, value in self.names().items())
        file.write_text(f"import os, sys, time\ndef attack({names}**more):\n{lines}\n")
        return Order(
            Function(file, "attack", (self.tools,)),
            json.dumps(given).encode(),
            self.data,
            readable=(self.pack,),
            writable=(self.data,),
            env=(("HOME", str(self.data)),),
            limits=LIMITS,
        )

    def names(self) -> dict[str, Any]:
        return {
            "home": str(self.home),
            "data": str(self.data),
            "other": str(self.other),
            "pack": str(self.pack),
            "outside": str(self.outside),
            "runtime": os.getpid(),
        }

    async def attack(
        self,
        body: str,
        limits: RunLimits | None = None,
        egress: _Egress | None = None,
        **given: Any,
    ) -> Ran:
        order = self.order(body, **given)
        order = replace(order, limits=limits or LIMITS, online=egress is not None)
        async with asyncio.timeout(60):
            return await self.sandbox.run(order, egress)

    async def said(self, body: str, egress: _Egress | None = None, **given: Any) -> Any:
        """What the function returned, or its error's name and text."""
        ran = await self.attack(body, None, egress, **given)
        assert ran.stdout, ran
        answer = json.loads(ran.stdout)
        return answer.get("value", answer.get("error"))


def processes(mark: str) -> list[int]:
    """Every process of this machine whose command line holds `mark`."""
    return [pid for pid, command in _commands() if mark in command]


def _commands() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes().decode("utf-8", "replace")
            except OSError:
                continue  # it is gone


async def until_gone(mark: str) -> None:
    """Return when no process is left; fails when one stays."""
    async with asyncio.timeout(30):
        while processes(mark):  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)
