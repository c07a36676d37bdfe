"""Runs the figures and shows them: `scripts/bench [--quick] [--only NAME]… [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from scripts.benchmarks import figures
from scripts.benchmarks.dashboard import dashboard
from scripts.benchmarks.driver import driver
from scripts.benchmarks.idle_day import idle_day
from scripts.benchmarks.imports import imports
from scripts.benchmarks.interleaved import interleaved
from scripts.benchmarks.limits import limits
from scripts.benchmarks.recording import recording
from scripts.benchmarks.reloads import reloads
from scripts.benchmarks.request import request
from scripts.benchmarks.retrieval import retrieval
from scripts.benchmarks.scheduled import scheduled
from scripts.benchmarks.services import services
from scripts.benchmarks.table import Row, render
from scripts.benchmarks.usage import usage

Figure: TypeAlias = Callable[..., list[Row]]
FIGURES: dict[str, Figure] = {
    "start": figures.start,
    "idle": figures.idle,
    "idle_day": idle_day,
    "turn": figures.turn,
    "counts": figures.counts,
    "history": figures.history,
    "throughput": figures.throughput,
    "limits": limits,
    "dashboard": dashboard,
    "reloads": reloads,
    "scheduled": scheduled,
    "request": request,
    "retrieval": retrieval,
    "recording": recording,
    "imports": imports,
    "driver": driver,
    "interleaved": interleaved,
    "services": services,
    "usage": usage,
}
HEAD = ("figure", "aouo", "floor", "ratio", "floor 2", "ratio", "aim")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, about a minute")
    parser.add_argument("--only", choices=FIGURES, action="append", help="may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    rows: list[Row] = []
    began_s = time.monotonic()
    load = os.getloadavg()[0]
    with figures.bench() as bench:
        for name in options.only or FIGURES:
            found = FIGURES[name](bench, quick=options.quick)
            rows += found
            print(*(" ".join(row.cells()) for row in found), sep="\n", flush=True)
    print()
    print(render(HEAD, [row.cells() for row in rows]))
    about = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_at_start": round(load, 2),
        "load_at_end": round(os.getloadavg()[0], 2),
        "took_s": round(time.monotonic() - began_s),
    }
    print("\n" + ", ".join(f"{key} {value}" for key, value in about.items()))
    if options.json:
        facts = {"about": about, "figures": [row.facts() for row in rows]}
        options.json.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
