"""Tries to open for writing whatever the kernel shows as a file, at every level, and prints what
could be, by level, as JSON: `python -m tests.guard.sandbox.walking FOLDER`. Nothing is written."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tests.guard.sandbox.places import HERE, LIMITS, Place, weaker

TOPS = ("/proc", "/proc/sys", "/proc/self", f"/proc/{os.getpid()}", "/sys", "/dev")
MOST = 60_000
WALKS = """
found = set(more["names"])
for top in ("/proc", "/sys", "/dev"):
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in ("fd", "map_files")]
        found.update(os.path.join(folder, name) for name in files)
opened = []
for name in found:
    if os.path.islink(name) or "watchdog" in name:
        continue
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))
    except OSError:
        continue
    opened.append(name)
return sorted(opened)
"""


def names() -> list[str]:
    """Files that are there outside: inside, a folder that cannot be listed may hold them still."""
    return list(dict.fromkeys(islice(_names(), MOST)))


def _names() -> Iterator[str]:
    for top in TOPS:
        for folder, folders, files in os.walk(top):
            if top == "/proc":
                folders.clear()
            folders[:] = [name for name in folders if name not in ("fd", "map_files", "task")]
            yield from (os.path.join(folder, name) for name in files)  # noqa: PTH118


async def main(root: Path) -> None:
    limits = replace(LIMITS, cpu_s=20, memory_bytes=2 * LIMITS.memory_bytes)
    opened: dict[str, list[str]] = {}
    for number, (name, level) in enumerate((HERE | weaker()).items()):
        ran = await Place(root / str(number), level).attack(WALKS, limits, names=names())
        opened[name] = json.loads(ran.stdout)["value"]
    print(json.dumps(opened))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
