"""The emulator as a process: prints its address as one JSON line and runs until it is told."""

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys

from aouo.emulator.server import BOT_ID, Emulator
from aouo.emulator.world import PARTS, TOPICS

_CANNOT_LISTEN = 3
"""The exit code of a set-up error, the same as that of `aouo`."""


def main() -> None:
    """Start, print `{"url": …, "page": …, "token": …}`; stop at SIGTERM, SIGINT, the end of stdin.

    With a parent, SIGINT is ignored: a terminal's Ctrl-C reaches both processes, and the emulator
    must run until its parent has ended.
    """
    options = _arguments()
    if options.with_parent:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(asyncio.run(_serve(options)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m aouo.emulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--token", help="the token the bot must use; a new one if left out")
    parser.add_argument(
        "--without",
        choices=sorted(PARTS),
        action="append",
        default=[],
        help="leave this out at start; may be repeated",
    )
    parser.add_argument(
        "--topic", dest="topics", action="append", help="of the forum; may be repeated"
    )
    parser.add_argument("--language", default="en", help="of everybody's Telegram")
    parser.add_argument(
        "--told-of-topics", action="store_true", help="the bot hears of the topics at the start"
    )
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
    emulator = Emulator(
        options.token or f"{BOT_ID}:{secrets.token_urlsafe(24)}",
        port=options.port,
        parts=PARTS - set(options.without),
        topics=options.topics or TOPICS,
        language=options.language,
    )
    if options.told_of_topics:
        emulator.tell_of_topics()
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(emulator)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            sys.stderr.write(f"The emulator cannot listen on port {options.port}: {reason}.\n")
            return _CANNOT_LISTEN
        if options.with_parent:
            loop.add_reader(sys.stdin, _read_parent, stop)
        ready = {"url": emulator.base_url, "page": f"{emulator.base_url}/", "token": emulator.token}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await stop.wait()
    return 0


def _read_parent(stop: asyncio.Event) -> None:
    """Read stdin; stop at its end, when the parent has ended."""
    if not os.read(sys.stdin.fileno(), 4096):
        stop.set()


if __name__ == "__main__":
    main()
