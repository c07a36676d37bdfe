"""Plans schedules anew when the zone that they stand on has become another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

from aouo.facts.ports import iso
from aouo.facts.schedule import Once, ZoneOf, moved_due, parse
from aouo.facts.work import Scheduled
from aouo.plumbing.logs import log
from aouo.plumbing.zones import is_known
from aouo.store import schedules
from aouo.store.database import Tx


def follow_owner(tx: Tx, zone_of: ZoneOf, now: datetime) -> None:
    """Plan what stands on the owner's zone anew if that is not the zone it was planned in."""
    zone, former = zone_of(""), schedules.owner_zone(tx)
    if former == str(zone):
        return
    schedules.keep_owner_zone(tx, str(zone), iso(now))
    if is_known(former):  # "": nothing was planned yet
        rows = [row for row in schedules.everything(tx) if row.next_due and not row.zone]
        _move(tx, rows, zone_of(former), zone, now)


def follow_person(tx: Tx, person: str, former: str, name: str, zone_of: ZoneOf, now: str) -> None:
    """Move what a person has planned in their own chats by their zone `former` (an IANA name, "" =
    the owner's) to the zone `name`. What they planned for a group stays where the group is."""
    rows = [
        replace(row, zone=name)
        for row in schedules.everything(tx)
        if (row.person, row.chat_kind, row.zone) == (person, "private", former)
    ]
    _move(tx, rows, zone_of(former), zone_of(name), datetime.fromisoformat(now))


def _move(tx: Tx, rows: Sequence[Scheduled], former: tzinfo, zone: tzinfo, now: datetime) -> None:
    for row in rows:
        log.info("schedule_moved", schedule=row.id, zone=str(zone))
        if row.next_due:
            due = datetime.fromisoformat(row.next_due)
            try:
                row = _planned(row, due, former, zone, now)
            except ValueError as error:  # its next run says so
                log.warning("schedule_not_moved", schedule=row.id, error=str(error))
        schedules.edit(tx, row, iso(now))


def _planned(
    row: Scheduled, due: datetime, former: tzinfo, zone: tzinfo, now: datetime
) -> Scheduled:
    """Return a schedule with its due time in the zone; what is for once keeps its moment."""
    since = datetime.fromisoformat(row.since)
    before = parse(row.text, since, former)
    if isinstance(before, Once):
        return replace(row, text=before.at.astimezone(former).isoformat())
    moved = moved_due(before, parse(row.text, since, zone), due, former, zone, now)
    return replace(row, next_due=iso(moved))
