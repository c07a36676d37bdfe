"""Starts runtimes that a test may kill: imports once, then forks a real process for each life.

    python -m tests.path.kill_runner        prints the port it listens on; ends with its stdin

One connection is one life: it asks with `{"home": DIR, "kill_at": N, "among": PART,
"has_page": false}`, reads `{"pid": P}`, and ends when the process is gone. Just before a regular
end the process says `{"ended": true}`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from datetime import UTC
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from aouo.app.serve import open_app, start
from aouo.config.file import load_settings
from aouo.dashboard.listening import page
from aouo.packs.actions.corrections import hear
from aouo.packs.actions.phrases import Phrases
from aouo.packs.actions.slots import Here
from aouo.packs.library import scan
from aouo.plumbing import failpoint
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home

LATE = (
    "aouo.app.wiring",
    "aouo.telegram.normaliser",
    "aouo.telegram.messenger",
    "aouo.providers.endpoint",
)
"""What a runtime imports only after its first poll, or with its first model call."""
STDERR = "stderr"
"""The file in the home that a life's stderr is appended to."""


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits: the connection tells the end
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    _warm_up()
    gc.collect()
    gc.freeze()  # keeps what is imported on pages that all lives share
    try:
        _serve(listener)
    finally:
        os.killpg(0, signal.SIGKILL)  # our own session: whoever is left, and ourselves


def _warm_up() -> None:
    """Do once what every life would do again: imports, what a first start costs, and the first
    message."""
    for module in LATE:
        import_module(module)
    words, here = "What is the capital of France?", Here(SystemClock().now(), UTC, "en")
    with TemporaryDirectory() as folder:
        asyncio.run(_open(home := Home(Path(folder))))
        packs = scan(home.packs).packs.values()
    Phrases([phrase for pack in packs for phrase in pack.phrases]).match(words, here, ())
    hear(words, here)


async def _open(home: Home) -> None:
    """A runtime without a Telegram, opened and closed; none of its threads is left."""
    home.create()
    for pack in (Path(__file__).parents[2] / "packs").iterdir():
        (home.packs / pack.name).symlink_to(pack)
    provider = {"base_url": "http://127.0.0.1:9", "api_key": "key"}
    config = {
        "provider": {"backend": "fake", "model": "scripted"},
        "providers": {"fake": provider},
    }
    home.config.write_text(json.dumps(config))
    async with open_app(home, load_settings(home.path, {}).settings):
        pass


def _serve(listener: socket.socket) -> None:
    """Fork for each connection, until stdin ends."""
    while True:
        readable, _, _ = select.select([listener, sys.stdin], [], [])
        if listener not in readable:
            return
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            _live(connection)
        connection.close()


def _live(connection: socket.socket) -> None:
    """Be one runtime, from the request to the end; never returns."""
    code = 1
    try:
        with connection.makefile("r") as lines:
            wanted = json.loads(lines.readline())
        home = Home(Path(wanted["home"]))
        _redirect(home.path / STDERR)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        failpoint._arm(wanted["kill_at"], among=wanted["among"])
        _say(connection, pid=os.getpid())
        start(home, {}, (lambda: page) if wanted["has_page"] else None)
        _say(connection, ended=True)
        code = 0
    except BaseException:  # noqa: BLE001 - told to the test through the home's stderr
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _redirect(stderr: Path) -> None:
    descriptor = os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _say(connection: socket.socket, **fact: object) -> None:
    connection.sendall(json.dumps(fact).encode() + b"\n")


if __name__ == "__main__":
    main()
