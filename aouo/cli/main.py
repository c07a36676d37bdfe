"""The `aouo` command: which verbs there are, `--home` for each, and what an error looks like."""

from __future__ import annotations

import importlib
from typing import NamedTuple, cast

import click

from aouo import __version__
from aouo.errors import SetupError


class Verb(NamedTuple):
    """Where a verb lives, `module:attribute`, and its line in `--help`."""

    place: str
    help: str


VERBS = {
    "init": Verb("aouo.cli.init:init", "Make the home and its configuration."),
    "start": Verb("aouo.cli.start:start", "Run the bot in the foreground."),
    "stop": Verb("aouo.cli.stop:stop", "Let the running bot finish and end."),
    "restart": Verb("aouo.cli.restart:restart", "Let the running bot finish and begin anew."),
    "status": Verb("aouo.cli.status:status", "Say how the running bot is."),
    "logs": Verb("aouo.cli.logs:logs", "Show the log, with -f as it grows."),
    "usage": Verb("aouo.cli.usage:usage", "Show what was used, in tokens and money."),
    "session": Verb("aouo.cli.session:session", "List sessions, and show what was said."),
    "trace": Verb("aouo.cli.trace:trace", "Show how one turn went, step by step."),
    "doctor": Verb("aouo.cli.doctor:doctor", "Check everything the bot needs."),
    "config": Verb("aouo.cli.config:config", "Show and change the configuration."),
    "pack": Verb("aouo.cli.pack:pack", "List, check, test and link packs."),
    "cron": Verb("aouo.cli.cron:cron", "List schedules, and switch them off and on."),
    "try": Verb("aouo.cli.try_:try_", "Try it here, without account, key or network."),
    "chat": Verb("aouo.cli.chat:chat", "Talk to a pack in this terminal."),
    "dev": Verb("aouo.cli.dev:dev", "Chat with a pack that you are writing."),
}


class Verbs(click.Group):
    """Imports a verb when it is asked for; `--help` needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        module, _, attribute = verb.place.partition(":")
        command = cast("click.Command", getattr(importlib.import_module(module), attribute))
        _take_home(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in VERBS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb; what the owner has to mend is one line on stderr and an exit code."""
        try:
            return super().invoke(ctx)
        except SetupError as error:
            click.echo(" ".join(str(error).splitlines()), err=True)
            ctx.exit(error.exit_code)


def _home_option() -> click.Option:
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
    """Let a verb and all below it take `--home`."""
    if not any(parameter.name == "home" for parameter in command.params):
        command.params.append(_home_option())
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _take_home(below)


aouo = Verbs(
    name="aouo",
    help="Telegram as a place where people install apps.",
    params=[_home_option()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, prog_name="aouo", message="%(prog)s %(version)s")(aouo)
