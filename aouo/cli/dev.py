"""`aouo dev DIR`: a pack in a local Telegram while it is being written."""

from __future__ import annotations

import os
from pathlib import Path

import click

from aouo.cli.context import current_home
from aouo.home import Home


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", default=0, help="Where the chat page listens; 0 takes a free port.")
def dev(folder: Path, port: int) -> None:
    """Chat with the pack in FOLDER, alone, in a local Telegram.

    Its problems are listed first. Edits count at once: a line here says so, or what is wrong.
    """
    import asyncio

    from aouo.app import trial
    from aouo.packs.library import validate

    problems = validate(folder)
    for problem in problems:
        click.echo(str(problem), err=True)
    if any(problem.severity == "error" for problem in problems):
        raise click.exceptions.Exit(1)
    home = Home(current_home().path / "dev")
    asyncio.run(trial.run(home, os.environ, [folder.resolve()], click.echo, port=port))
