"""Sends the local page all that its OpenAPI document allows and forbids, for some minutes.

`.venv/bin/python -m scripts.fuzz_dashboard [--seconds 300] [--seed 0]`. Ends with 1 if an answer
was wrong, and prints what was sent.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from aouo.plumbing.home import Home
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import LocalTelegram
from tests.path.dashboard.fuzzing import Fuzzing, fuzzed
from tests.path.world import World

_EACH = 15


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts.fuzz_dashboard", description=__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aouo-fuzz-") as folder:
        fuzzing = asyncio.run(_run(Path(folder), options.seconds, options.seed))
    print(f"seed {options.seed}, answers by status: {dict(sorted(fuzzing.statuses.items()))}")
    for path, took_s in sorted(fuzzing.slowest.items(), key=lambda one: -one[1])[:5]:
        print(f"slowest {took_s * 1000:.0f} ms: {path}")
    for fault in dict.fromkeys(fuzzing.faults):
        print(fault)
    sys.exit(bool(fuzzing.faults))


async def _run(folder: Path, seconds: int, seed: int) -> Fuzzing:
    home = Home(folder / "home")
    home.create()
    async with LocalTelegram() as emulator, ModelServer() as model:
        world = World(home, emulator, model)
        async with fuzzed(world, seed) as fuzzing:
            until_s = time.monotonic() + seconds
            while time.monotonic() < until_s:
                await asyncio.to_thread(fuzzing.run, _EACH, until_s)
    return fuzzing


if __name__ == "__main__":
    main()
