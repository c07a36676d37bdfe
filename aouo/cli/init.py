"""`aouo init`: makes the home and its configuration, and never changes existing files."""

from __future__ import annotations

import os
import sys

import click

from aouo.cli.context import command_for, current_home, json_option, load, print_json
from aouo.config.tokens import NO_BOT_TOKEN, is_token
from aouo.plumbing.home import Home


@click.command()
@click.option("--token", default="", help="The bot token from @BotFather.")
@click.option("--owner", type=int, default=0, help="Your numeric Telegram id.")
@json_option
def init(token: str, owner: int, as_json: bool) -> None:
    """Make the home and its configuration.

    Asks for what is missing when run in a terminal. Run again, it adds what is missing and
    changes nothing else.
    """
    if token and not is_token(token):
        raise click.BadParameter(NO_BOT_TOKEN, param_hint="--token")
    home = current_home()
    made = [str(path) for path in home.create()]
    fresh = not home.config.exists()
    if fresh:
        if not as_json and sys.stdin.isatty():
            token, owner = token or _ask_token(), owner or _ask_owner()
        _write_config(home, token, owner)
        made.append(str(home.config))
    if as_json:
        print_json({"home": str(home.path), "created": made, "config_written": fresh})
        return
    click.echo(f"The home is {home.path}" + ("" if made else "; nothing was missing") + ".")
    if not fresh and (token or owner):
        click.echo(
            f"{home.config.name} was there and is unchanged; "
            f"use `{command_for(home)} config set telegram.bot_token …` or "
            f"`{command_for(home)} config edit`.",
            err=True,
        )
    for line in _next_steps(home):
        click.echo(line)


def _ask_token() -> str:
    while True:
        answer = str(
            click.prompt(
                "Bot token from @BotFather (empty = later)",
                default="",
                show_default=False,
                hide_input=True,
            )
        ).strip()
        if not answer or is_token(answer):
            return answer
        click.echo(NO_BOT_TOKEN, err=True)


def _ask_owner() -> int:
    return int(
        click.prompt(
            "Your numeric Telegram id (0 = later; the bot tells it on /id)", default=0, type=int
        )
    )


def _write_config(home: Home, token: str, owner: int) -> None:
    from aouo.config.file import save
    from aouo.config.keys import put, sample

    tree = sample()
    put(tree, "telegram.bot_token", token)
    put(tree, "telegram.allowed_user_ids", [owner] if owner else [])
    save(home.path, tree, os.environ)


def _next_steps(home: Home) -> list[str]:
    telegram = load(home).settings.telegram
    steps: list[tuple[str, str]] = []
    if not telegram.enabled:
        pass  # nothing of Telegram is needed
    elif not telegram.bot_token.get_secret_value():
        steps.append(("config set telegram.bot_token …", "the token from @BotFather"))
    elif not telegram.allowed_user_ids:
        steps.append(("config set telegram.allowed_user_ids …", "your id; the bot tells it on /id"))
    steps += [
        ("pack install notes", "install a pack that comes along"),
        ("doctor", "check everything"),
        ("start", "run the bot"),
        ("try", "try it without Telegram"),
    ]
    width = max(len(step) for step, _ in steps)
    return ["Next:", *(f"  {command_for(home)} {step:<{width}}   {why}" for step, why in steps)]
