"""What each import costs: alone in a fresh interpreter, and within our own start."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence

from scripts.benchmarks.processes import ROOT, environment
from scripts.benchmarks.table import Row, render

POLLS = ("aouo.cli.main", "aouo.cli.start", "aouo.app.serve")
"""What is imported before the first getUpdates."""
BEHIND = ("aouo.app.wiring", "aouo.telegram.normaliser", "aouo.telegram.messenger")
"""What is imported behind it."""
ALONE = (
    "asyncio",
    "sqlite3",
    "click",
    "structlog",
    "yaml",
    "pydantic",
    "aiohttp",
    "pyromark",
    "telegram",
    "telegram.ext",
    "aouo.config.settings",
    "aouo.store.database",
    "aouo.app.serve",
)
_PROBE = """
import json, sys, time
def rss():
    found = next(line for line in open("/proc/self/status") if line.startswith("VmRSS"))
    return int(found.split()[1]) / 1024
import importlib
before, began, cpu = rss(), time.perf_counter(), time.process_time()
for name in sys.argv[1:]:
    importlib.import_module(name)
wall, cpu = time.perf_counter() - began, time.process_time() - cpu
print(json.dumps([wall * 1000, cpu * 1000, rss() - before, len(sys.modules)]))
"""
_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \| ( *)(\S+)")


def imports(bench: object, *, quick: bool) -> list[Row]:
    """Prints a table of its own, by name; the rows are the sums."""
    del bench
    repeats = 2 if quick else 5
    groups: list[tuple[str, ...]] = [(), *((name,) for name in ALONE), POLLS, (*POLLS, *BEHIND)]
    found: dict[tuple[str, ...], list[list[float]]] = {group: [] for group in groups}
    for number in range(repeats + 1):
        for group in groups:
            measured = _probe(group)
            if number:  # the first writes bytecode
                found[group].append(measured)
    alone = {
        group: [statistics.median(column) for column in zip(*runs, strict=True)]
        for group, runs in found.items()
    }
    within = _within((*POLLS, *BEHIND))
    cells: list[tuple[str, ...]] = []
    for name in ALONE:
        wall, cpu, rss, modules = alone[(name,)]
        took, own = within.get(name, (0.0, 0.0))
        package = _package_ms(within, name)
        cells.append(
            (
                name,
                f"{wall:.0f}",
                f"{cpu:.0f}",
                f"{rss:.1f}",
                f"{modules - alone[()][3]:.0f}",
                f"{took:.0f}",
                f"{own:.1f}",
                f"{package:.0f}",
            )
        )
    head = (
        "import",
        "alone ms",
        "CPU ms",
        "RSS MB",
        "modules",
        "within ms",
        "self ms",
        "package ms",
    )
    print(render(head, cells))
    print("within: cumulative and self in our own start; package: self of all its modules there\n")
    before, behind = alone[POLLS], alone[(*POLLS, *BEHIND)]
    return [
        Row("imports before the first poll", "ms", before[0], digits=0, n=repeats),
        Row("  their RSS", "MB", before[2], digits=1, n=repeats),
        Row("imports behind it", "ms", behind[0] - before[0], digits=0, n=repeats),
        Row("  their RSS", "MB", behind[2] - before[2], digits=1, n=repeats),
    ]


def _probe(names: Sequence[str]) -> list[float]:
    told = subprocess.run(
        [sys.executable, "-c", _PROBE, *names],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(told.stdout)


def _within(names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Module → cumulative and self ms, as the interpreter tells it."""
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "".join(f"import {name}\n" for name in names)],
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {
        match[4]: (int(match[2]) / 1000, int(match[1]) / 1000)
        for match in map(_LINE.match, told.stderr.splitlines())
        if match
    }


def _package_ms(within: dict[str, tuple[float, float]], name: str) -> float:
    return sum(
        own
        for module, (_, own) in within.items()
        if module == name or module.startswith(f"{name}.")
    )
