"""`aouo reload`: lets the running bot reload its packs."""

from __future__ import annotations

import click

from aouo.cli.context import current_home, json_option, print_json
from aouo.plumbing.client import ask


@click.command()
@json_option
def reload(as_json: bool) -> None:
    """Let the running bot read its packs anew; exit 1 when none runs, or one does not load.

    What is said now is answered by the packs as they are; a linked one that does not load goes on
    as it was. A change to config.json needs `aouo restart`.
    """
    facts = ask(current_home(), "reload", timeout_s=60)
    broken: dict[str, list[str]] = facts["broken"]
    if as_json:
        print_json(facts)
    else:
        changed = ", ".join(facts["changed"])
        click.echo(f"Reloaded: {changed}." if changed else "No pack has changed.")
        for name, problems in broken.items():
            goes_on = " (goes on as it was)" if name in facts["packs"] else ""
            click.echo(f"{name} does not load{goes_on}: {problems[0]}", err=True)
        click.echo("Only packs are read; a change to config.json needs `aouo restart`.")
    if broken:
        click.get_current_context().exit(1)
