"""`aouo cron`: makes, lists, changes, runs and removes schedules."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any, get_args

import click

from aouo.cli.asking import aligned, asked, heading
from aouo.cli.context import current_home, json_option, load, not_there, print_json
from aouo.config.settings import Settings
from aouo.facts.errors import SetupError
from aouo.facts.people import Admission, LetIn, Owner
from aouo.facts.ports import stamp
from aouo.facts.schedule import ZoneOf
from aouo.facts.work import Misfire, Scheduled
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import is_locked
from aouo.schedules.service import HISTORY, matching
from aouo.store import people, schedule_runs, schedules
from aouo.store.opening import reading
from aouo.words import schedules as words
from aouo.words.catalogue import text

_HEAD = ("ID", "PACK", "WHAT", "WHEN", "STATE", "LAST", "WHERE")
_LIMITS = (0, 16, 30, 50, 50, 30, 0)
"""How wide the columns of the list may be: id, pack, name, when, state, last, conversation."""


_which = click.argument("which", metavar="ID|NAME")


@click.group()
def cron() -> None:
    """Make, list, change, run and remove schedules."""


@cron.command("list")
@click.option("--all", "every", is_flag=True, help="Also those that are over or off.")
@json_option
def list_(every: bool, as_json: bool) -> None:
    """List the schedules of all packs and conversations."""
    rows, settings = _all(), _settings()
    found = [row for row in rows if every or as_json or row.paused not in ("over", "proposed")]
    if as_json:
        print_json({"running": _runs(settings), "schedules": [asdict(row) for row in found]})
        return
    zones = _zones(settings)
    cells = list[tuple[str, ...]]()
    for row in found:
        name, when, state, last = words.line_of(row, zones)
        last = f"last {last}" if last else ""
        cells.append((row.id, row.pack or "–", name, when, state, last, str(row.address)))
    if cells and sys.stdout.isatty():
        cells.insert(0, _HEAD)
    lines = aligned(cells, _LIMITS)
    if cells[:1] == [_HEAD]:
        heading(lines.pop(0))
    for line in lines:
        click.echo(line)
    if hidden := len(rows) - len(found):
        click.echo(text("schedules.hidden", count=hidden))
    elif not found:
        click.echo(text("schedules.none-at-all"))
    _say_if_off(settings)


@cron.command("add")
@click.argument("schedule", metavar="SCHEDULE")
@click.argument("prompt", metavar="PROMPT")
@click.option(
    "--chat",
    metavar="ID",
    help="Where: a chat on Telegram, a terminal's, or web:PACK or web:~ on the page.  "
    "[default: cron.default_chat_id, or where the owner is told]",
)
@click.option("--thread", metavar="ID", default="", help="The topic there.")
@click.option("--person", metavar="ID", default="", help="In whose name, in a group.")
@click.option(
    "--pack", metavar="PACK", default="", help="For which pack.  [default: the one there]"
)
@click.option("--say", is_flag=True, help="PROMPT comes as it is; no model is asked.")
@click.option("--do", is_flag=True, help="PROMPT is the name of an action of the pack.")
@click.option("--name", default="", help="What it is called.")
@click.option("--zone", default="", help="Its time zone.  [default: cron.timezone]")
@click.option("--misfire", type=click.Choice(get_args(Misfire)), default="run_once")
@click.option("--timeout", "limit_s", metavar="S", type=int, default=0, help="Seconds a run has.")
@click.option("--tokens-max", metavar="N", type=int, default=0, help="Tokens that a run may use.")
@click.option("--retries", metavar="N", type=int, default=0, help="How often a run is tried again.")
@json_option
def _add(chat: str | None, person: str, as_json: bool, **wish: Any) -> None:
    """Make a schedule: at SCHEDULE, such as "every day at 9:00", do what PROMPT says."""
    settings = _settings()
    owner = Owner.of(settings.telegram.owner)
    where = chat or settings.cron.default_chat_id or _chat_of(owner, settings)
    if where.startswith("web:"):
        person = person or owner.person.id
    _check_listed(settings, where, person)
    facts = asked("cron_add", chat=where, person=person, **wish)
    row = _row(facts["schedule"]["id"])
    now, zones = datetime.fromisoformat(row.since), _zones(settings)
    if as_json:
        times, zone = words.next_times(row, now, zones), words.zone_name(row, zones)
        print_json({"schedule": asdict(row), "next": times, "zone": zone})
        return
    click.echo(f"{row.id}  {words.made(row, now, zones)}")
    _say_if_off(settings)


@cron.command("pause")
@_which
@json_option
def _pause(which: str, as_json: bool) -> None:
    """Switch a schedule off."""
    _switch(which, as_json, on=False)


@cron.command("resume")
@_which
@json_option
def _resume(which: str, as_json: bool) -> None:
    """Switch a schedule on."""
    _switch(which, as_json, on=True)


@cron.command("run")
@_which
@json_option
def _run(which: str, as_json: bool) -> None:
    """Run a schedule now; when it comes by itself stays as it is."""
    row = _done("cron_run", _row(which))
    row, begins = _row(row.id), _runs(_settings())
    if as_json:
        print_json({"schedule": asdict(row), "begins": begins})
        return
    which = "schedules.filed-now" if begins else "schedules.filed-later"
    click.echo(text(which, name=row.title))


@cron.command("remove")
@_which
@json_option
def _remove(which: str, as_json: bool) -> None:
    """Remove a schedule and its history."""
    row = _done("cron_remove", _row(which))
    if as_json:
        print_json({"removed": asdict(row)})
        return
    click.echo(text("schedules.removed-plain", name=row.title))


@cron.command()
@_which
@json_option
def history(which: str, as_json: bool) -> None:
    """Show the newest runs of a schedule."""
    row = _row(which)
    with reading(current_home().database) as tx:
        runs = schedule_runs.of_schedule(tx, row.id, HISTORY)
    if as_json:
        print_json({"schedule": asdict(row), "runs": [asdict(one) for one in runs]})
        return
    click.echo(words.history(row, runs, _zones(_settings())))


def _switch(which: str, as_json: bool, *, on: bool) -> None:
    """Switch a schedule by the running bot, or here under the home's lock if none runs."""
    row = _row(_done("cron_switch", _row(which), on=on).id)
    if as_json:
        print_json(asdict(row))
        return
    name, when, state, _ = words.line_of(row, _zones(_settings()))
    click.echo(text("schedules.line-plain", name=name, when=when, state=state))


