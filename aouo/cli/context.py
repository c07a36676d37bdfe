"""What every verb needs: which home is meant, its settings, and how facts are printed."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING

import click

from aouo.facts.errors import SetupError
from aouo.plumbing.home import Home, home_path

if TYPE_CHECKING:
    from aouo.config.file import Loaded

NO_BOT_TOKEN = "that is not a bot token; it looks like 123456:ABC…"
_TOKEN = re.compile(r"[0-9]{5,}:[A-Za-z0-9_-]{20,}")
json_option = click.option("--json", "as_json", is_flag=True, help="Print facts as JSON.")


class NotThere(SetupError):
    """What a verb was asked about is not there."""

    exit_code = 1


def current_home() -> Home:
    """The home that `--home`, `AOUO_HOME` or the default names."""
    return Home(home_path(click.get_current_context().find_root().obj, os.environ))


def command_for(home: Home) -> str:
    """How a line to copy begins: `aouo`, with `--home` where `home` would not be found else."""
    found = home.path == home_path(None, os.environ)
    return "aouo" if found else f"aouo --home {shlex.quote(str(home.path))}"


def is_token(text: str) -> bool:
    """Whether a text can be a bot token, as @BotFather gives them."""
    return _TOKEN.fullmatch(text) is not None


def told(problem: str) -> str:
    """A problem of config.json in the words of that file: JSON has lists, no tuples."""
    return problem.replace("a valid tuple", "a list")


def load(home: Home) -> Loaded:
    """The settings of `home`; what is wrong with the file is said on stderr."""
    from aouo.config.file import load_settings

    loaded = load_settings(home.path, os.environ)
    for problem in loaded.problems:
        click.echo(f"{home.config.name}: {told(problem)}", err=True)
    if loaded.from_last_good:
        click.echo("The last good configuration is used instead.", err=True)
    return loaded


def print_json(facts: object) -> None:
    """One JSON text, indented, in ASCII: a terminal obeys nothing in it."""
    click.echo(json.dumps(facts, indent=2))
