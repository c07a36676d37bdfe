"""`aouo cron`: lists schedules, and switches them off and on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import click

from aouo.cli.asking import asked
from aouo.cli.context import NotThere, current_home, json_option, load, print_json
from aouo.commands.scheduling import line_of
from aouo.facts.work import Scheduled
from aouo.outbound.wording.schedules import NOT_STARTED
from aouo.store import schedules
from aouo.store.reading import reading
from aouo.triggers.scheduling import ZoneOf


@click.group()
def cron() -> None:
    """List schedules, and switch them off and on."""


@cron.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the schedules of all packs and conversations."""
    found = _all()
    if as_json:
        print_json({"running": False, "schedules": [asdict(row) for row in found]})
        return
    zones = _zones()
    for row in found:
        line = line_of(row, zones)
        state = f"off ({line.paused})" if line.paused else line.due or "over"
        click.echo(f"{row.id}  {row.pack:<12} {line.name:<20} {line.when}  {state}  {row.address}")
    click.echo(NOT_STARTED if found else "There are no schedules.")


@cron.command()
@click.argument("schedule_id", metavar="ID")
@json_option
def pause(schedule_id: str, as_json: bool) -> None:
    """Switch a schedule off."""
    _switch(schedule_id, as_json, on=False)


@cron.command()
@click.argument("schedule_id", metavar="ID")
@json_option
def resume(schedule_id: str, as_json: bool) -> None:
    """Switch a schedule on."""
    _switch(schedule_id, as_json, on=True)


def _switch(schedule_id: str, as_json: bool, *, on: bool) -> None:
    """Switch a schedule by the running bot, or here under the home's lock if none runs."""
    if schedule_id not in [row.id for row in _all()]:
        raise NotThere(f"There is no schedule {schedule_id!r}.", fix="See `aouo cron list`.")
    changed: Mapping[str, Any] | None = asked("cron_switch", id=schedule_id, on=on)["schedule"]
    if changed is None:
        raise NotThere(f"There is no schedule {schedule_id!r} any more.")
    if as_json:
        print_json(changed)
        return
    row = next(row for row in _all() if row.id == schedule_id)
    line = line_of(row, _zones())
    state = f"on, next {line.due or 'never: it is over'}" if on else "off"
    click.echo(f"{line.name}, {line.when}: {state}.")


def _all() -> list[Scheduled]:
    file = current_home().database
    if not file.exists():
        return []
    with reading(file) as tx:
        return schedules.everything(tx)


def _zones() -> ZoneOf:
    from aouo.plumbing.zones import zone_of

    return partial(zone_of, default=load(current_home()).settings.cron.timezone)
