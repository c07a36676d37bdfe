"""Asks the running bot; where none runs, does it on the home itself, under its lock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from aouo.cli.context import current_home, load
from aouo.cli.control import NoAnswer, NotRunning, ask
from aouo.plumbing.home import Home, is_locked, running_pid
from aouo.plumbing.verbs import Facts, Verb

Asking: TypeAlias = Callable[..., Awaitable[Facts]]
"""Asks one verb of `installer.verbs`: its name, and its arguments."""

PATIENCE_S = 900.0
"""An upgrade runs the pack's evals first, and lets its turns finish."""


def asked(verb: str, **arguments: object) -> Facts:
    """Ask one verb, each on its own: a Ctrl-C at a question ends it at once."""

    async def once() -> Facts:
        async with _asking() as asking:
            return await asking(verb, **arguments)

    return asyncio.run(once())


@asynccontextmanager
async def _asking() -> AsyncGenerator[Asking]:
    """Ask the running bot; where none runs, do it on the home itself."""
    home = current_home()
    if is_locked(home):

        async def remote(verb: str, **arguments: object) -> Facts:
            try:
                return await asyncio.to_thread(
                    ask, home, verb, timeout_s=PATIENCE_S, begins_s=None, **arguments
                )
            except NotRunning:
                raise NoAnswer(
                    f"aouo (pid {running_pid(home)}) holds {home.path} and does not answer yet.",
                    fix="Try again in a moment.",
                ) from None

        yield remote
        return
    async with _at_rest(home) as asking:
        yield asking


@asynccontextmanager
async def _at_rest(home: Home) -> AsyncGenerator[Asking]:
    from aouo.app.proxied import secrets_of
    from aouo.installer.verbs import at_rest
    from aouo.plumbing.logs import Logs, Nowhere
    from aouo.plumbing.redact import Redactor

    home.create()
    settings = load(home).settings
    redactor = Redactor(secrets_of(settings))
    with home.lock(), Logs(file=home.log_file, redactor=redactor, stderr=Nowhere()):
        async with at_rest(home, settings) as verbs:

            async def local(verb: str, **arguments: object) -> Facts:
                answering = verbs[verb]
                assert isinstance(answering, Verb)
                return await answering(arguments)

            yield local
