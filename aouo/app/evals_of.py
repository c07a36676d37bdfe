"""The evals of a pack that is not installed yet, run in a process of their own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from aouo.errors import PackError

LIMIT_S = 600.0


async def failed_evals(folder: Path) -> tuple[str, ...]:
    """Run them as `aouo pack test` does; the names of those that did not pass.

    A process of their own keeps their runtime, its memory and its log out of this one.

    Raises:
        PackError: they could not be run.
    """
    if not any((folder / "evals").glob("*.yml")):
        return ()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "aouo", "pack", "test", "--json", str(folder)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if not key.startswith("AOUO_")},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(LIMIT_S):
            out, _ = await process.communicate()
    except TimeoutError as error:
        raise PackError(f"The evals of {folder.name} took longer than {LIMIT_S:g} s.") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        told: dict[str, Any] = json.loads(out)
    except ValueError as error:
        raise PackError("The evals could not be run.", fix="See `aouo pack test`.") from error
    failed = [one["name"] for one in told.get("evals", ()) if one["outcome"] == "failed"]
    return tuple(failed) or (() if told["ok"] else ("the pack is broken",))
