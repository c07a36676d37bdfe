"""`aouo start`: runs the bot in the foreground."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

import click

from aouo.cli.context import current_home

if TYPE_CHECKING:
    from aouo.app.lifecycle import MakePage


@click.command()
def start() -> None:
    """Run the bot until SIGINT or SIGTERM; nothing but the log is written, to stderr.

    Exit codes: 3 set-up error (one line says what to edit), 4 another instance runs.
    """
    gc.disable()  # before the imports; `app.serve` enables it once they are over
    from aouo.app.serve import start as run

    run(current_home(), os.environ, _page)


def _page() -> MakePage:
    from aouo.dashboard.listening import page

    return page
