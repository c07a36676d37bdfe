"""`aouo dashboard`: prints the link to the local page."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import click

from aouo.cli.context import current_home, json_option, load, print_json
from aouo.facts.errors import SetupError
from aouo.plumbing.client import NotRunning, ask
from aouo.plumbing.home import is_locked
from aouo.plumbing.logs import get_logger


@click.command()
@json_option
def dashboard(as_json: bool) -> None:
    """Print the link to the local page: what is done, what it costs, and a chat.

    The running bot serves it. While none runs, this command does, read only, until Ctrl-C.
    """
    home = current_home()

    def show(state: str) -> None:
        if not state.startswith("http"):
            raise SetupError(
                f"There is no dashboard: {state}.", fix="See `dashboard` in config.json."
            )
        if as_json:
            print_json({"link": state})
        else:
            click.echo(state)

    try:
        show(str(ask(home, "status").get("dashboard", "off")))
    except NotRunning:
        if is_locked(home) or not home.database.exists():
            raise
        loaded = load(home)
        get_logger()  # until then what is logged would be printed beside the link

        from aouo.dashboard.opening import show_at_rest

        click.echo("No bot runs. This shows what is stored, read only, until Ctrl-C.", err=True)
        with suppress(KeyboardInterrupt):
            asyncio.run(show_at_rest(home, loaded, show))
