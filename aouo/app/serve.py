"""Runs one home as a process, and opens an App in it: Telegram is polled before the rest is there.

Nothing that this module imports at its head does not poll. The rest, most of the program, is
imported and built by `open_app` while the first poll waits for its answer.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from aouo.config.file import Loaded, load_settings
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home, file_system, is_network
from aouo.plumbing.logs import Adopt, Logs, log, not_logging
from aouo.plumbing.redact import Redactor
from aouo.plumbing.systemd import Systemd
from aouo.plumbing.waiting import one_setup_error
from aouo.plumbing.web.session import secrets_of, session_through
from aouo.store.opening import opened
from aouo.telegram.channel import TelegramChannel

if TYPE_CHECKING:
    import aiohttp

    from aouo.agent.tools.registry import Tool
    from aouo.app.lifecycle import MakePage, Runtime
    from aouo.app.wiring import App
    from aouo.config.sections import Telegram
    from aouo.config.settings import Settings
    from aouo.facts.ports import ChatModel, Clock
    from aouo.store.database import Database

_LoadPage: TypeAlias = "Callable[[], MakePage]"
"""Imports what makes the local page, which has a web server."""
_HEAD_START_S = 0.05
"""How long the first poll has the interpreter for itself; imports would hold it up."""


def start(home: Home, environ: Mapping[str, str], page: _LoadPage | None = None) -> None:
    """Serve `home` in the foreground until a signal or a verb ends it; a restart re-executes.

    Raises:
        SetupError: what the owner has to change before this can run.
    """
    home.create()
    with home.lock():
        if any(home.data.glob(".backup-*")):
            from aouo.backup.writing import sweep

            sweep(home)
        loaded = load_settings(home.path, environ)
        settings = loaded.settings
        if refusals := settings.refusals():
            raise refusals[0]
        if settings.telegram.owner and (home.path / "trial.json").exists():
            from aouo.app.keeping import take_over

            asyncio.run(take_over(home, str(settings.telegram.owner), SystemClock()))
        redactor = Redactor(secrets_of(settings.secrets(), environ))
        with Logs(
            level=settings.log.level,
            form=settings.log.format,
            file=home.log_file,
            redactor=redactor,
        ) as logs:
            _say(loaded)
            again = asyncio.run(_serve(home, loaded, logs.adopt, Systemd(environ), page))
    if again:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


async def _serve(
    home: Home, loaded: Loaded, adopt: Adopt, systemd: Systemd, page: _LoadPage | None
) -> bool:
    """Run until stopped; True when a restart was asked for.

    Raises:
        SetupError: unwrapped from the parts that ran beside each other.
    """
    async with open_app(home, loaded.settings, adopt=adopt) as app:
        make, make_page = await asyncio.to_thread(_runtime, page)
        runtime = make(app, loaded, systemd, make_page)
        stop_on_signals(runtime)
        async with asyncio.TaskGroup() as group:
            collecting = group.create_task(collect_garbage(runtime.warm))
            await runtime.run()
            collecting.cancel()
        return runtime.restart


def _runtime(page: _LoadPage | None) -> tuple[type[Runtime], MakePage | None]:
    from aouo.app.lifecycle import Runtime

    return Runtime, page() if page else None


async def collect_garbage(warm: asyncio.Event) -> None:
    """Begin to collect garbage once the imports are over, which make little and are many.

    What is there by then stays for good: later collections leave it out.
    """
    await warm.wait()
    gc.collect()
    gc.freeze()
    gc.enable()


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
    """Log what the owner should know of the configuration in force."""
    for note in loaded.notes:
        log.info("config_note", note=note)
    if loaded.from_last_good:
        log.warning("config_last_good", problems=list(loaded.problems))


@asynccontextmanager
async def open_app(
    home: Home,
    settings: Settings,
    *,
    clock: Clock | None = None,
    model: ChatModel | None = None,
    more_tools: Sequence[Tool] = (),
    online: bool = True,
    adopt: Adopt = not_logging,
) -> AsyncGenerator[App]:
    """Build the runtime on `home`, whose lock the caller holds; close it in reverse order.

    Polling begins at once; what it brings waits until `app.lifecycle` runs the app. `model` and
    `more_tools` replace and extend what the settings name. `online` and `adopt`: see `Shared`.

    Raises:
        SetupError: something the owner has to change.
    """
    clock = clock or SystemClock()
    with one_setup_error():
        async with AsyncExitStack() as stack:
            if is_network(kind := file_system(home.path)):
                log.warning("home_on_network", file_system=kind, home=str(home.path))
            database = await stack.enter_async_context(opened(home.database, patient=True))
            session = await stack.enter_async_context(session_through(clock=clock))
            telegram = await _listening(settings.telegram, database, session, clock, stack)
            # In a thread, so that the poll goes on meanwhile.
            await asyncio.to_thread(import_module, "aouo.app.wiring")
            from aouo.app.tools import share
            from aouo.app.wiring import build

            shared = await share(
                stack,
                home=home,
                clock=clock,
                database=database,
                session=session,
                telegram=telegram,
                online=online,
                adopt=adopt,
                model=model,
                more_tools=more_tools,
            )
            yield await build(settings, shared)


async def _listening(
    settings: Telegram,
    database: Database,
    session: aiohttp.ClientSession,
    clock: Clock,
    stack: AsyncExitStack,
) -> TelegramChannel | None:
    """Listen until the stack is closed, and let the first request leave; None = not on Telegram."""
    if not (settings.enabled and settings.bot_token.get_secret_value()):
        return None
    if settings.proxy:
        through = session_through(settings.proxy, clock=clock)
        session = await stack.enter_async_context(through)
    channel = TelegramChannel(settings=settings, session=session, clock=clock, database=database)
    group = await stack.enter_async_context(asyncio.TaskGroup())
    stack.callback(channel.stop_listening)
    channel.start_listening(group)
    with suppress(TimeoutError):
        async with asyncio.timeout(_HEAD_START_S):
            await channel.begun()
    return channel
