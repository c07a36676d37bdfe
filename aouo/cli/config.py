"""`aouo init` and `config`: make the home, change its configuration, warn of missing prices."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import click

from aouo.cli.context import command_for, current_home, json_option, load, print_json
from aouo.config.changing import ChangedMeanwhile, change, replace_text, version_of
from aouo.config.file import ConfigBroken, dump, parse, read_text
from aouo.config.keys import Tree, get, names_of, nearest, plain, schema
from aouo.config.settings import Settings
from aouo.config.values import NO_BOT_TOKEN, is_token, names_variable
from aouo.facts.errors import SetupError
from aouo.facts.ids import ulid
from aouo.plumbing.home import Home, write_atomically
from aouo.plumbing.redact import Redactor

_MONEY_SECTIONS = (
    *("budgets", "provider", "providers", "openai", "groq", "gemini", "deepseek"),
    *("stt", "tts", "tools"),
)
"""Sections that say what may be asked, and what that may cost."""


def warn_about_missing_prices(
    settings: Settings, changed_keys: Iterable[str] = _MONEY_SECTIONS
) -> None:
    """Print a note for each model or tool without a price, if a budget is set and a key about money
    was changed."""
    budgets = settings.budgets
    limits = (
        *(budgets.daily_usd, budgets.per_person_daily_usd),
        *budgets.per_pack_daily_usd.values(),
    )
    sections = {key.partition(".")[0] for key in changed_keys}
    if not any(limits) or sections.isdisjoint(_MONEY_SECTIONS):
        return
    from aouo.agent.spending.money import UNLESS_SERVED, lacking
    from aouo.app.services import budget_of, paid_for  # heavy, and rarely needed
    from aouo.plumbing.clock import SystemClock

    for one in lacking(paid_for(settings), budget_of(settings, SystemClock()).prices):
        what, fix = one.concern
        but = UNLESS_SERVED if one.measure == "tokens" else ""
        click.echo(f"note: {what}{but}. {fix}")


@click.command()
@click.option("--token", default="", help="The bot token from @BotFather.")
@click.option("--owner", type=int, default=0, help="Your numeric Telegram id.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
def init(token: str, owner: int, yes: bool, as_json: bool) -> None:
    """Make the home and its configuration.

    In a terminal it goes on with the questions of `aouo setup`. Run again, it adds what is missing
    and changes nothing else.
    """
    if token and not is_token(token):
        raise click.BadParameter(NO_BOT_TOKEN, param_hint="--token")
    home = current_home()
    made = [str(path) for path in home.create()]
    fresh = not home.config.exists()
    if fresh:
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
    if fresh and sys.stdin.isatty() and not (yes or token or owner):
        from aouo.cli.setup.verb import setup

        click.get_current_context().invoke(setup)
        return
    for line in _next_steps(home):
        click.echo(line)


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
        steps.append(("setup", "the token, who owns it, a model, apps"))
    elif not telegram.allowed_user_ids:
        steps.append(("setup owner", "who may talk to it"))
    steps += [
        ("pack install notes", "install a pack that comes along"),
        ("doctor", "check everything"),
        ("start", "run the bot"),
        ("try", "try it without Telegram"),
    ]
    width = max(len(step) for step, _ in steps)
    return ["Next:", *(f"  {command_for(home)} {step:<{width}}   {why}" for step, why in steps)]


@click.group()
def config() -> None:
    """Show and change the configuration."""


@config.command("show")
@json_option
def _show(as_json: bool) -> None:
    """Print every key and its value, secrets masked."""
    print_json(_shown(load(current_home()).settings))


@config.command("get")
@click.argument("key")
@json_option
def _get_(key: str, as_json: bool) -> None:
    """Print the value of one KEY or section, secrets masked."""
    value = get(_shown(load(current_home()).settings), key)
    if value is None:
        raise _no_such(key)
    if as_json or not isinstance(value, str):
        print_json(value)
    else:
        click.echo(value)


@config.command("set")
@click.argument("key")
@click.argument("value")
@json_option
def _set_(key: str, value: str, as_json: bool) -> None:
    """Set one KEY to VALUE in config.json.

    Numbers, true, false, lists and objects are written as JSON; a list also as `a,b` or `a`.
    The file is saved only if the whole of it is valid. A running bot takes it up at once.
    """
    if key == "telegram.bot_token" and value and not (names_variable(value) or is_token(value)):
        raise click.BadParameter(NO_BOT_TOKEN, param_hint=key)
    home = current_home()
    home.create()
    typed = _typed(key, value)
    try:
        change(home.path, {names_of(key, typed): typed}, os.environ)
    except ConfigBroken as broken:
        if any(problem.startswith(f"{key}: unknown key") for problem in broken.problems):
            raise _no_such(key) from None
        raise _unchanged(home, broken) from None
    shown = get(_shown(load(home).settings), key)
    if as_json:
        print_json({"key": key, "value": shown})
    else:
        click.echo(f"{key} = {json.dumps(shown, ensure_ascii=False)}")
        warn_about_missing_prices(load(home).settings, [key])


@config.command()
def edit() -> None:
    """Open a copy of config.json in $EDITOR and save it if it is valid."""
    home = current_home()
    home.create()
    version = version_of(home.path)  # first: what changes from here on is seen
    before = read_text(home.config) or dump({})
    draft = home.run / f"config.draft.{ulid()}.json"
    write_atomically(draft, before)
    try:
        text = _edited(home, draft, before)
        if text == before:
            click.echo("Nothing was changed.")
        else:
            replace_text(home.path, text, version)
            click.echo(f"Saved {home.config}.")
            warn_about_missing_prices(load(home).settings)
    except ChangedMeanwhile:
        kept = home.path / draft.name
        draft.replace(kept)
        raise SetupError(
            f"{home.config} was changed by somebody else while you edited it, and stays so.",
            fix=f"Your text is in {kept}: take over what you need with `aouo config edit`.",
        ) from None
    finally:
        draft.unlink(missing_ok=True)


def _edited(home: Home, draft: Path, before: str) -> str:
    """Return the draft as the person left it, once it is valid or as it was `before`."""
    while True:
        click.edit(filename=str(draft))
        text = read_text(draft)
        if text == before:
            return text
        try:
            parse(text, os.environ, home.config)
        except ConfigBroken as broken:
            for problem in broken.problems:
                click.echo(problem, err=True)
            if not sys.stdin.isatty() or not click.confirm("Edit again?"):
                raise _unchanged(home, broken) from None
        else:
            return text


@config.command("schema")
def _schema_() -> None:
    """Print the JSON Schema of config.json."""
    print_json(schema())


@config.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True))
@json_option
def validate(file: Path | None, as_json: bool) -> None:
    """Check FILE (default: the home's config.json) and print every problem."""
    file = file or current_home().config
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    try:
        notes = parse(read_text(file), os.environ, file).notes
    except ConfigBroken as broken:
        problems = broken.problems
    if as_json:
        print_json({"ok": not problems, "file": str(file), "problems": problems, "notes": notes})
    else:
        for problem in problems:
            click.echo(problem, err=True)
        for note in notes:
            click.echo(f"note: {note}")
        if not problems:
            there = f"{file} is valid." if file.exists() else f"There is no {file}: defaults hold."
            click.echo(there)
    if problems:
        click.get_current_context().exit(ConfigBroken.exit_code)


def _shown(settings: Settings) -> Tree:
    """Return every key with secrets masked, also those inside addresses."""
    shown = plain(settings, masked=True)
    return cast("Tree", Redactor(settings.secrets()).value(shown))


def _typed(key: str, value: str) -> object:
    """Return VALUE in the type of KEY.

    A text stays text even if it looks like a number, and may be a JSON string: `""` is empty.
    """
    default = get(plain(Settings()), key)
    if isinstance(default, str) and not (len(value) > 1 and value[0] == value[-1] == '"'):
        return value
    try:
        typed: object = json.loads(value)
    except (ValueError, RecursionError):
        if isinstance(default, list):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value
    alone = isinstance(default, list) and type(typed) in (int, float, str, dict)
    return [typed] if alone else typed


def _no_such(key: str) -> click.UsageError:
    close = nearest(key)
    return click.UsageError(
        f"There is no key {key}." + (f" Did you mean {close}?" if close else "")
    )


def _unchanged(home: Home, broken: ConfigBroken) -> SetupError:
    problems = "; ".join(broken.problems)
    return SetupError(f"{problems}.", fix=f"{home.config} is unchanged.")
