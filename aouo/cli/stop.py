"""`aouo stop`: lets the running bot finish its work and end."""

from __future__ import annotations

import os
import signal
import time

import click

from aouo.cli.context import current_home, json_option, print_json
from aouo.plumbing.client import NoAnswer, ask
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
