"""`aouo service`: lets systemd (Linux) or launchd (macOS) keep the bot running for its user.

Sources: systemd.service(5) and systemd.syntax(7) for the unit and its quoting, loginctl(1) for
lingering, launchd.plist(5) and launchctl(1). The plist has not been tried on a Mac.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import plistlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from aouo.cli.context import command_for, current_home, load
from aouo.facts.errors import SetupError
from aouo.plumbing.home import Home, home_path, is_locked, write_atomically

_OURS: Final = "# Written by `aouo service install`, which writes it anew."


@dataclass(frozen=True, slots=True)
class _Service:
    """The service of one home: its name and the file that describes it."""

    home: Home
    name: str
    file: Path

    @property
    def command(self) -> tuple[str, ...]:
        return (sys.executable, "-P", "-m", "aouo", "--home", str(self.home.path), "start")


class _Systemd(_Service):
    """A unit of the user's own manager."""

    def text(self) -> bytes:
        unit = Path(__file__).with_name("aouo.service").read_text("utf-8")
        return unit.format(
            ours=_OURS,
            home=str(self.home.path).replace("%", "%%"),
            command=" ".join(_quoted(word) for word in self.command),
        ).encode()

    def install(self) -> None:
        _run("systemctl", "--user", "daemon-reload")
        _run("systemctl", "--user", "enable", f"{self.name}.service")
        _run("systemctl", "--user", "restart", f"{self.name}.service")
        click.echo(f"{self.name} runs, and begins again with each log-in and after a crash.")
        who = getpass.getuser()
        told = _run("loginctl", "show-user", who, "-p", "Linger", "--value", fails=False)
        if told.strip() != "yes":
            click.echo(
                f"It ends when {who} logs out, and does not begin with the machine. "
                "For both: loginctl enable-linger"
            )

    def uninstall(self) -> None:
        _run("systemctl", "--user", "disable", "--now", f"{self.name}.service")
        self.file.unlink()
        _run("systemctl", "--user", "daemon-reload")

    def status(self) -> tuple[str, ...]:
        return ("systemctl", "--user", "--no-pager", "status", f"{self.name}.service")

    def logs(self) -> tuple[str, ...]:
        return ("journalctl", "--user", "--no-pager", "-n", "100", "-u", f"{self.name}.service")


class _Launchd(_Service):
    """An agent of the user's session on a Mac."""

    def text(self) -> bytes:
        log = str(self.home.logs / "service.log")
        return plistlib.dumps(
            {
                "Label": self.name,
                "ProgramArguments": list(self.command),
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": 30,
                "StandardErrorPath": log,
            }
        )

    def install(self) -> None:
        _run("launchctl", "bootout", f"{_domain()}/{self.name}", fails=False)
        _run("launchctl", "bootstrap", _domain(), str(self.file))
        click.echo(f"{self.name} runs, and begins again with each log-in. (Not tried on a Mac.)")

    def uninstall(self) -> None:
        _run("launchctl", "bootout", f"{_domain()}/{self.name}", fails=False)
        self.file.unlink()

    def status(self) -> tuple[str, ...]:
        return ("launchctl", "print", f"{_domain()}/{self.name}")

    def logs(self) -> tuple[str, ...]:
        return ("tail", "-n", "100", str(self.home.logs / "service.log"))


def service_of(home: Home) -> _Systemd | _Launchd | None:
    """Return the service of a home, installed or not; None = nothing here could keep it."""
    usual = home.path == home_path(None, {})
    mark = hashlib.sha256(str(home.path).encode()).hexdigest()[:8]
    name = "aouo" if usual else f"aouo-{mark}"
    if sys.platform == "darwin":
        name = f"org.aouo.{name}"
        return _Launchd(home, name, Path.home() / f"Library/LaunchAgents/{name}.plist")
    if not shutil.which("systemctl"):
        return None
    answer = _run("systemctl", "--user", "is-system-running", fails=False).strip()
    if answer in ("", "offline", "unknown"):
        return None
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return _Systemd(home, name, Path(config) / f"systemd/user/{name}.service")


@click.group()
def service() -> None:
    """Let the system keep the bot running: systemd for the user, or launchd on a Mac."""


@service.command()
def install() -> None:
    """Write the service, start it, and let it begin again by itself."""
    click.echo(f"Wrote {installed(current_home()).file}.")


def installed(home: Home) -> _Systemd | _Launchd:
    """Install the service of a home and start it.

    Raises:
        SetupError: nothing here could keep it, somebody else wrote a service of that name, or the
            bot runs already, or cannot start as it is set up.
    """
    one = _service(home)
    settings = load(home).settings
    if refusals := settings.refusals():
        raise refusals[0]
    there = one.file.exists()
    if there and isinstance(one, _Systemd) and not one.file.read_text().startswith(_OURS):
        raise SetupError(f"{one.file} is there, and not of aouo.", fix="Move it away first.")
    if is_locked(home) and not there:
        raise SetupError("The bot runs already.", fix=f"`{command_for(home)} stop` it first.")
    one.file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(one.file, one.text().decode())
    one.install()
    if named := _of_environment(home):
        click.echo(
            f"note: the service does not have {', '.join(named)} of this terminal's environment. "
            f"Put what it needs into config.json: `{command_for(home)} config set`."
        )
    return one


def _of_environment(home: Home) -> list[str]:
    """The variables of this terminal that the bot would read, and a service has not."""
    from aouo.config.changing import read_tree
    from aouo.config.file import read_text
    from aouo.config.keys import get, overriding, references, usual

    tree = read_tree(home.path)
    filled = [name for path, name in usual(os.environ).items() if not get(tree, path)]
    laid_over = overriding(os.environ).values()
    return sorted({*references(read_text(home.config)), *laid_over, *filled})


@service.command()
def status() -> None:
    """Say how the service is."""
    _show(_there(current_home()).status())


@service.command()
@click.option("-f", "follow", is_flag=True, help="Go on as it grows.")
def logs(follow: bool) -> None:
    """Show what the service wrote."""
    _show((*_there(current_home()).logs(), *(["-f"] if follow else [])))


@service.command()
def uninstall() -> None:
    """End the service and remove it; the home stays."""
    one = _there(current_home())
    one.uninstall()
    click.echo(f"{one.name} is ended and removed. {one.home.path} stays.")


def _service(home: Home) -> _Systemd | _Launchd:
    if one := service_of(home):
        return one
    raise SetupError(
        "There is no systemd of a user here that could keep it running.",
        fix=f"Let your supervisor run `{command_for(home)} start`; docs/operations.md has examples",
    )


def _there(home: Home) -> _Systemd | _Launchd:
    one = _service(home)
    if not one.file.exists():
        fix = f"`{command_for(home)} service install` makes it."
        raise SetupError(f"There is no service for {home.path}.", fix=fix, exit_code=1)
    return one


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _quoted(word: str) -> str:
    """Quote a word of ExecStart: systemd reads `%`, `$`, quotes and backslashes in it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _run(*command: str, fails: bool = True) -> str:
    """Run a command and return what it printed.

    Raises:
        SetupError: it failed, unless that is allowed.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        if not fails:
            return ""
        raise SetupError(f"{' '.join(command)}: {error}.") from error
    if fails and done.returncode:
        why = (done.stderr or done.stdout).strip() or f"exit {done.returncode}"
        raise SetupError(f"{' '.join(command)}: {why}.")
    return done.stdout


def _show(command: tuple[str, ...]) -> None:
    """Let a program write to this terminal, and end as it ends."""
    sys.stdout.flush()
    code = subprocess.run(command, check=False).returncode
    click.get_current_context().exit(code)
