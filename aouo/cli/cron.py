"""`aouo cron`: makes, lists, changes, runs and removes schedules."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import get_args

import click

from aouo.cli.asking import asked
from aouo.cli.context import NotThere, current_home, json_option, load, print_json
from aouo.commands.scheduling import HISTORY, line_of, made_of, past_of
from aouo.config.settings import Settings
from aouo.facts.errors import SetupError
from aouo.facts.work import Misfire, Scheduled
from aouo.outbound.wording.schedules import (
    ALL_OFF,
    made,
    next_times,
    past_run,
    past_state,
    state,
)
from aouo.plumbing.home import is_locked
from aouo.store import schedule_runs, schedules
from aouo.store.reading import reading
from aouo.triggers.scheduling import ZoneOf
from aouo.triggers.ticking import name_of


@click.group()
def cron() -> None:
    """Make, list, change, run and remove schedules."""


@cron.command("list")
@click.option("--all", "every", is_flag=True, help="Also those that are over or off.")
@json_option
def list_(every: bool, as_json: bool) -> None:
    """List the schedules of all packs and conversations."""
    found = [row for row in _all() if every or as_json or row.paused not in ("over", "proposed")]
    settings = _settings()
    if as_json:
        runs = settings.cron.enabled and is_locked(current_home())
        print_json({"running": runs, "schedules": [asdict(row) for row in found]})
        return
    zones = _zones(settings)
    for row in found:
        line = line_of(row, zones)
        last = f"  last {past_state(line.last_state)}" if line.last_state else ""
        click.echo(
            f"{row.id}  {row.pack or '–':<12} {line.name:<20} {line.when}  {state(line)}{last}  "
            f"{row.address}"
        )
    hidden = len(_all()) - len(found)
    if hidden:
        click.echo(f"{hidden} more {'is' if hidden == 1 else 'are'} off or over: --all")
    elif not found:
        click.echo("There are no schedules.")
    _say_if_off(settings)


@cron.command()
@click.argument("schedule", metavar="SCHEDULE")
@click.argument("prompt", metavar="PROMPT")
@click.option("--chat", metavar="ID", help="Where.  [default: cron.default_chat_id, or the owner]")
@click.option("--thread", metavar="ID", default="", help="The topic there.")
@click.option("--person", metavar="ID", default="", help="In whose name, in a group.")
@click.option(
    "--pack", metavar="PACK", default="", help="For which pack.  [default: the one there]"
)
@click.option("--name", default="", help="What it is called.")
@click.option("--zone", default="", help="Its time zone.  [default: cron.timezone]")
@click.option("--misfire", type=click.Choice(get_args(Misfire)), default="run_once")
@click.option("--timeout", "timeout_s", metavar="S", type=int, default=0, help="Seconds a run has.")
@click.option("--tokens-max", metavar="N", type=int, default=0, help="Tokens that a run may use.")
@click.option("--retries", metavar="N", type=int, default=0, help="How often a run is tried again.")
@json_option
def add(
    schedule: str,
    prompt: str,
    chat: str | None,
    thread: str,
    person: str,
    pack: str,
    name: str,
    zone: str,
    misfire: str,
    timeout_s: int,
    tokens_max: int,
    retries: int,
    as_json: bool,
) -> None:
    """Make a schedule: at SCHEDULE, such as "every day at 9:00", do what PROMPT says."""
    settings = _settings()
    where = chat or settings.cron.default_chat_id or str(settings.telegram.owner or "")
    if not where:
        raise SetupError("There is no chat to answer in.", fix="Say --chat.")
    _check_listed(settings, where, person)
    facts = asked(
        "cron_add",
        schedule=schedule,
        prompt=prompt,
        chat=where,
        thread=thread,
        person=person,
        pack=pack,
        name=name,
        zone=zone,
        misfire=misfire,
        limit_s=timeout_s,
        tokens_max=tokens_max,
        retries=retries,
    )
    row = _row(facts["schedule"]["id"])
    said = made_of(row, datetime.fromisoformat(row.since), _zones(settings))
    if as_json:
        print_json({"schedule": asdict(row), "next": list(said.times), "zone": said.zone})
        return
    click.echo(f"{row.id}  {made(said.line)}")
    click.echo(next_times(said.times, said.zone))
    _say_if_off(settings)


@cron.command()
@click.argument("schedule_id", metavar="ID")
@json_option
def pause(schedule_id: str, as_json: bool) -> None:
    """Switch a schedule off; ID is its id or its name."""
    _switch(schedule_id, as_json, on=False)


@cron.command()
@click.argument("schedule_id", metavar="ID")
@json_option
def resume(schedule_id: str, as_json: bool) -> None:
    """Switch a schedule on; ID is its id or its name."""
    _switch(schedule_id, as_json, on=True)


@cron.command()
@click.argument("schedule_id", metavar="ID")
@json_option
def run(schedule_id: str, as_json: bool) -> None:
    """Run a schedule now; ID is its id or its name. When it comes by itself stays as it is."""
    _done("cron_run", schedule_id)
    settings = _settings()
    row, begins = _row(schedule_id), settings.cron.enabled and is_locked(current_home())
    if as_json:
        print_json({"schedule": asdict(row), "begins": begins})
        return
    name = line_of(row, _zones(settings)).name
    click.echo(f"{name}: begins {'now' if begins else 'as soon as the bot runs schedules'}.")


@cron.command()
@click.argument("schedule_id", metavar="ID")
@json_option
def remove(schedule_id: str, as_json: bool) -> None:
    """Remove a schedule and its history; ID is its id or its name."""
    settings, row = _settings(), _row(schedule_id)
    _done("cron_remove", schedule_id)
    if as_json:
        print_json({"removed": asdict(row)})
        return
    click.echo(f"{line_of(row, _zones(settings)).name}: removed.")


@cron.command()
@click.argument("schedule_id", metavar="ID")
@json_option
def history(schedule_id: str, as_json: bool) -> None:
    """Show the newest runs of a schedule; ID is its id or its name."""
    row, settings = _row(schedule_id), _settings()
    with reading(current_home().database) as tx:
        runs = schedule_runs.of_schedule(tx, row.id, HISTORY)
    if as_json:
        print_json({"schedule": asdict(row), "runs": [asdict(one) for one in runs]})
        return
    zones = _zones(settings)
    click.echo(made(line_of(row, zones)))
    for past in past_of(runs, zones(row.zone)):
        click.echo(past_run(past))
    if not runs:
        click.echo("It has not run yet.")


def _switch(schedule_id: str, as_json: bool, *, on: bool) -> None:
    """Switch a schedule by the running bot, or here under the home's lock if none runs."""
    _done("cron_switch", schedule_id, on=on)
    row = _row(schedule_id)
    if as_json:
        print_json(asdict(row))
        return
    line = line_of(row, _zones(_settings()))
    click.echo(f"{line.name}, {line.when}: {state(line)}.")


