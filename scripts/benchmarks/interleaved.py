"""A hundred thousand random deeds in many conversations: what was misplaced, lost or doubled."""

from __future__ import annotations

import os
import time

from scripts.benchmarks.figures import Bench
from scripts.benchmarks.table import Row
from tests.interleaving.laws import judge
from tests.interleaving.play import Script, play

_EACH = 2_500
_TOTAL, _QUICK = 100_000, 5_000


def interleaved(bench: Bench, *, quick: bool) -> list[Row]:
    """Plays of `tests/path/lanes/test_interleaved_events.py`, with other seeds."""
    del bench
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    events, kills, faults, wrong, lost, doubled = 0, 0, 0, 0, 0, 0
    seed = 1_000
    while events < (_QUICK if quick else _TOTAL):
        seed += 1
        script = Script(
            seed=seed,
            events=_EACH,
            trouble=0.02 * (seed % 5),
            lives=8 * (seed % 4),
            burst_ms=700 * (seed % 3 == 0),
        )
        played = play(script)
        found = judge(played)
        for problem in found.all:
            print(f"  PYTHONHASHSEED={os.environ['PYTHONHASHSEED']} {script}: {problem[:300]}")
        events += sum(played.book.events.values())
        kills += played.kills
        faults += played.telegram.faults
        wrong += len(found.wrong)
        lost += len(found.lost)
        doubled += len(found.doubled)
    about = f"wrong / lost / doubled = {wrong}/{lost}/{doubled}; {faults} faults, {kills} kills"
    took_s, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
    return [
        Row(
            "events interleaved: wrong + lost + doubled",
            "",
            float(wrong + lost + doubled),
            aim="0",
            digits=0,
            n=events,
            note=about,
        ),
        Row("events interleaved: time", "s", took_s, n=events, note=f"{cpu_s:.0f} s of processor"),
    ]
