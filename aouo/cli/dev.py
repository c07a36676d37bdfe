"""`aouo dev DIR`: runs a pack under development in a local Telegram."""

from __future__ import annotations

import os
from pathlib import Path

import click

from aouo.cli.context import current_home
from aouo.plumbing.home import Home


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", default=0, help="Where the chat page listens; 0 takes a free port.")
@click.option("--language", default="en", help="Of everybody's Telegram, such as `de`.")
def dev(folder: Path, port: int, language: str) -> None:
    """Chat with the pack in FOLDER, alone, in a local Telegram.

    Its problems are listed first. Edits count at once: a line here says so, or what is wrong.
    """
    import asyncio

    from aouo.local import trial
    from aouo.packs.validate import validate
    from aouo.plumbing.clock import SystemClock

    problems = validate(folder, now=SystemClock().now())
    for problem in problems:
        click.echo(f"{problem.severity}: {problem}", err=True)
    if any(problem.severity == "error" for problem in problems):
        raise click.exceptions.Exit(1)
    home = Home(current_home().path / "dev")
    packs = [folder.resolve()]
    asyncio.run(
        trial.run(
            home,
            os.environ,
            packs,
            click.echo,
            port=port,
            language=language,
            command=f"aouo dev {folder}",
        )
    )
