"""`aouo pack new`: makes a small working pack to start from."""

from __future__ import annotations

from pathlib import Path

import click

from aouo.cli.context import json_option, print_json
from aouo.packs.scaffold import make


@click.command()
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    help="Where its folder is made.  [default: here]",
)
@json_option
def new(name: str, folder: Path, as_json: bool) -> None:
    """Make the folder NAME with a pack that works, to be changed."""
    made, files = make(name, folder)
    if as_json:
        print_json({"folder": str(made), "files": files})
        return
    click.echo(f"Made {made}:")
    for file in files:
        click.echo(f"  {file}")
    click.echo(f"\nChange it, then:\n  aouo pack validate {made}")
    click.echo(f"  aouo pack test {made}")
    click.echo(f"  aouo dev {made}")
    click.echo(f"  aouo pack export {made}")
