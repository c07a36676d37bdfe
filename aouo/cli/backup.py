"""`aouo backup` and `restore`: the whole home as one file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aouo.cli.context import command_for, current_home, json_option, print_json
from aouo.facts.errors import SetupError
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.printable import printable

if TYPE_CHECKING:
    from aouo.backup.restoring import Found

_SHORTEST = 8

_passphrase_option = click.option(
    "--passphrase-file",
    type=click.Path(path_type=Path),
    help="A file whose first line is the passphrase.",
)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--encrypt", is_flag=True, help="Lock it with a passphrase, which is asked for.")
@_passphrase_option
@click.option("--without-keys", is_flag=True, help="Leave tokens, keys and secrets out.")
@json_option
def backup(
    file: Path, encrypt: bool, passphrase_file: Path | None, without_keys: bool, as_json: bool
) -> None:
    """Write all that this home keeps to FILE: settings, apps, databases, memory, files.

    The bot may go on running. FILE is new, and is read once more when it is written. What holds
    keys is locked with a passphrase, or leaves them out.
    """
    from aouo.backup import writing

    home = current_home()
    passphrase = _asked(passphrase_file, wanted=encrypt, twice=True)
    if not passphrase and not without_keys and (places := writing.keys_in(home, os.environ)):
        held = f"It would hold keys ({', '.join(places)})"
        if not sys.stdin.isatty() or as_json:
            raise click.UsageError(f"{held}: add --encrypt, or leave them out by --without-keys.")
        click.echo(f"{held}.")
        passphrase = _asked(None, wanted=True, twice=True)
    target = file.absolute()
    size = writing.write(
        *(home, target, os.environ, SystemClock().now()),
        passphrase=passphrase,
        keys=not without_keys,
    )
    if as_json:
        print_json({"file": str(target), "bytes": size, "encrypted": bool(passphrase)})
        return
    locked = ", locked: nobody can read it without your passphrase" if passphrase else ""
    keys = ", without keys" if without_keys else ""
    click.echo(f"{target}: {size / 1e6:,.1f} MB, read once more and whole{locked}{keys}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@_passphrase_option
@json_option
def restore(file: Path, yes: bool, passphrase_file: Path | None, as_json: bool) -> None:
    """Let this home be what it was when FILE was made. The bot must not run.

    What is there now stays in a folder of the home. Schedules of others than the owner come back
    as proposed: each is off until somebody switches it on.
    """
    from aouo.backup import archive, restoring

    home = current_home()
    passphrase = _asked(passphrase_file, wanted=archive.is_sealed(file), twice=False)
    home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with home.lock():
        found = restoring.unpack(home, file.absolute(), passphrase, os.environ)
        for line in _told(found):
            click.echo(line, err=True)
        if not yes and (as_json or not click.confirm(f"Let {home.path} be this?", err=True)):
            restoring.forget(home)
            click.echo("Nothing has changed.", err=True)
            click.get_current_context().exit(1)
        aside = restoring.put_in_place(home, SystemClock().now())
    if as_json:
        print_json({"home": str(home.path), "before": str(aside or ""), "packs": found.packs})
        return
    click.echo(f"{home.path} is restored.")
    if aside:
        click.echo(f"What was there before: {aside}")
    if not found.about.keys:
        click.echo(f"It has no keys: `{command_for(home)} setup` asks for them.")


def _told(found: Found) -> list[str]:
    made = found.about.made_at[:16].replace("T", " ")
    apps = ", ".join(found.packs) or "none"
    lines = [_as_one(f"Made {made} by aouo {found.about.version}; apps: {apps}")]
    lines += [line for title, rows in found.lists.items() for line in _listed(title, rows)]
    if found.theirs:
        lines.append(f"{found.theirs} of them are of others and come back as proposed, off.")
    return lines


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return [f"{title}: none"]
    return [f"{title}:", *(f"  {_as_one(line)}" for line in lines)]


def _as_one(text: str) -> str:
    """Return a text of strangers as one line, with line ends and controls as signs."""
    return printable(text.replace("\n", "\\n").replace("\t", "\\t"))


def _asked(file: Path | None, *, wanted: bool, twice: bool) -> str:
    """Return the passphrase in a file, or the one that somebody types; "" = none is wanted."""
    if file is None and not wanted:
        return ""
    if file is not None:
        found = _first_line(file)
    else:
        found = str(
            click.prompt("Passphrase", hide_input=True, confirmation_prompt=twice, err=True)
        )
    if twice and len(found) < _SHORTEST:
        raise click.UsageError(f"A passphrase has at least {_SHORTEST} characters.")
    return found


def _first_line(file: Path) -> str:
    try:
        lines = file.read_text("utf-8").splitlines()
    except OSError as error:
        raise SetupError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{file} cannot be read: it is no text.") from error
    if not lines or not lines[0]:
        raise SetupError(f"{file} has no passphrase in its first line.")
    return lines[0]
