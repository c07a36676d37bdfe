"""What every verb needs: which home is meant, its settings, and how facts are printed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from aouo.home import Home, home_path

if TYPE_CHECKING:
    from aouo.config_file import Loaded

json_option = click.option("--json", "as_json", is_flag=True, help="Print facts as JSON.")


def current_home() -> Home:
    """The home that `--home`, `AOUO_HOME` or the default names."""
    return Home(home_path(click.get_current_context().find_root().obj, os.environ))


def load(home: Home) -> Loaded:
    """The settings of `home`; what is wrong with the file is said on stderr."""
    from aouo.config_file import load_settings

    loaded = load_settings(home.path, os.environ)
    for problem in loaded.problems:
        click.echo(f"{home.config.name}: {problem}", err=True)
    if loaded.from_last_good:
        click.echo("The last good configuration is used instead.", err=True)
    return loaded


def print_json(facts: object) -> None:
    """One JSON text, indented."""
    click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
