"""`aouo try`: the real main job with nothing but this machine."""

from __future__ import annotations

import os
from pathlib import Path

import click

from aouo.cli.context import current_home
from aouo.home import Home


@click.command("try")
@click.option("--say", "text", help="Say this, print the answer and end.")
@click.option("--pack", default="notes", show_default=True, help="Which pack --say talks to.")
@click.option("--port", default=0, help="Where the chat page listens; 0 takes a free port.")
def try_(text: str | None, pack: str, port: int) -> None:
    """Chat with aouo in a browser: a local Telegram, the real channel, an embedded model.

    No account, no key, no network. It uses a home of its own inside the home, made anew each time.
    """
    import asyncio

    from aouo.app import trial

    if text is None:
        home = Home(current_home().path / "try")
        asyncio.run(trial.run(home, os.environ, sample_packs(), _tell, port=port))
        return
    home = Home(current_home().path / "try-say")
    answer = asyncio.run(trial.say(home, os.environ, sample_packs(), _tell, text=text, pack=pack))
    click.echo(answer)


def sample_packs() -> list[Path]:
    """The packs that come with aouo, from the checkout or from the installed package."""
    import aouo

    package = Path(aouo.__file__).parent
    places = (package.parent / "packs", package / "sample_packs")
    folder = next((place for place in places if place.is_dir()), places[1])
    return sorted(file.parent for file in folder.glob("*/pack.yml"))


def _tell(line: str) -> None:
    click.echo(line, err=not line.startswith("ready: "))
