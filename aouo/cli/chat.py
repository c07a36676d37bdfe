"""`aouo chat`: talks to the bot in a terminal."""

from __future__ import annotations

import os

import click

from aouo.cli.context import current_home


@click.command()
@click.argument("pack", required=False, default="")
def chat(pack: str) -> None:
    """Talk to PACK (or to whichever answers here) in this terminal.

    Through the running bot, or on its own when none runs. A number taps the button with that
    number; Ctrl-D ends.
    """
    import asyncio

    from aouo.local.conversing import converse

    asyncio.run(converse(current_home(), os.environ, pack, click.echo))
