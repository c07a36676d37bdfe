"""`aouo restart`: lets the running bot finish, and start again in the same process."""

from __future__ import annotations

import time

import click

from aouo.cli.context import current_home, json_option, print_json
from aouo.plumbing.client import NoAnswer, ask
from aouo.plumbing.home import Home
from aouo.plumbing.verbs import Facts


@click.command()
@click.option("--timeout", "timeout_s", default=60.0, help="Seconds to wait.", show_default=True)
@json_option
def restart(timeout_s: float, as_json: bool) -> None:
    """Let the running bot finish and begin anew; exit 1 when none runs."""
    home = current_home()
    before = ask(home, "status")
    ask(home, "restart")
    after = _wait_for_another(home, before, timeout_s)
    if as_json:
        print_json({"restarted": True, **after})
    else:
        click.echo(f"Restarted: pid {after.get('pid', '?')}.")


def _wait_for_another(home: Home, before: Facts, timeout_s: float) -> Facts:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            now = ask(home, "status", timeout_s=5, begins_s=0)
        except NoAnswer:
            now = before
        if (now.get("pid"), now.get("since")) != (before.get("pid"), before.get("since")):
            return now
        time.sleep(0.05)
    raise NoAnswer(f"aouo did not come back within {timeout_s:g} s.", fix="See `aouo logs`.")
