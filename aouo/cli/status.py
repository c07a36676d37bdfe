"""`aouo status` and `dashboard`: print the running bot's state, and the link to its page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import cast

import click

from aouo.cli.context import current_home, json_option, load, print_json
from aouo.cli.packs.info import RELOAD, unread
from aouo.facts.errors import SetupError
from aouo.plumbing.client import NotRunning, ask
from aouo.plumbing.control import Facts
from aouo.plumbing.home import is_locked, running_pid
from aouo.plumbing.logs import get_logger


@click.command()
@click.option("--health", is_flag=True, help="Only whether it is well; exit 1 when it is not.")
@json_option
def status(as_json: bool, health: bool) -> None:
    """Say how the running bot is; exit 1 when none runs."""
    home = current_home()
    try:
        facts = ask(home, "health" if health else "status")
    except NotRunning:
        busy = is_locked(home)
        if as_json:
            print_json({"running": False, "locked": busy, "home": str(home.path)})
            click.get_current_context().exit(1)
        if busy:
            click.echo(
                f"aouo (pid {running_pid(home)}) holds {home.path} but does not answer (yet).",
                err=True,
            )
            click.get_current_context().exit(1)
        raise
    if health:
        _show_health(facts["health"], as_json)
        return
    facts["unread_packs"] = unread(home)
    if as_json:
        print_json({"running": True, **facts})
        return
    for line in _lines(facts):
        click.echo(line)


def _show_health(facts: Facts, as_json: bool) -> None:
    well = bool(facts.pop("ok"))
    if as_json:
        print_json({"ok": well, **facts})
    else:
        click.echo("aouo is well" if well else "aouo is not well")
        for line in _facts_in(facts):
            click.echo(line)
    click.get_current_context().exit(0 if well else 1)


def _lines(facts: Facts) -> Iterator[str]:
    yield (
        f"aouo is running: pid {facts.get('pid', '?')}, since {_moment(facts.get('since', '?'))}, "
        f"up {_duration(float(facts.get('uptime_s', 0)))}"
    )
    known = {"pid", "since", "uptime_s"}
    yield from _facts_in({name: value for name, value in facts.items() if name not in known})


def _facts_in(facts: Facts) -> Iterator[str]:
    """Return a line for each fact that says something."""
    for name, value in facts.items():
        if value in (None, "", [], {}):
            continue
        if several := _several(value):
            for each, one in enumerate(several):
                yield f"  {'' if each else name.replace('_', ' '):<10} {one}"
        elif name.endswith("_s"):
            yield f"  {name.removesuffix('_s').replace('_', ' '):<10} {_unit(name, value)}"
        else:
            yield f"  {name.replace('_', ' '):<10} {_spell(name, value)}"


def _several(value: object) -> list[str]:
    """Return what takes a line each: sentences, facts of several things; [] = one line has room."""
    match value:
        case list():
            items = [_spell("", item) for item in cast("list[object]", value)]
            return items if any(" " in item for item in items) else []
        case dict():
            named = cast("Facts", value)
            if not all(isinstance(items, list) for items in named.values()):
                return []
            return [f"{name}: {_spell('', one)}" for name, items in named.items() for one in items]
        case _:
            return []


def _spell(name: str, value: object) -> str:
    match value:
        case dict():
            fields = cast("Facts", value)
            if name == "config":
                return _spell_config(fields)
            if name == "unread_packs":
                told = "; ".join(f"{pack}: {why}" for pack, why in fields.items())
                return f"{told}. {RELOAD}"
            if name == "mcp":
                return "; ".join(_spell_server(*item) for item in fields.items())
            shown = (
                f"{key.removesuffix('_s').replace('_', ' ')} {_unit(key, item)}"
                for key, item in fields.items()
                if item not in (None, "", [], {})
            )
            return ", ".join(shown)
        case list():
            items = cast("list[object]", value)
            return ", ".join(_spell("", item) for item in items)
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


def _unit(key: str, value: object) -> str:
    if key.endswith("_s") and isinstance(value, int | float):
        return f"{_duration(float(value))} ago" if key.startswith("last_") else f"{value:g} s"
    if key.endswith("_until") and isinstance(value, str):
        return _moment(datetime.fromisoformat(value).timestamp())
    if key.endswith("_tokens") and isinstance(value, int):
        return f"{value:,}"
    return _spell("", value)


def _spell_config(fields: Facts) -> str:
    problems = "; ".join(map(str, fields.get("problems") or ()))
    later = ", ".join(map(str, fields.get("after_restart") or ()))
    state = f"BROKEN, the last good one is in force: {problems}" if problems else "good"
    return f"{state}; after a restart: {later}" if later else state


def _spell_server(group: str, facts: object) -> str:
    """Return a server's state: `hub: up, 8 tools`, or why it is not up."""
    fields = cast("Facts", facts)
    more = f"{fields['tools']} tools" if fields["state"] == "up" else fields.get("why", "")
    return f"{group.removeprefix('mcp:')}: {fields['state']}{f', {more}' if more else ''}"


def _moment(since: object) -> str:
    """Return a Unix time in the machine's zone; text unchanged."""
    if isinstance(since, int | float):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since))
    return str(since)


def _duration(seconds: float) -> str:
    """Return a duration in its two largest units."""
    whole = int(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {whole % 60} s"
    return f"{whole} s"


@click.command()
@json_option
def dashboard(as_json: bool) -> None:
    """Print the link to the local page: what is done, what it costs, and a chat.

    The running bot serves it. While none runs, this command does, read only, until Ctrl-C.
    """
    home = current_home()

    def show(state: str) -> None:
        if not state.startswith("http"):
            raise SetupError(
                f"There is no dashboard: {state}.", fix="See `dashboard` in config.json."
            )
        if as_json:
            print_json({"link": state})
        else:
            click.echo(state)

    try:
        show(str(ask(home, "status").get("dashboard", "off")))
    except NotRunning:
        if is_locked(home) or not home.database.exists():
            raise
        loaded = load(home)
        get_logger()  # until then what is logged would be printed beside the link

        from aouo.dashboard.listening import show_at_rest

        click.echo("No bot runs. This shows what is stored, read only, until Ctrl-C.", err=True)
        with suppress(KeyboardInterrupt):
            asyncio.run(show_at_rest(home, loaded, show))
