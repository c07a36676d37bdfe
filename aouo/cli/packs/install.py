"""`aouo pack new`, `schema`, `install`, `upgrade`, `uninstall`: make, install, change packs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aouo.cli.asking import PATIENCE_S, Facts, asked
from aouo.cli.context import current_home, json_option, print_json
from aouo.facts.errors import PackError
from aouo.packs.authoring import TEMPLATES, make
from aouo.packs.format.problems import did_you_mean
from aouo.plumbing.client import NotRunning, ask
from aouo.plumbing.home import Home, is_locked

if TYPE_CHECKING:
    pass


@click.command()
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    help="Where its folder is made.  [default: here]",
)
@click.option(
    "--from",
    "template",
    type=click.Choice(TEMPLATES),
    default=TEMPLATES[0],
    show_default=True,
    help="What it begins as.",
)
@json_option
def new(name: str, folder: Path, template: str, as_json: bool) -> None:
    """Make the folder NAME with a pack that works, to be changed."""
    made, files = make(name, folder, template)
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


@click.command()
@click.argument("file", type=click.Choice(["pack.yml", "actions.yml"]), default="pack.yml")
def schema(file: str) -> None:
    """Print the JSON Schema of a FILE of packs (draft 2020-12).

    Keep it beside your packs and begin a pack.yml with
    `# yaml-language-server: $schema=../aouo-pack.json`.
    """
    from aouo.packs.actions import declared
    from aouo.packs.authoring import json_schema

    print_json(json_schema() if file == "pack.yml" else declared.schema())


_yes = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


@click.command("install")
@click.argument("source")
@_yes
@json_option
def install(source: str, yes: bool, as_json: bool) -> None:
    """Install the pack in SOURCE: a folder, an .aouo file, an https address, or the name of a pack
    that comes with aouo. Shows what it may do, and asks. A running bot needs no restart."""
    _run(source, yes, as_json)


@click.command("upgrade")
@click.argument("name")
@click.argument("source", required=False, default="")
@_yes
@json_option
def upgrade(name: str, source: str, yes: bool, as_json: bool) -> None:
    """Upgrade the pack NAME from SOURCE, or from where it was installed.

    Shows what is different, asks only for what is new, and plays its evals before it changes
    anything.
    """
    _run(source, yes, as_json, name)


@click.command("uninstall")
@click.argument("name")
@click.option("--purge", is_flag=True, help="Also delete its data: rows, memory, files, page chat.")
@_yes
@json_option
def uninstall(name: str, purge: bool, yes: bool, as_json: bool) -> None:
    """Remove the pack NAME. Its data stays for another time, unless it is purged."""
    what = f"Remove {name} and delete all it keeps?" if purge else f"Remove {name}?"
    there = os.path.lexists(current_home().packs / name)  # else the error comes without a question
    if there and not yes and (as_json or not _agreed(what)):
        _tell_unchanged(as_json, {"pack": name, "done": False})
        return
    facts = {**asked("pack_remove", timeout_s=PATIENCE_S, pack=name, purge=purge), "done": True}
    if as_json:
        print_json(facts)
    elif facts["purged"]:
        click.echo(f"{name} and its data are gone.")
    else:
        click.echo(f"{name} is removed. Its data is kept: installing it again goes on with it.")


def _run(source: str, yes: bool, as_json: bool, name: str = "") -> None:
    """Change a pack and print the outcome; exit 1 if the person did not agree."""
    facts = _change(source, yes, as_json, name)
    if not facts["done"] and not facts["same"]:
        _tell_unchanged(as_json, facts)
    elif as_json:
        print_json(facts)
    elif facts["same"]:
        click.echo(
            f"{facts['pack']} {facts['version']} is installed already; there is nothing to do."
        )
    else:
        done = "version {} now" if facts["kind"] == "upgrade" else "installed, version {}"
        click.echo(f"{facts['pack']} is {done.format(facts['version'])}.")


def _tell_unchanged(as_json: bool, facts: Facts) -> None:
    if as_json:
        print_json(facts)
    else:
        click.echo("Nothing has changed.")
    click.get_current_context().exit(1)


def _change(source: str, yes: bool, as_json: bool, name: str) -> Facts:
    """Offer the change, ask, and carry it out or decline; the bot does not wait for the person."""
    offered = asked("pack_offer", timeout_s=PATIENCE_S, source=_absolute(source), upgrade=name)
    facts = {**offered, "done": False}
    agreed = False
    try:
        if not offered["same"]:
            agreed = yes or not offered["needs_consent"]
            if not as_json:
                _show(offered["card"])
                agreed = agreed or _agreed(f"{offered['kind'].capitalize()} it?")
    finally:
        if not agreed:
            asked("pack_decline", timeout_s=PATIENCE_S, id=offered["id"])
    if agreed:
        asked("pack_accept", timeout_s=PATIENCE_S, id=offered["id"])
        facts["done"] = True
    return facts


def install_all(sources: Sequence[str]) -> None:
    """Show the cards of some packs, ask once, and install all of them or none."""
    agreed, offered = False, list[Facts]()
    try:
        for source in sources:
            offered.append(asked("pack_offer", timeout_s=PATIENCE_S, source=source, upgrade=""))
            if not offered[-1]["same"]:
                _show(offered[-1]["card"])
        names = [str(one["pack"]) for one in offered if not one["same"]]
        agreed = bool(names) and click.confirm(f"Install {', '.join(names)}?", default=True)
    finally:
        for one in offered:
            if not agreed or one["same"]:
                asked("pack_decline", timeout_s=PATIENCE_S, id=one["id"])
    for one in offered:
        if agreed and not one["same"]:
            asked("pack_accept", timeout_s=PATIENCE_S, id=one["id"])


def _show(card: str) -> None:
    """Print the card as plain text, since a terminal shows no Markdown."""
    from aouo.words.markdown.render import render

    click.echo("\n\n".join(part.text for part in render(card)))
    click.echo()


def _agreed(question: str) -> bool:
    """Ask a question; the answer is typed, or piped in: `echo y | aouo pack install …`."""
    try:
        return click.confirm(question, default=False)
    except click.Abort as abort:
        if sys.stdin.isatty():
            raise
        nobody = f"{question} Nobody is there to answer: say it with --yes."
        raise click.UsageError(nobody) from abort


def _absolute(source: str) -> str:
    """Return an absolute path, since the running bot has another working directory.

    Raises:
        PackError: there is no such pack, folder or file; names the bundled packs.
    """
    if not source or "://" in source:
        return source
    path = Path(source).expanduser()
    if path.exists():
        return str(path.absolute())
    from aouo.installer.installed import sample_packs

    along = {folder.name: folder for folder in sample_packs()}
    if source in along:
        return str(along[source])
    raise PackError(
        f"There is no pack, folder or file {source}{did_you_mean(source, along) or '.'}",
        fix=f"These packs come with aouo: {', '.join(sorted(along))}. Or name a folder, an .aouo "
        "file or an https address.",
    )


def refresh(home: Home) -> bool:
    """Let the running bot reload the installed packs; False = none runs yet."""
    if not is_locked(home):
        return False
    try:
        ask(home, "pack_refresh", timeout_s=PATIENCE_S)
    except NotRunning:  # it is starting or ending
        return False
    return True
