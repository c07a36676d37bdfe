"""Tells systemd how the process is: ready, alive, restarting, stopping.

Source: sd_notify(3), sd_watchdog_enabled(3). Without `NOTIFY_SOCKET` nothing is done, and a message
that does not arrive ends nothing.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from aouo.facts.ports import Clock

_STATUS_EVERY_S = 30.0


class Systemd:
    """Writes to the socket that the environment names."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # "@" begins the name of an abstract socket; other kinds are not for services like us.
        self._address = "\0" + address[1:] if address[:1] == "@" else address
        self.listens = address[:1] in ("@", "/")
        self._watchdog_s = _watchdog_s(environ)

    def tell(self, *facts: str) -> None:
        """Send facts such as `READY=1` in one message."""
        if not self.listens:
            return
        message = "\n".join(fact.replace("\n", " ") for fact in facts)
        # ValueError: an address that no socket can have
        with suppress(OSError, ValueError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)
            out.connect(self._address)
            out.send(message.encode())

    def stopping(self, *, restarts: bool) -> None:
        """Tell that the process ends, or is about to execute itself again under the same pid.

        To systemd the second is a reload: after `STOPPING=1` it would wait for the pid to end.
        """
        if restarts:
            self.tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        else:
            self.tell("STOPPING=1", "STATUS=stopping")

    async def report(
        self, clock: Clock, *, alive: Callable[[], bool], status: Callable[[], Awaitable[str]]
    ) -> None:
        """Tell that we are ready, then for ever how we are, and that we live while `alive`.

        A process whose event loop stands still tells nothing, and systemd starts it again.
        """
        said = await status()
        self.tell("READY=1", f"STATUS={said}")
        while True:
            await clock.sleep(self._watchdog_s / 2 or _STATUS_EVERY_S)
            if self._watchdog_s and alive():
                self.tell("WATCHDOG=1")
            said, before = await status(), said
            if said != before:
                self.tell(f"STATUS={said}")


def _watchdog_s(environ: Mapping[str, str]) -> float:
    """Return how long systemd waits for a sign of life of this process, 0 = it does not."""
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    try:
        return max(0, int(environ.get("WATCHDOG_USEC", "0"))) / 1e6
    except ValueError:
        return 0.0
