"""Runs a tool which never ends, to be killed: `python -m tests.guard.sandbox.dying`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.guard.sandbox.places import HERE, Place

HANGS = """
if os.fork() == 0:
    os.setsid()
    os.fork()
open("begun", "w").close()
time.sleep(1000)
"""

if __name__ == "__main__":
    asyncio.run(Place(Path(sys.argv[1]), HERE[sys.argv[2]]).attack(HANGS))
