"""`aouo setup`: from nothing to a bot that answers, in questions that can be left and taken up."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final, TypeAlias

import click

from aouo.cli.context import command_for, current_home, load
from aouo.cli.setup import bot
from aouo.config.changing import change
from aouo.config.settings import Settings
from aouo.config.values import NO_BOT_TOKEN, is_token
from aouo.facts.errors import SetupError
from aouo.facts.ports import NO_MODEL
from aouo.plumbing.home import Home, is_locked

_Part: TypeAlias = Callable[[Home, Settings], str]
"""Asks for one part, and returns what came of it in words; "" = it was answered with no."""


@click.command()
@click.argument("part", required=False)
@click.option("--from-env", is_flag=True, help="Ask nothing: take all from the environment.")
def setup(part: str | None, from_env: bool) -> None:
    """Set the bot up: its token, who owns it, a model, apps, and what keeps it running.

    Each answer is tried at once and kept before the next question; left in the middle, it goes on
    there. PART is one of telegram, owner, model, packs and service, to change that alone.

    --from-env is for scripts: TELEGRAM_BOT_TOKEN, TELEGRAM_OWNER_ID and the key of one service
    (GROQ_API_KEY, OPENAI_API_KEY, …); what is not set stays as it is.
    """
    home = current_home()
    if part and part not in _PARTS:
        raise click.UsageError(f"There is no part {part}: choose one of {', '.join(_PARTS)}.")
    if not from_env and not sys.stdin.isatty():
        raise click.UsageError("It asks questions and needs a terminal; scripts take --from-env.")
    begin(home)
    if from_env:
        _take(home)
        return
    try:
        for name in [part] if part else _PARTS:
            _through(home, name, again=bool(part))
    except click.Abort:
        click.echo(f"\nWhat was answered is kept; `{command_for(home)} setup` goes on there.")
        click.get_current_context().exit(1)
    if not part:
        _end(home)


def begin(home: Home) -> bool:
    """Make the home and its configuration where they are missing; tell whether it was."""
    from aouo.config.file import save
    from aouo.config.keys import sample

    home.create()
    if fresh := not home.config.exists():
        save(home.path, sample(), os.environ)
    return fresh


def _through(home: Home, name: str, *, again: bool) -> None:
    settings = load(home).settings
    asks, there = _PARTS[name]
    found = there(home, settings)
    if not found and name in bot.remembered(home):
        found = "no"
    if not found or again:
        click.echo()
        found = asks(home, settings)
        bot.remember(home, **{name: True})
    click.echo(f"✓ {name:<8} {found or 'no'}")


def _end(home: Home) -> None:
    click.echo(f"\nTo change one of it: `{command_for(home)} setup PART`.")
    if is_locked(home) or not load(home).settings.telegram.bot_token.get_secret_value():
        click.echo(f"To see that all is well: `{command_for(home)} doctor`.")
    elif click.confirm("Start it now, in this terminal, until Ctrl-C?", default=True):
        from aouo.cli.start import start

        click.get_current_context().invoke(start)


def _token(home: Home, settings: Settings) -> str:
    click.echo("Write /newbot to @BotFather in Telegram: it hands you a token.")
    while True:
        token = str(click.prompt("Token (it is not shown)", hide_input=True)).strip()
        if not is_token(token):
            click.echo(NO_BOT_TOKEN, err=True)
        elif name := _tried(home, settings, token):
            return name


def _there_token(home: Home, settings: Settings) -> str:
    from aouo.cli.doctoring import parts

    if not settings.telegram.enabled:
        return "off: only the local page is used"
    if not settings.telegram.bot_token.get_secret_value():
        return ""
    found = parts.telegram(settings)
    if found.status == "fail":
        click.echo(found.line)
    return "" if "refuses the token" in found.detail else found.detail.partition(";")[0]


def _tried(home: Home, settings: Settings, token: str) -> str:
    """Keep a token that Telegram takes, and return the bot's name; else say why, and return ""."""
    from pydantic import SecretStr

    from aouo.cli.doctoring import parts

    wanted = settings.telegram.model_copy(update={"bot_token": SecretStr(token)})
    tried = settings.model_copy(update={"telegram": wanted})
    found = parts.telegram(tried)
    if found.status == "fail":
        click.echo(found.line, err=True)
        return ""
    if not is_locked(home) and (other := bot.reader(tried)):
        click.echo(f"note: {other}")
    change(home.path, {("telegram", "bot_token"): token}, os.environ)
    return found.detail.partition(";")[0]


def _owner(home: Home, settings: Settings) -> str:
    person: int | None = None
    if is_locked(home):
        click.echo(f"The bot runs, and reads your tap itself: `{command_for(home)} stop` first.")
    elif (name := _there_token(home, settings)).startswith("@"):
        person = _paired(home, settings, name.removeprefix("@"))
    if person is None:
        person = click.prompt("Your numeric Telegram id (the bot tells it on /id)", type=int)
    own(home, settings, person)
    bot.remember(home, code="")
    return f"id {person}"


