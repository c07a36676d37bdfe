"""A model service as a process: prints its address as one JSON line and runs until it is told."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from typing import Any

from aouo.facts.errors import SetupError
from tests.fakes.models.profile import names, profile
from tests.fakes.models.service import KEY, ModelService
from tests.fakes.models.telling import CallPart, Reply, Says, says_back

CANNOT_START = 3
"""The exit code of a set-up error, the same as that of `aouo`."""


def main() -> None:
    """Start, print `{"url": …, "base_url": …, "api_key": …, "settings": {…}}`; stop at SIGTERM,
    at SIGINT, or with `--with-parent` at the end of stdin instead."""
    options = _arguments()
    if options.with_parent:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(asyncio.run(_serve(options)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.models", description=__doc__)
    parser.add_argument("--profile", required=True, choices=names())
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--model", default="", help="the one in the settings that are printed")
    parser.add_argument("--plan", default="", help="whose limits count; left out: none do")
    parser.add_argument(
        "--answer", help="say this every time; left out: what was said is said back"
    )
    parser.add_argument("--call", default="", help="call this tool once before each answer")
    parser.add_argument("--chunks", type=int, default=1, help="pieces of an answer")
    parser.add_argument(
        "--with-parent",
        action="store_true",
        help="stop when standard input closes, and not at SIGINT",
    )
    return parser.parse_args()


async def _serve(options: argparse.Namespace) -> int:
    """Run until told to stop; return the exit code."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    if not options.with_parent:
        loop.add_signal_handler(signal.SIGINT, stop.set)
    try:
        service = _service(options)
        async with service:
            if options.with_parent:
                loop.add_reader(sys.stdin, _read_parent, stop)
            ready: dict[str, Any] = {
                "url": service.url,
                "base_url": service.base_url,
                "api_key": KEY,
                "settings": service.settings(options.model),
            }
            sys.stdout.write(json.dumps(ready) + "\n")
            sys.stdout.flush()
            await stop.wait()
            sys.stdout.write(json.dumps(service.figures()) + "\n")
            sys.stdout.flush()
    except (OSError, SetupError) as error:
        sys.stderr.write(f"The local service cannot start: {error}\n")
        return CANNOT_START
    return 0


def _service(options: argparse.Namespace) -> ModelService:
    found = profile(options.profile)
    if options.plan and options.plan not in found.plans:
        known = ", ".join(found.plans) or "none"
        raise SetupError(f"{found.title} has no plan {options.plan!r}.", fix=f"There are: {known}.")
    script = says_back(found)
    if options.answer is not None:
        said = Says(options.answer, chunks=options.chunks)
        called = Says(calls=(CallPart(options.call),)) if options.call else said

        def answers(asked: Any) -> Reply:
            return called if asked.entries[-1].role != "tool" else said

        return ModelService(found, answers, port=options.port, plan=options.plan, keep=False)
    return ModelService(found, script, port=options.port, plan=options.plan, keep=False)


def _read_parent(stop: asyncio.Event) -> None:
    """Read stdin; stop at its end, when the parent has ended."""
    if not os.read(sys.stdin.fileno(), 4096):
        stop.set()


if __name__ == "__main__":
    main()
