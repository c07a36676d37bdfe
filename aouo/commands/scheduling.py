"""Handles /cron: lists the schedules of a conversation and switches them, without a model."""

from __future__ import annotations

from datetime import datetime

from aouo.commands.builtin import pack_here
from aouo.commands.registry import CommandCall, Handler, Result
from aouo.facts import notices
from aouo.facts.schedule import NotASchedule, parse
from aouo.facts.schedule_words import in_words, moment_in_words
from aouo.facts.work import Scheduled
from aouo.packs.library import Library
from aouo.store import schedules
from aouo.store.database import Tx
from aouo.triggers import scheduling
from aouo.triggers.scheduling import Place, ZoneOf

_NAME_CHARS = 60


def cron(zone_of: ZoneOf) -> Handler:
    """`/cron` lists; `/cron on ID` and `/cron off ID` switch and list."""

    def obey(tx: Tx, call: CommandCall, library: Library) -> Result:
        match call.words.args:
            case ("on" | "off" as verb, wanted):
                return switched(tx, call, library, wanted, zone_of, on=verb == "on")
            case _:
                return _listed(tx, call, library, zone_of)

    return obey


def switched(
    tx: Tx, call: CommandCall, library: Library, schedule_id: str, zone_of: ZoneOf, *, on: bool
) -> Result:
    """Switch a schedule of this conversation on or off, and list them all."""
    _switch(tx, call, library, schedule_id, zone_of, on=on)
    return _listed(tx, call, library, zone_of)


def _listed(tx: Tx, call: CommandCall, library: Library, zone_of: ZoneOf) -> Result:
    inbound, now = call.inbound, datetime.fromisoformat(call.now)
    pack = library.get(pack_here(tx, call, library) or "")
    if pack is not None:  # its defaults can be switched on wherever the pack is used
        place = Place(inbound.address, inbound.chat_kind, inbound.person.id)
        scheduling.propose(tx, pack.manifest, place, now, zone_of, consent=False)
    rows = schedules.of_conversation(tx, inbound.address)
    lines = tuple(line_of(row, zone_of, here=pack.name if pack else "") for row in rows)
    forbidden = ""
    if pack and pack.manifest.cron_defaults and not pack.manifest.permissions.cron:
        forbidden = pack.manifest.display_name
    return Result(notices.Schedules(lines, forbidden))


def line_of(row: Scheduled, zone_of: ZoneOf, *, here: str = "") -> notices.ScheduleLine:
    """Return a schedule in words; its pack is named unless it is the pack `here`."""
    zone = zone_of(row.zone)
    try:
        when = in_words(parse(row.text, datetime.fromisoformat(row.since), zone), zone)
    except NotASchedule:
        when = row.text
    due = moment_in_words(datetime.fromisoformat(row.next_due), zone) if row.next_due else ""
    name = row.key.replace("-", " ") or row.skill.partition(":")[2] or row.prompt[:_NAME_CHARS]
    pack = "" if row.pack == here else row.pack
    return notices.ScheduleLine(row.id, name, pack, when, due, row.paused)


def _switch(
    tx: Tx, call: CommandCall, library: Library, schedule_id: str, zone_of: ZoneOf, *, on: bool
) -> None:
    """Switch a schedule of this conversation; one of another conversation is left alone."""
    row = schedules.get(tx, schedule_id)
    if row is None or row.address != call.inbound.address:
        return
    pack = library.get(row.pack)
    if on and not (pack and pack.manifest.permissions.cron):
        schedules.switch(tx, row.id, "permission", "", call.now)
        return
    scheduling.switch(tx, row.id, datetime.fromisoformat(call.now), zone_of, on=on)
