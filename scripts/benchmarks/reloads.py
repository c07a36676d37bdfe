"""How soon a saved configuration counts, and what reloads cost the turns beside them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime

from aouo.plumbing.home import Home, write_atomically
from scripts.benchmarks.figures import Bench, chats
from scripts.benchmarks.table import Row

EVERY_S = 0.9
"""Between two saves; sooner, and the file is never still."""
WAIT_S = 10.0


def reloads(bench: Bench, *, quick: bool) -> list[Row]:
    """Turns one after the other, by turns without reloads and beside one after another."""
    blocks, size = (4, 40) if quick else (8, 60)
    everyone = chats((2 * blocks + 1) * size)
    calm: dict[str, list[float]] = {"aouo": []}
    beside: dict[str, list[float]] = {"aouo": []}
    bot = bench.aouo(everyone)
    with bench.running(bot) as one:
        one.drive(everyone[:size], apart=True)
        for number in range(blocks):
            start = size * (2 * number + 1)
            calm["aouo"] += one.drive(everyone[start:][:size], apart=True).latency_ms
            with _saving(bot.home):
                beside["aouo"] += one.drive(everyone[start + size :][:size], apart=True).latency_ms
        many = len(_swaps(bot.home))
        soon = [_swapped_after_s(bot.home, number) for number in range(4 if quick else 12)]
    rows = [
        Row.medians("save → swap, median", "s", {"aouo": soon}, aim="≤ 2"),
        Row("  the longest", "s", max(soon), n=len(soon)),
        Row.medians("update → answer, median", "ms", calm),
        Row.medians(f"  beside {many} reloads", "ms", beside),
        Row.percentile("update → answer, p99", "ms", calm, 99),
        Row.percentile(f"  beside {many} reloads", "ms", beside, 99),
    ]
    (then, now) = (row.aouo or 0.0 for row in rows[-2:])
    return [*rows, Row("p99 beside reloads over without", "×", now / then, aim="≤ 1.2")]


def _save(home: Home, parts: int) -> None:
    tree = json.loads(home.config.read_text("utf-8"))
    tree["telegram"]["max_parts"] = 1 + parts
    write_atomically(home.config, json.dumps(tree))


@contextmanager
def _saving(home: Home) -> Generator[None]:
    over = threading.Event()

    def save() -> None:
        number = 0
        while not over.wait(EVERY_S):
            _save(home, number % 7)
            number += 1

    saving = threading.Thread(target=save)
    saving.start()
    try:
        yield
    finally:
        over.set()
        saving.join()


def _swapped_after_s(home: Home, number: int) -> float:
    """Save once all is quiet; return how long it took until new turns began by it."""
    time.sleep(2.0 + number / 17)  # at another moment between two looks each time
    known, saved_s = len(_swaps(home)), time.time()
    _save(home, 10 + number)
    while time.time() < saved_s + WAIT_S:
        time.sleep(0.2)
        if len(swaps := _swaps(home)) > known:
            return swaps[-1] - saved_s
    raise TimeoutError("the configuration was not taken up")


def _swaps(home: Home) -> list[float]:
    """When generations were swapped, as Unix times, from the log."""
    lines = home.log_file.read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines if '"generation_swapped"' in line]
    return [datetime.fromisoformat(one["timestamp"]).timestamp() for one in events]