def _done(verb: str, row: Scheduled, **arguments: bool) -> Scheduled:
    """Do something with a schedule; return it as it was before."""
    if asked(verb, timeout_s=10, id=row.id, **arguments)["schedule"] is None:
        raise not_there(f"There is no schedule {row.id!r} any more.")
    return row


def _row(which: str) -> Scheduled:
    """Return a schedule by its id, or by a name that only one has.

    Raises:
        SetupError: there is none, or several have the name.
    """
    match matching(_all(), which):
        case [row]:
            return row
        case []:
            raise not_there(f"There is no schedule {which!r}.", fix="See `aouo cron list`.")
        case several:
            zones = _zones(_settings())
            they = "; ".join(f"{row.id} ({words.line_of(row, zones).when})" for row in several)
            raise not_there(
                f"{len(several)} schedules are called {which!r}: {they}.",
                fix="Say which by its id.",
            )


def _all() -> list[Scheduled]:
    file = current_home().database
    if not file.exists():
        return []
    with reading(file) as tx:
        return schedules.everything(tx)


def _settings() -> Settings:
    return load(current_home()).settings


def _runs(settings: Settings) -> bool:
    """Whether schedules run now."""
    return settings.cron.enabled and is_locked(current_home())


def _zones(settings: Settings) -> ZoneOf:
    from aouo.plumbing.zones import zone_of

    return partial(zone_of, default=settings.cron.timezone)


def _chat_of(owner: Owner, settings: Settings) -> str:
    """Return where the owner is told what nobody asked for, as `--chat` names it.

    Raises:
        SetupError: nowhere.
    """
    told = owner.told_in(telegram=settings.telegram.enabled)
    if told is None:
        raise SetupError("There is no chat to answer in.", fix="Say --chat.")
    return told.chat_id if told.platform == "tg" else str(told)


def _check_listed(settings: Settings, chat: str, person: str) -> None:
    """Check that the person may talk to the bot, since a schedule in another name never runs.

    Raises:
        SetupError: they are not let in.
    """
    whose = person or ("" if chat.startswith("-") else chat)
    if not whose.isdecimal() or int(whose) == settings.telegram.owner:
        return
    decided: dict[str, LetIn] = {}
    if (file := current_home().database).exists():
        with reading(file) as tx:
            decided = people.everybody(tx)
    admission = Admission(
        settings.telegram.allowed_user_ids, decided=decided, now=partial(stamp, SystemClock())
    )
    if not admission.role(whose):
        raise not_there(
            f"The person {whose} is not on the list.",
            fix=f"`aouo people member {whose}` lets them in.",
        )


def _say_if_off(settings: Settings) -> None:
    if not settings.cron.enabled:
        click.echo(text("schedules.all-off"))
