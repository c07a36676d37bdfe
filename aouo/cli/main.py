"""The `aouo` command with its verbs, each imported when it runs."""

from __future__ import annotations

import errno
import importlib
import os
from collections.abc import Mapping
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


def home_option() -> click.Option:
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
        command.params.append(home_option())
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _take_home(below)


pack = Verbs(
    {
        "new": ("aouo.cli.packs.install:new", "Begin a pack that works, to be changed."),
        "validate": ("aouo.cli.packs.info:validate", "Check a pack, strictly."),
        "install": ("aouo.cli.packs.install:install", "Install a pack: shows what it may do."),
        "upgrade": ("aouo.cli.packs.install:upgrade", "Show what is different, and take it."),
        "uninstall": ("aouo.cli.packs.install:uninstall", "Remove a pack; its data stays."),
        "link": ("aouo.cli.packs.info:link_", "Install a pack where it lies, to work on it."),
        "list": ("aouo.cli.packs.info:list_", "List the installed packs."),
        "info": ("aouo.cli.packs.info:info", "Say what a pack is, may do and brings."),
        "permissions": ("aouo.cli.packs.info:permissions", "Say what a pack may do."),
        "set": ("aouo.cli.packs.info:set_", "Set a setting or a secret of a pack."),
        "test": ("aouo.cli.packs.test:test", "Run a pack's evals here."),
        "schema": ("aouo.cli.packs.install:schema", "Print the JSON Schema of pack.yml."),
        "export": ("aouo.cli.packs.export:export", "Write a pack to one file, to share it."),
        "sign": ("aouo.cli.packs.test:sign", "Sign a pack with your key."),
        "keygen": ("aouo.cli.packs.test:keygen", "Make a key to sign packs with."),
    },
    name="pack",
    help="Make, install, check and share packs.",
)


_VERBS = {
    "setup": ("aouo.cli.setup.verb:setup", "Set the bot up, question by question."),
    "init": ("aouo.cli.config:init", "Make the home and its configuration."),
    "start": ("aouo.cli.start:start", "Run the bot in the foreground."),
    "service": ("aouo.cli.service:service", "Let the system keep the bot running."),
    "stop": ("aouo.cli.running:stop", "Let the running bot finish and end."),
    "restart": ("aouo.cli.running:restart", "Let the running bot finish and begin anew."),
    "reload": ("aouo.cli.running:reload", "Let the running bot take up config.json and packs now."),
    "status": ("aouo.cli.status:status", "Say how the running bot is."),
    "logs": ("aouo.cli.trace:logs", "Show the log, with -f as it grows."),
    "usage": ("aouo.cli.session:usage", "Show what was used, in tokens and money."),
    "backup": ("aouo.cli.backup:backup", "Write all that this home keeps to one file."),
    "restore": ("aouo.cli.backup:restore", "Let this home be what it was then."),
    "update": ("aouo.cli.update:update", "Say what is new, and how to take it over."),
    "dashboard": ("aouo.cli.status:dashboard", "Print the link to the local page."),
    "session": ("aouo.cli.session:session", "List sessions, and show what was said."),
    "trace": ("aouo.cli.trace:trace", "Show how one turn went, step by step."),
    "doctor": ("aouo.cli.doctor:doctor", "Check everything the bot needs."),
    "models": ("aouo.cli.models:models", "List the configured models, and test them."),
    "config": ("aouo.cli.config:config", "Show and change the configuration."),
    "pack": ("aouo.cli.main:pack", "Make, install, check and share packs."),
    "cron": ("aouo.cli.cron:cron", "Make, list, change, run and remove schedules."),
    "try": ("aouo.cli.talk:try_", "Try it here, without account, key or network."),
    "people": ("aouo.cli.talk:people", "Say who is let in; let in, put out, forget."),
    "undo": ("aouo.cli.talk:undo", "List what was changed last; put it back."),
    "audit": ("aouo.cli.audit:audit", "List, check and export what became of tool calls."),
    "guard": ("aouo.cli.audit:guard", "Say what decided about a tool call; check the policy."),
    "grants": ("aouo.cli.talk:grants", "List what is allowed for good; take it back."),
    "ask": ("aouo.cli.talk:ask", "Say something here, and print the answer."),
    "chat": ("aouo.cli.talk:chat", "Talk to a pack in this terminal."),
    "dev": ("aouo.cli.talk:dev", "Chat with a pack that you are writing."),
}


aouo = Verbs(
    _VERBS,
    name="aouo",
    help="Telegram as a place where people install apps.",
    params=[home_option()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, prog_name="aouo", message="%(prog)s %(version)s")(aouo)
