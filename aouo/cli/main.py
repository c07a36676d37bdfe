"""The `aouo` command with its verbs, each imported when it runs."""

from __future__ import annotations

import errno
import importlib
import json
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import click

from aouo import __version__
from aouo.facts.errors import SetupError


class Verbs(click.Group):
    """A group that imports a verb when it runs, and reports its `SetupError`.

    `--help` imports none. `verbs` are places, `module:attribute`, and lines in `--help`.
    """

    def __init__(self, verbs: Mapping[str, tuple[str, str]], **how: Any) -> None:
        super().__init__(**how)
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = self._verbs.get(cmd_name)
        if verb is None:
            return None
        module, _, attribute = verb[0].partition(":")
        command = cast("click.Command", getattr(importlib.import_module(module), attribute))
        _take_home(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._verbs.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._verbs and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], self._verbs, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb; a `SetupError` becomes a line on stderr and an exit code.

        What there is to write, such as the lines of a migration, stands below it.
        """
        try:
            return super().invoke(ctx)
        except SetupError as error:
            problem = " ".join(error.problem.splitlines())
            click.echo(f"{problem} {error.fix}".strip(), err=True)
            ctx.exit(error.exit_code)
        except OSError as error:  # of a file; the other end of a pipe is click's
            if error.filename is None and error.errno != errno.ENOSPC:
                raise
            where = os.fsdecode(error.filename) if error.filename else "The disk of the home"
            click.echo(f"{where}: {error.strerror}.", err=True)
            ctx.exit(3)
        except sqlite3.Error as error:
            click.echo(
                f"A database of the home cannot be used: {error}. See aouo doctor.", err=True
            )
            ctx.exit(3)


def _home_option() -> click.Option:
    """Return the option `--home`, which stands before or after a verb."""
    return click.Option(
        ["--home"],
        metavar="DIR",
        expose_value=False,
        callback=_remember_home,
        help="The bot's folder.  [default: $AOUO_HOME or ~/.aouo]",
    )


def _remember_home(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.find_root().obj = value


def _take_home(command: click.Command) -> None:
    """Add `--home` to a verb and to all verbs below it."""
    if not any(parameter.name == "home" for parameter in command.params):
        command.params.append(_home_option())
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _take_home(below)


_VERBS: Mapping[str, Mapping[str, tuple[str, str]]] = json.loads(
    Path(__file__).with_name("verbs.json").read_text("utf-8")
)
pack = Verbs(_VERBS["pack"], name="pack", help="Make, install, check and share packs.")
aouo = Verbs(
    _VERBS["aouo"],
    name="aouo",
    help="Telegram as a place where people install apps.",
    params=[_home_option()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, prog_name="aouo", message="%(prog)s %(version)s")(aouo)
