"""`aouo stop`, `restart`, `reload`: let the running bot finish, begin anew, take up changes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import click

from aouo.cli.config import warn_about_missing_prices
from aouo.cli.context import current_home, json_option, load, print_json
from aouo.plumbing.client import NoAnswer, ask
from aouo.plumbing.control import Facts
from aouo.plumbing.home import Home, is_locked, running_pid

_PATIENCE_SHARE = 0.7
"""The share of the deadline after which SIGTERM follows the request."""


@click.command()
@click.option("--timeout", "timeout_s", default=60.0, help="Seconds to wait.", show_default=True)
@json_option
def stop(timeout_s: float, as_json: bool) -> None:
    """Let the running bot finish and end; nothing to do is success."""
    home = current_home()
    was_running = is_locked(home)
    if was_running:
        _end(home, timeout_s)
    if as_json:
        print_json({"stopped": was_running, "home": str(home.path)})
    else:
        click.echo("Stopped." if was_running else f"aouo is not running at {home.path}.")


def _end(home: Home, timeout_s: float) -> None:
    began = time.monotonic()
    try:
        ask(home, "stop", timeout_s=max(0.1, min(10.0, timeout_s)), begins_s=0)
    except NoAnswer:
        _terminate(home)
    signalled = False
    while is_locked(home):
        waited_s = time.monotonic() - began
        if waited_s > timeout_s:
            raise NoAnswer(
                f"aouo (pid {running_pid(home)}) still runs after {timeout_s:g} s.",
                fix="Wait longer with --timeout, or end that process.",
            )
        if not signalled and waited_s > timeout_s * _PATIENCE_SHARE:
            _terminate(home)
            signalled = True
        time.sleep(0.05)


def _terminate(home: Home) -> None:
    """Send SIGTERM to the lock's holder; the pid is trusted only while the lock is held."""
    pid = running_pid(home)
    if pid > 1 and is_locked(home):
        try:
            os.kill(pid, signal.SIGTERM)
        except OSError:
            return


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


@click.command()
@json_option
def reload(as_json: bool) -> None:
    """Let the running bot read config.json and its packs anew.

    Exit 1 when none runs, when config.json has a problem (then nothing changes), or when a pack
    does not load. What is said now is answered by the bot as it is; a linked pack that does not
    load goes on as it was. A save of config.json is taken up without this, too.
    """
    home = current_home()
    facts = ask(home, "reload", timeout_s=60)
    config, broken = facts["config"], facts["broken"]
    if as_json:
        print_json(facts)
    else:
        for line in _lines(config, facts["changed"]):
            click.echo(line)
        if config["changed"]:
            warn_about_missing_prices(load(home).settings, config["changed"])
        for problem in config["problems"]:
            click.echo(f"config.json: {problem}", err=True)
        for name, problems in broken.items():
            goes_on = " (goes on as it was)" if name in facts["packs"] else ""
            click.echo(f"{name} does not load{goes_on}: {problems[0]}", err=True)
    if broken or config["problems"]:
        click.get_current_context().exit(1)


def _lines(config: Facts, packs: list[str]) -> Iterator[str]:
    if config["problems"]:
        yield "Nothing has changed, because config.json has a problem."
        return
    if changed := config["changed"]:
        yield f"In force now: {', '.join(changed)}."
    else:
        yield "config.json was in force already."
    if later := config["after_restart"]:
        yield f"Takes effect after a restart (aouo restart): {', '.join(later)}."
    yield f"Reloaded: {', '.join(packs)}." if packs else "No pack has changed."
