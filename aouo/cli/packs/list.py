"""`aouo pack list`, `validate` and `link`: list packs, check one, and install one by a link."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from aouo.cli.context import current_home, json_option, load, print_json
from aouo.cli.packs.install import refresh
from aouo.cli.packs.unread import RELOAD, unread
from aouo.installer.installed import scan_at_rest
from aouo.packs.format.problems import errors
from aouo.packs.load import load_pack
from aouo.packs.scanning import link
from aouo.packs.validate import validate as find_problems
from aouo.plumbing.clock import SystemClock


@click.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the installed packs, also those that do not load."""
    home = current_home()
    settings = load(home).settings
    library, waiting = scan_at_rest(home, settings.packs, settings.tools.enabled), unread(home)
    if as_json:
        print_json({**library.listed(), "unread": waiting})
        return
    for name in library.names:
        found = library.packs[name]
        click.echo(f"{name:<16} {found.manifest.version:<8} {found.folder.resolve()}")
        for problem in library.warnings.get(name, ()):
            click.echo(f"  warning: {problem}")
    for name, problems in library.broken.items():
        click.echo(f"{name:<16} broken")
        for problem in problems:
            click.echo(f"  {problem.severity}: {problem}")
    for name, why in waiting.items():
        click.echo(f"{name:<16} {why}")
    if waiting:
        click.echo(RELOAD)
    if not library.names and not library.broken:
        click.echo(f"No pack is installed in {home.packs}. Run `aouo pack install notes`, or DIR.")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def validate(folder: Path, as_json: bool) -> None:
    """Check the pack in FOLDER, strictly: 0 if it is sound, else 1."""
    name, problems = load_pack(folder).name, find_problems(folder, now=SystemClock().now())
    sound = not errors(problems)
    if as_json:
        print_json(
            {
                "ok": sound,
                "pack": name,
                "problems": [asdict(problem) for problem in problems],
            }
        )
    else:
        for problem in problems:
            click.echo(f"{problem.severity}: {problem}", err=problem.severity == "error")
        click.echo(f"{name} is {'sound' if sound else 'not sound'}.")
    if not sound:
        click.get_current_context().exit(1)


@click.command("link")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def link_(folder: Path, as_json: bool) -> None:
    """Install the pack in FOLDER by a link, so that it can be edited where it lies.

    A running bot takes it up at once, and later edits with `aouo reload`.
    """
    home = current_home()
    home.create()
    target = link(folder, home.packs)
    running = refresh(home)
    if as_json:
        facts = {"name": target.name, "link": str(target), "folder": str(folder.resolve())}
        print_json({**facts, "running": running})
        return
    click.echo(f"{target.name} is installed: {target} → {folder.resolve()}")
    if running:
        click.echo("The running bot has it.")
