"""Asks the running bot; where none runs, does it on the home itself, under its lock."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aouo.cli.context import current_home, load
from aouo.plumbing.client import NoAnswer, NotRunning, ask
from aouo.plumbing.home import Home, is_locked, running_pid
from aouo.plumbing.verbs import Facts

PATIENCE_S = 900.0
"""An upgrade runs the pack's evals first, and lets its turns finish."""


def asked(verb: str, *, timeout_s: float = 10, **arguments: object) -> Facts:
    """Ask one verb of `installer.verbs`; raises as `ask` and the verb do.

    `timeout_s` is how long the running bot may take.
    """
    home = current_home()
    if not is_locked(home):
        return asyncio.run(_done_at_rest(home, verb, arguments))
    try:
        return ask(home, verb, timeout_s=timeout_s, begins_s=None, **arguments)
    except NotRunning:
        raise NoAnswer(
            f"aouo (pid {running_pid(home)}) holds {home.path} and does not answer yet.",
            fix="Try again in a moment.",
        ) from None


async def _done_at_rest(home: Home, verb: str, arguments: Mapping[str, Any]) -> Facts:
    from aouo.installer.verbs import at_rest
    from aouo.plumbing.logs import Logs, Nowhere
    from aouo.plumbing.redact import Redactor
    from aouo.web.session import secrets_of

    home.create()
    settings = load(home).settings
    redactor = Redactor(secrets_of(settings.secrets()))
    with home.lock(), Logs(file=home.log_file, redactor=redactor, stderr=Nowhere()):
        async with at_rest(home, settings) as verbs:
            return await verbs[verb](arguments)
