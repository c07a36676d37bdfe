"""Runs one home as a process: the lock, the log, the signals, and the runtime between them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import structlog

from aouo.app.root import open_app
from aouo.config.file import Loaded, load_settings
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Adopt, Logs
from aouo.plumbing.redact import Redactor
from aouo.plumbing.systemd import Systemd
from aouo.web.session import secrets_of

if TYPE_CHECKING:
    from aouo.app.lifecycle import MakePage, Runtime

log = structlog.get_logger()
LoadPage: TypeAlias = "Callable[[], MakePage]"
"""Imports what makes the page: a web server, which nothing before the first poll needs."""


def start(home: Home, environ: Mapping[str, str], page: LoadPage | None = None) -> None:
    """Serve `home` in the foreground until a signal or a verb ends it; a restart re-executes.

    `page` loads what makes the local page.

    Raises:
        SetupError: what the owner has to change before this can run.
    """
    home.create()
    with home.lock():
        loaded = load_settings(home.path, environ)
        settings = loaded.settings
        if refusals := settings.refusals():
            raise refusals[0]
        redactor = Redactor(secrets_of(settings.secrets(), environ))
        with Logs(
            level=settings.log.level,
            form=settings.log.format,
            file=home.log_file,
            redactor=redactor,
        ) as logs:
            _say(loaded)
            again = asyncio.run(serve(home, loaded, logs.adopt, Systemd(environ), page))
    if again:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


async def serve(
    home: Home,
    loaded: Loaded,
    adopt: Adopt,
    systemd: Systemd | None = None,
    page: LoadPage | None = None,
) -> bool:
    """Run until stopped; True when a restart was asked for.

    `adopt`: see `Base`; `systemd` is told how it goes.

    Raises:
        SetupError: unwrapped from the parts that ran beside each other.
    """
    async with open_app(home, loaded.settings, adopt=adopt) as app:
        make, make_page = await asyncio.to_thread(_runtime, page)
        runtime = make(app, loaded, systemd, make_page)
        stop_on_signals(runtime)
        await runtime.run()
        return runtime.restart


def _runtime(page: LoadPage | None) -> tuple[type[Runtime], MakePage | None]:
    """Import what the first poll did not wait for."""
    from aouo.app.lifecycle import Runtime

    return Runtime, page() if page else None


def stop_on_signals(runtime: Runtime) -> None:
    """SIGINT and SIGTERM drain; a second one ends at once."""
    loop = asyncio.get_running_loop()
    asked = False

    def handle() -> None:
        nonlocal asked
        if asked:
            os._exit(1)  # what is unfinished is stored, and taken up at the next start
        asked = True
        runtime.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, handle)


def _say(loaded: Loaded) -> None:
    """What the owner should know of the configuration in force."""
    for note in loaded.notes:
        log.info("config_note", note=note)
    if loaded.from_last_good:
        log.warning("config_last_good", problems=list(loaded.problems))
