"""`aouo update`: says how aouo was installed, what is new, and the one line that takes it over.

It asks the remote of the clone, or pip as it is configured, and only when it is called.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import click

import aouo
from aouo.cli.context import command_for, current_home, json_option, print_json
from aouo.facts.errors import SetupError

_WITHIN_S = 60.0
_SHOWN = 20


@click.command()
@click.option("--offline", is_flag=True, help="Ask nobody: only say how it was installed.")
@json_option
def update(offline: bool, as_json: bool) -> None:
    """Say what is new, and how to take it over after a backup. It changes nothing itself."""
    root = Path(aouo.__file__).parents[1]
    clone = (root / ".git").exists()
    facts = {
        "version": aouo.__version__,
        "installed": "clone" if clone else "wheel",
        "where": str(root),
        "new": [] if offline else _news(root) if clone else _releases(),
        "line": _line(root, clone=clone),
    }
    if as_json:
        print_json(facts)
        return
    click.echo(f"aouo {aouo.__version__}, from a {facts['installed']} in {root}")
    if offline:
        return
    new = list(facts["new"])
    if not new:
        click.echo("There is nothing new.")
        return
    for one in new[:_SHOWN]:
        click.echo(f"  {one}")
    if len(new) > _SHOWN:
        click.echo(f"  and {len(new) - _SHOWN} more")
    click.echo(f"To take it over, after a backup:\n  {facts['line']}")


def _line(root: Path, *, clone: bool) -> str:
    ours = command_for(current_home())
    kept = f"{ours} backup ~/aouo-$(date +%F-%H%M).backup"
    if clone:
        return f"{kept} && git -C {root} pull --ff-only && {root}/scripts/setup && {ours} restart"
    return f"{kept} && {sys.executable} -m pip install --upgrade aouo && {ours} restart"


def _news(root: Path) -> list[str]:
    """Return the subjects of what the remote has and this clone has not, newest first."""
    git = ("git", "-C", str(root))
    if not _told(*git, "remote").strip():
        raise SetupError("This clone has no remote to ask.", fix=f"git -C {root} remote add …")
    _told(*git, "fetch", "--quiet")
    return _told(*git, "log", "--format=%h %s", "HEAD..@{upstream}").splitlines()


def _releases() -> list[str]:
    """Return the releases that are newer than this one, newest first."""
    words = _told(sys.executable, "-m", "pip", "index", "versions", "aouo")
    listed = words.partition("Available versions:")[2].splitlines()[0:1]
    found = [one.strip() for line in listed for one in line.split(",")]
    return list(takewhile(lambda one: one != aouo.__version__, found))


def _told(*command: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_WITHIN_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{' '.join(command)}: {error}.", exit_code=1) from error
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines()
        raise SetupError(f"{' '.join(command)}: {why[-1] if why else 'it failed'}.", exit_code=1)
    return done.stdout
