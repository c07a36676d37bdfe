"""`aouo pack info` and `permissions`: print what a pack is and may do, as its card does."""

from __future__ import annotations

from dataclasses import asdict

import click

from aouo.cli.context import json_option, print_json
from aouo.cli.packs.named import named, summary_of


@click.command()
@click.argument("pack", metavar="NAME|DIR|FILE|URL")
@json_option
def info(pack: str, as_json: bool) -> None:
    """Say what a pack is, what it may do, what it brings and who signed it."""
    from aouo.markdown.render import as_text
    from aouo.words.packs import install_card

    with named(pack) as (folder, is_installed):
        summary = summary_of(folder, is_installed=is_installed)
        if as_json:
            print_json({**asdict(summary), "installed": is_installed})
            return
        click.echo(as_text(install_card(summary)))
        if is_installed:
            click.echo(f"\nInstalled: {folder}")


@click.command()
@click.argument("pack", metavar="NAME|DIR|FILE|URL")
@json_option
def permissions(pack: str, as_json: bool) -> None:
    """Say what a pack may do."""
    from aouo.markdown.render import as_text
    from aouo.words.packs import permissions_card

    with named(pack) as (folder, is_installed):
        summary = summary_of(folder, is_installed=is_installed)
    if as_json:
        keys = ("name", "version", "tools", "pack_tools", "network", "file_paths")
        keys += ("external_commands", "platforms", "may_schedule", "schedules", "watches", "scope")
        facts = asdict(summary)
        print_json({key: facts[key] for key in keys})
    else:
        click.echo(as_text(permissions_card(summary)))
