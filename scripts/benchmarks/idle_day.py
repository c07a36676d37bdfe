"""What a day costs on which nobody writes: model calls, by the defaults and with a
heartbeat that has something to look at."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from aouo.plumbing.home import Home
from scripts.benchmarks.figures import Bench
from scripts.benchmarks.table import Row
from tests.fakes.clock import FastClock
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import LocalTelegram
from tests.path.world import World

_STEP_S = 600
_LOOK_S = 0.02
_HEARTBEAT = "- Look whether a note is older than a week.\n"


def idle_day(bench: Bench, *, quick: bool) -> list[Row]:
    """A day of a bot with `notes` and `remind`, ten minutes at a time."""
    del bench
    hours = 6 if quick else 24
    rows: list[Row] = []
    for name, config in (
        ("by the defaults", {}),
        ("with a heartbeat", {"heartbeat": {"enabled": True, "quiet_hours": ""}}),
    ):
        calls, size_bytes = asyncio.run(_day(config, hours))
        rows.append(
            Row(
                f"an idle day {name}: model calls",
                "",
                calls * 24 / hours,
                aim="0" if not config else "",
                digits=0,
                n=hours,
                note=f"{size_bytes * 24 / hours / 1000:,.0f} kB of requests",
            )
        )
    return rows


async def _day(config: dict[str, Any], hours: int) -> tuple[int, int]:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        home.create()
        home.heartbeat.write_text(_HEARTBEAT)
        async with LocalTelegram() as emulator, ModelServer() as model:
            clock = FastClock(speed=1.0)
            world = World(home, emulator, model, config=config, clock=clock)
            world.install("notes", "remind")
            async with world.running():
                for _ in range(hours * 3600 // _STEP_S):
                    clock.jump(_STEP_S)
                    await asyncio.sleep(_LOOK_S)
        return len(model.requests), sum(len(json.dumps(one)) for one in model.requests)
