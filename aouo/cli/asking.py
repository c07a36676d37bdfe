"""What verbs share: they ask the running bot or work at rest, and align what they list."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from aouo.cli.context import current_home, load
from aouo.plumbing.client import NoAnswer, NotRunning, ask
from aouo.plumbing.control import Facts
from aouo.plumbing.home import Home, is_locked, running_pid
from aouo.words.markdown.tables import columns

_GAP = "  "


def aligned(rows: Sequence[Sequence[str]], limits: Sequence[int]) -> list[str]:
    """Return a line for each row; a longer cell is cut. `limits` are of columns on the screen,
    where a wide character takes two; 0 = none."""
    cells = [[_cut(cell, limit) for cell, limit in zip(row, limits, strict=True)] for row in rows]
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    return [
        _GAP.join(
            cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def heading(line: str) -> None:
    """Print the heading of a table on a terminal; what reads a pipe gets rows alone."""
    if sys.stdout.isatty():
        click.echo(line)


def _cut(text: str, limit: int) -> str:
    if not limit or columns(text) <= limit:
        return text
    kept = text[: limit - 1]
    while columns(kept) >= limit:
        kept = kept[:-1]
    return f"{kept}…"


PATIENCE_S = 900.0
"""The limit for changes of packs: an upgrade first runs evals, and waits for running turns."""


def asked(verb: str, *, timeout_s: float = 10, **arguments: object) -> Facts:
    """Run one verb of `installer.verbs`; raises as `ask` and the verb.

    `timeout_s` is how long a running bot may take.
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
    from aouo.plumbing.logs import Logs
    from aouo.plumbing.redact import Redactor
    from aouo.plumbing.web.session import secrets_of

    home.create()
    settings = load(home).settings
    redactor = Redactor(secrets_of(settings.secrets()))
    with home.lock(), Logs(file=home.log_file, redactor=redactor, quiet=True):
        async with at_rest(home, settings) as verbs:
            return await verbs[verb](**arguments)
