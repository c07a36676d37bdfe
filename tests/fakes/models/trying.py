"""Runs a command, such as `aouo try`, whose model is a local service: NAME COMMAND …"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from aouo.facts.errors import SetupError
from tests.fakes.models.profile import profile
from tests.fakes.models.service import ModelService
from tests.fakes.models.telling import note, says_back

_ELSEWHERE = ("AOUO_PROVIDER__", "AOUO_PROVIDERS__")


def pointed(environ: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment with these settings instead of its own services and keys."""
    real = (*_ELSEWHERE, *(f"AOUO_{section.upper()}__" for section in settings))
    rest = {
        key: value
        for key, value in environ.items()
        if not (key.startswith(real) or key.endswith("_API_KEY"))
    }
    return rest | _variables("AOUO", settings)


def _variables(name: str, settings: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in settings.items():
        path = f"{name}_{key}" if name == "AOUO" else f"{name}__{key}"
        below = _variables(path.upper(), value) if isinstance(value, dict) else None
        found |= {path.upper(): str(value)} if below is None else below
    return found


async def run(environ: Mapping[str, str], name: str, *command: str) -> int:
    """Run the command while the service listens; return its exit code."""
    family = profile(name)
    sys.stderr.write(f"{note(family)}\n")
    async with ModelService(family, says_back(family), keep=False) as service:
        process = await asyncio.create_subprocess_exec(
            *command, env=pointed(environ, service.settings())
        )
        try:
            return await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()


async def _main() -> int:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGINT, lambda: None)  # the command takes it too, and ends
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    return await run(os.environ, *sys.argv[1:])


def main() -> None:
    try:
        sys.exit(asyncio.run(_main()))
    except SetupError as error:
        sys.exit(f"{error} {error.fix}")


if __name__ == "__main__":
    main()
