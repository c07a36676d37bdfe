"""Finds the home and its settings for every verb, and prints facts."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

import click

from aouo.facts.errors import SetupError
from aouo.plumbing.home import Home, home_path

if TYPE_CHECKING:
    from aouo.config.file import Loaded

json_option = click.option("--json", "as_json", is_flag=True, help="Print facts as JSON.")


def not_there(problem: str, *, fix: str = "") -> SetupError:
    """Return the error for what a verb was asked about and is not there."""
    return SetupError(problem, fix=fix, exit_code=1)


def current_home() -> Home:
    """Return the home that `--home`, `AOUO_HOME` or the default names."""
    return Home(home_path(click.get_current_context().find_root().obj, os.environ))


def command_for(home: Home) -> str:
    """Return how a command to copy begins: `aouo`, with `--home` if `home` is not the default."""
    found = home.path == home_path(None, os.environ)
    return "aouo" if found else f"aouo --home {shlex.quote(str(home.path))}"


def load(home: Home) -> Loaded:
    """Return the settings of `home`, and print problems of the file on stderr."""
    from aouo.config.file import load_settings

    loaded = load_settings(home.path, os.environ)
    for problem in loaded.problems:
        click.echo(f"{home.config.name}: {problem}", err=True)
    if loaded.from_last_good:
        click.echo("The last good configuration is used instead.", err=True)
    return loaded


def print_json(facts: object) -> None:
    """Print one JSON text, indented, in ASCII, so that nothing in it controls the terminal."""
    click.echo(json.dumps(facts, indent=2))