def _done(verb: str, schedule_id: str, **arguments: bool) -> None:
    found = _row(schedule_id).id
    if asked(verb, timeout_s=10, id=found, **arguments)["schedule"] is None:
        raise NotThere(f"There is no schedule {schedule_id!r} any more.")


def _row(wanted: str) -> Scheduled:
    """Return a schedule by its id, or by its name.

    Raises:
        NotThere: there is none, or several have this name.
    """
    rows = _all()
    named = [row for row in rows if name_of(row).casefold() == wanted.casefold()]
    found = [row for row in rows if row.id == wanted] or named
    if len(found) > 1:
        raise NotThere(
            f"{len(found)} schedules are called {wanted!r}.", fix="Give the id: `aouo cron list`."
        )
    if not found:
        raise NotThere(f"There is no schedule {wanted!r}.", fix="See `aouo cron list`.")
    return found[0]


def _all() -> list[Scheduled]:
    file = current_home().database
    if not file.exists():
        return []
    with reading(file) as tx:
        return schedules.everything(tx)


def _settings() -> Settings:
    return load(current_home()).settings


def _zones(settings: Settings) -> ZoneOf:
    from aouo.plumbing.zones import zone_of

    return partial(zone_of, default=settings.cron.timezone)


def _check_listed(settings: Settings, chat: str, person: str) -> None:
    """Check that the person may talk to the bot, since a schedule in another name never runs.

    Raises:
        NotThere: they are not on the list.
    """
    whose = person or ("" if chat.startswith("-") else chat)
    listed = {settings.telegram.owner, *settings.telegram.allowed_user_ids}
    if whose.isdecimal() and int(whose) not in listed:
        raise NotThere(
            f"The person {whose} is not on the list.", fix="Add them to telegram.allowed_user_ids."
        )


def _say_if_off(settings: Settings) -> None:
    if not settings.cron.enabled:
        click.echo(ALL_OFF)