def own(home: Home, settings: Settings, person: int) -> None:
    """Make somebody the owner; who else is let in stays so."""
    others = [one for one in settings.telegram.allowed_user_ids if one != person]
    changes: dict[tuple[str, ...], object] = {("telegram", "allowed_user_ids"): [person, *others]}
    if settings.telegram.owner_id:
        changes["telegram", "owner_id"] = person
    change(home.path, changes, os.environ)


def _paired(home: Home, settings: Settings, name: str) -> int | None:
    """Wait for the tap on a link, and return whose it is; None = it has to be typed."""
    import segno

    while True:
        url, made_at = bot.link(home, name)
        segno.make(url, error="l").terminal(sys.stdout, compact=True, border=1)
        click.echo(f"Open this on your phone, and tap Start:\n  {url}")
        click.echo("It is valid for a day. Ctrl-C: type your id instead.")
        try:
            found = bot.tapped(settings, url, made_at)
        except KeyboardInterrupt:
            click.echo()
            return None
        if isinstance(found, str):
            click.echo(found)
            return None
        who = f"{found.name} ({found.person})"
        if click.confirm(f"{who} tapped it. Make them the owner?", default=True):
            bot.greet(settings, found.person)
            return found.person
        bot.remember(home, code="")


def _there_owner(home: Home, settings: Settings) -> str:
    if not settings.telegram.enabled:
        return "you, on the local page"
    return f"id {settings.telegram.owner}" if settings.telegram.owner else ""


def _model(home: Home, settings: Settings) -> str:
    from aouo.cli.setup import model

    return model.ask(home, settings)


def _there_model(home: Home, settings: Settings) -> str:
    backend = settings.provider.backend
    return "" if backend == NO_MODEL else f"{backend} {settings.provider.model}".strip()


def _packs(home: Home, settings: Settings) -> str:
    from aouo.cli.packs.install import install_all
    from aouo.flow.handlers.installing import abouts
    from aouo.installer.installed import sample_packs

    along = {folder.name: folder for folder in sample_packs()}
    click.echo("These apps come along:")
    for name, about in abouts(along, "en").items():
        click.echo(f"  {name:<9} {about}")
    while True:
        words = click.prompt("Which do you want? (- = none)", default="remind, notes")
        wanted = [word for word in words.replace(",", " ").split() if word != "-"]
        if unknown := [word for word in wanted if word not in along]:
            click.echo(f"There is no {', '.join(unknown)}.", err=True)
            continue
        install_all([str(along[name]) for name in wanted])
        return _there_packs(home, settings)


def _there_packs(home: Home, settings: Settings) -> str:
    from aouo.installer.installed import scan_at_rest

    return ", ".join(scan_at_rest(home, settings.packs, settings.tools.enabled).names)


def _service(home: Home, settings: Settings) -> str:
    from aouo.cli.service import installed, service_of

    if not service_of(home):
        click.echo("Nothing here could keep it running by itself (there is no systemd of a user).")
        return ""
    if settings.refusals() or not click.confirm(
        "Keep it running, and begin it again after a crash and a log-in?", default=True
    ):
        return ""
    return installed(home).name


def _there_service(home: Home, settings: Settings) -> str:
    del settings
    from aouo.cli.service import service_of

    one = service_of(home)
    return one.name if one and one.file.exists() else ""


def _take(home: Home) -> None:
    """Take over what the environment says, each part tried as an answer is.

    Raises:
        SetupError: a part was refused; those before it are kept.
    """
    from aouo.cli.setup import model

    settings = load(home).settings
    if token := os.environ.get("TELEGRAM_BOT_TOKEN", "").strip():
        if not is_token(token) or not _tried(home, settings, token):
            raise SetupError("The token is not taken.", fix="Set TELEGRAM_BOT_TOKEN.")
        click.echo("✓ telegram")
    if owner := os.environ.get("TELEGRAM_OWNER_ID", "").strip():
        if not owner.isdecimal():
            raise SetupError("No Telegram id is in it.", fix="Set TELEGRAM_OWNER_ID to a number.")
        own(home, load(home).settings, int(owner))
        click.echo("✓ owner")
    keys = ((one, os.environ.get(one.variable, "").strip()) for one in model.SERVICES)
    if found := next(((one, key) for one, key in keys if key), None):
        if not model.keep(home, model.of_service(*found), insist=lambda: False):
            raise SetupError("No model answers.", fix=f"Look at {found[0].variable}.")
        click.echo(f"✓ model    {found[0].name}")


_PARTS: Final[dict[str, tuple[_Part, _Part]]] = {
    "telegram": (_token, _there_token),
    "owner": (_owner, _there_owner),
    "model": (_model, _there_model),
    "packs": (_packs, _there_packs),
    "service": (_service, _there_service),
}
"""How each part is asked for, and what there is of it, "" = nothing."""
