"""Holds the port of the page, and imports the page when somebody comes."""

from __future__ import annotations

import asyncio
import secrets
import socket
from dataclasses import dataclass
from importlib import import_module
from urllib.parse import quote

import structlog

from aouo.config.sections import Dashboard
from aouo.dashboard.access import Access
from aouo.dashboard.shown import Shown
from aouo.plumbing.home import write_atomically

log = structlog.get_logger()
_AGAIN_S = 10.0


@dataclass(eq=False)
class Listening:
    """Serves the page for as long as `run` does; until somebody comes, it is a socket and nothing
    more. A port that is taken is a problem of the page, not of the bot: `state` says so."""

    settings: Dashboard
    shown: Shown

    def __post_init__(self) -> None:
        self.state = "not begun" if self.settings.enabled else "off"
        """The address with its token, or why there is none."""

    @property
    def address(self) -> str:
        """The address without its token, "" = nobody can come now."""
        return self.state.partition("?")[0] if self.state.startswith("http") else ""

    async def run(self) -> None:
        """Serve, for ever; while the port cannot be had, try again."""
        if not self.settings.enabled:
            return
        with await self._listener() as listener:
            host = self.settings.host
            token = self.settings.token.get_secret_value() or secrets.token_urlsafe(32)
            write_atomically(self.shown.home.dashboard_token, f"{token}\n")
            name = f"[{host}]" if ":" in host else host
            address = f"http://{name}:{listener.getsockname()[1]}/"
            self.state = f"{address}?token={quote(token, safe='')}"
            log.info("dashboard_listens", address=address)
            try:
                await _somebody(listener)
                serving = await asyncio.to_thread(import_module, "aouo.dashboard.serving")
                await serving.serve(listener, self.shown, Access(token, host, self._key()))
            finally:
                self.state = "not begun"
                self.shown.home.dashboard_token.unlink(missing_ok=True)

    def _key(self) -> bytes:
        """Return what cookies are made with, which stays for as long as the home does."""
        file = self.shown.home.dashboard_key
        if not file.exists():
            write_atomically(file, secrets.token_hex(32))
        return file.read_bytes()

    async def _listener(self) -> socket.socket:
        host, port, told = self.settings.host, self.settings.port, ""
        while True:
            try:
                return _listener(host, port)
            except OSError as error:
                why = error.strerror or str(error)
            self.state = f"off for now: {host}:{port} cannot be had: {why}"
            if why != told:
                log.warning("dashboard_off", host=host, port=port, error=why)
                told = why
            await asyncio.sleep(_AGAIN_S)


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


async def _somebody(listener: socket.socket) -> None:
    """Wait until a connection waits to be taken."""
    loop, came = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listener, came.set)
    try:
        await came.wait()
    finally:
        loop.remove_reader(listener)
