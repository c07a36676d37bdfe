"""A run that is ended while it begins leaves nothing behind, and nobody waits for it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from aouo.sandbox.levels import Bubblewrap
from tests.sandbox.places import LIMITS, Place, until_gone

LATE = """#!{python}
import json, os, signal, sys
if not (inner := os.fork()):
    {apart}
    signal.pause()  # bubblewrap is gone before the kernel was asked
told = int(sys.argv[sys.argv.index("--info-fd") + 1])
if {told}:
    os.write(told, json.dumps({{"child-pid": inner}}, indent=4).encode())
signal.pause()
"""
"""As bubblewrap is for a moment of its start: what it starts would outlive it."""
MOMENTS = {
    "before it says so": {"apart": "pass", "told": False},
    "when it has a session of its own": {"apart": "os.setsid()", "told": True},
}


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("by", ["a limit", "a cancel"])
async def test_what_bubblewrap_had_just_started_is_ended_with_it(
    tmp_path: Path, moment: str, by: str
) -> None:
    """Found by a test that failed on a busy machine: it held the pipes until the time was over."""
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(LATE.format(python=sys.executable, **MOMENTS[moment]))
    bwrap.chmod(0o700)
    place = Place(tmp_path / "place", Bubblewrap(str(bwrap), 0, ()))
    order = replace(place.order("return 1"), limits=replace(LIMITS, time_s=60))
    looks = 0

    def is_full() -> bool:
        nonlocal looks
        looks += 1
        if by == "a cancel" and looks == 9:
            loop.call_soon_threadsafe(running.cancel)
        return by == "a limit" and looks == 9

    loop = asyncio.get_running_loop()
    async with asyncio.timeout(30):
        running = asyncio.ensure_future(place.sandbox.run(order, is_full=is_full))
        await asyncio.wait([running])
        await until_gone(str(bwrap))

    assert running.cancelled() if by == "a cancel" else running.result().end == "room"
