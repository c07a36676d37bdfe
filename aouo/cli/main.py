"""The `aouo` command with its verbs."""

from __future__ import annotations

import click

from aouo import __version__
from aouo.cli.verbs import Verbs, home_option

VERBS = {
    "init": ("aouo.cli.init:init", "Make the home and its configuration."),
    "start": ("aouo.cli.start:start", "Run the bot in the foreground."),
    "stop": ("aouo.cli.stop:stop", "Let the running bot finish and end."),
    "restart": ("aouo.cli.restart:restart", "Let the running bot finish and begin anew."),
    "reload": ("aouo.cli.reload:reload", "Let the running bot take up config.json and packs now."),
    "status": ("aouo.cli.status:status", "Say how the running bot is."),
    "logs": ("aouo.cli.logs:logs", "Show the log, with -f as it grows."),
    "usage": ("aouo.cli.usage:usage", "Show what was used, in tokens and money."),
    "dashboard": ("aouo.cli.dashboard:dashboard", "Print the link to the local page."),
    "session": ("aouo.cli.session:session", "List sessions, and show what was said."),
    "trace": ("aouo.cli.trace:trace", "Show how one turn went, step by step."),
    "doctor": ("aouo.cli.doctor:doctor", "Check everything the bot needs."),
    "models": ("aouo.cli.models:models", "List the configured models, and test them."),
    "config": ("aouo.cli.config:config", "Show and change the configuration."),
    "pack": ("aouo.cli.pack:pack", "Make, install, check, share and back up packs."),
    "cron": ("aouo.cli.cron:cron", "Make, list, change, run and remove schedules."),
    "try": ("aouo.cli.try_:try_", "Try it here, without account, key or network."),
    "chat": ("aouo.cli.chat:chat", "Talk to a pack in this terminal."),
    "dev": ("aouo.cli.dev:dev", "Chat with a pack that you are writing."),
}


aouo = Verbs(
    VERBS,
    name="aouo",
    help="Telegram as a place where people install apps.",
    params=[home_option()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, prog_name="aouo", message="%(prog)s %(version)s")(aouo)
