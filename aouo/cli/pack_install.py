"""`aouo pack install`, `upgrade`, `uninstall`: a card, a question, a change without a restart."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from aouo.cli.context import current_home, json_option, load, print_json
from aouo.cli.control import ask
from aouo.home import Home, is_locked

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

Facts: TypeAlias = dict[str, Any]
Asking: TypeAlias = Callable[..., Awaitable[Facts]]
"""Asks one verb of `app.pack_verbs`: its name, and its arguments."""

_PATIENCE_S = 900.0
"""An upgrade runs the pack's evals first, and lets its turns finish."""

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

    Runs its evals first, shows what is different, and asks only for what is new.
    """
    _run(source, yes, as_json, name)


@click.command("uninstall")
@click.argument("name")
@click.option("--purge", is_flag=True, help="Also delete its data: rows, memory, files.")
@_yes
@json_option
def uninstall(name: str, purge: bool, yes: bool, as_json: bool) -> None:
    """Remove the pack NAME. Its data stays for another time, unless it is purged."""
    what = f"Remove {name} and delete all it keeps?" if purge else f"Remove {name}?"
    if not (yes or as_json) and not _agreed(what):
        click.echo("Nothing has changed.")
        return
    facts = asyncio.run(_once("pack_remove", pack=name, purge=purge))
    if as_json:
        print_json(facts)
    elif facts["purged"]:
        click.echo(f"{name} and its data are gone.")
    else:
        click.echo(f"{name} is removed. Its data is kept: installing it again goes on with it.")


def _run(source: str, yes: bool, as_json: bool, name: str = "") -> None:
    """Print what was done; exit 1 where nothing was, because nobody agreed."""
    facts = asyncio.run(_change(source, yes, as_json, name))
    if as_json:
        print_json(facts)
    elif facts["same"]:
        click.echo(
            f"{facts['pack']} {facts['version']} is installed already; there is nothing to do."
        )
    elif facts["done"]:
        name, version = facts["pack"], facts["version"]
        upgraded = facts["kind"] == "upgrade"
        click.echo(
            f"{name} is version {version} now."
            if upgraded
            else f"{name} is installed, version {version}."
        )
    else:
        click.echo("Nothing has changed.")
    if not facts["done"] and not facts["same"]:
        click.get_current_context().exit(1)


async def _change(source: str, yes: bool, as_json: bool, name: str) -> Facts:
    async with _asking() as asking:
        offered = await asking("pack_offer", source=_absolute(source), upgrade=name)
        facts = {**offered, "done": False}
        agreed = not offered["same"] and (yes or not offered["needs_consent"])
        if not as_json and not offered["same"]:
            _show(offered["card"])
            agreed = agreed or _agreed(f"{offered['kind'].capitalize()} it?")
        if agreed:
            await asking("pack_accept", id=offered["id"])
            facts["done"] = True
        else:
            await asking("pack_decline", id=offered["id"])
        return facts


def _show(card: str) -> None:
    """The card as text: a terminal shows no Markdown."""
    from aouo.outbound.render import render

    click.echo("\n\n".join(part.text for part in render(card)))
    click.echo()


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Nobody is there to answer: say it with --yes.")
    return click.confirm(question, default=False)


def _absolute(source: str) -> str:
    """A path as the running bot, whose folder is another one, can find it."""
    if not source or "://" in source:
        return source
    path = Path(source).expanduser()
    if path.exists():
        return str(path.absolute())
    from aouo.app.samples import sample_packs

    along = {folder.name: folder for folder in sample_packs()}
    return str(along.get(source, path.absolute()))


async def _once(verb: str, **arguments: object) -> Facts:
    async with _asking() as asking:
        return await asking(verb, **arguments)


@asynccontextmanager
async def _asking() -> AsyncGenerator[Asking]:
    """Ask the running bot; where none runs, do it on the home itself."""
    home = current_home()
    if is_locked(home):

        async def remote(verb: str, **arguments: object) -> Facts:
            return await asyncio.to_thread(ask, home, verb, timeout_s=_PATIENCE_S, **arguments)

        yield remote
        return
    async with _at_rest(home) as asking:
        yield asking


@asynccontextmanager
async def _at_rest(home: Home) -> AsyncGenerator[Asking]:
    from aouo.app.pack_verbs import at_rest
    from aouo.logs import Logs, Nowhere
    from aouo.redact import Redactor

    home.create()
    settings = load(home).settings
    logs = Logs(file=home.log_file, redactor=Redactor(settings.secrets()), stderr=Nowhere())
    with home.lock(), logs:
        async with at_rest(home, settings) as verbs:

            async def local(verb: str, **arguments: object) -> Facts:
                return await verbs[verb](arguments)

            yield local


def refresh(home: Home) -> bool:
    """Let the running bot read what is installed anew; False = none runs."""
    if not is_locked(home):
        return False
    ask(home, "pack_refresh", timeout_s=_PATIENCE_S)
    return True
