"""Opens the page of a running bot or a home at rest, and holds its port."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from urllib.parse import quote

from aouo.app.lifecycle import Runtime
from aouo.config.file import Loaded
from aouo.config.sections import Dashboard
from aouo.dashboard.access import Access, Shown
from aouo.facts.people import Owner
from aouo.installer.installed import scan_at_rest
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.control import Facts
from aouo.plumbing.home import Home, write_atomically
from aouo.plumbing.logs import log
from aouo.plumbing.redact import Redactor
from aouo.plumbing.web.session import secrets_of
from aouo.plumbing.zones import zone_of
from aouo.store.opening import read_beside
from aouo.store.snapshots import Snapshots

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


def page(runtime: Runtime) -> Listening:
    """Make the page of a running bot."""
    app, loaded = runtime.app, runtime.loaded
    shared, generations = app.shared, app.generations
    shown = Shown(
        home=shared.home,
        environ=loaded.environ,
        clock=shared.clock,
        snapshot=shared.database.snapshot,
        zone=lambda: zone_of("", generations.now.cron.timezone),
        library=lambda: generations.library,
        settings=lambda: runtime.reloading.running,
        redactor=lambda: generations.redactor,
        owner=lambda: generations.now.owner,
        trusted_keys=lambda: generations.now.trusted_keys,
        health=app.health.facts,
        status=runtime.status,
        runtime=runtime,
    )
    return Listening(loaded.settings.dashboard, shown)


async def show_at_rest(home: Home, loaded: Loaded, opened: Callable[[str], None]) -> None:
    """Serve what is stored while no bot runs, for ever; `opened` is told where, or why not."""
    settings, snapshots = loaded.settings, Snapshots(home.database)
    look = partial(scan_at_rest, home, settings.packs, settings.tools.enabled)
    redactor = Redactor(secrets_of(settings.secrets(), loaded.environ))
    library = await asyncio.to_thread(look)

    async def health() -> Facts:
        return {"ok": False, "reasons": ["No bot runs; this is what is stored."]}

    async def status() -> Facts:
        return {"running": False}

    shown = Shown(
        home=home,
        environ=loaded.environ,
        clock=SystemClock(),
        snapshot=partial(read_beside, home.database, snapshots),
        zone=lambda: zone_of("", settings.cron.timezone),
        library=lambda: library,
        settings=lambda: settings,
        redactor=lambda: redactor,
        owner=lambda: Owner.of(settings.telegram.owner),
        trusted_keys=lambda: settings.packs.trusted_keys,
        health=health,
        status=status,
    )
    listening = Listening(settings.dashboard, shown)
    try:
        serving = asyncio.ensure_future(listening.run())
        await asyncio.sleep(0)
        opened(listening.state)
        await serving
    finally:
        await snapshots.close()
