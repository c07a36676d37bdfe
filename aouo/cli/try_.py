"""`aouo try`: tries the whole bot with nothing but this machine."""

from __future__ import annotations

import os

import click

from aouo.cli.context import current_home
from aouo.plumbing.home import Home


@click.command("try")
@click.option("--say", "text", help="Say this, print the answer and end.")
@click.option("--pack", default="notes", show_default=True, help="Which pack --say talks to.")
@click.option("--port", default=0, help="Where the chat page listens; 0 takes a free port.")
@click.option("--service", default="", help="A local model service to keep to, such as `groq`.")
def try_(text: str | None, pack: str, port: int, service: str) -> None:
    """Chat with aouo in a browser: a local Telegram, the real channel, an embedded model.

    No account, no key, no network. It uses a home of its own inside the home, made anew each time.

    With --service the real provider code talks to a local service that refuses what the family's
    own would refuse; no model answers then. An unknown name lists those that there are.
    """
    import asyncio

    from aouo.installer.samples import sample_packs
    from aouo.local import trial

    if text is None:
        home = Home(current_home().path / "try")
        asyncio.run(trial.run(home, os.environ, sample_packs(), _tell, port=port, service=service))
        return
    home = Home(current_home().path / "try-say")
    answer = asyncio.run(
        trial.say(home, os.environ, sample_packs(), _tell, text=text, pack=pack, service=service)
    )
    click.echo(answer)


def _tell(line: str) -> None:
    click.echo(line, err=not line.startswith("ready: "))
