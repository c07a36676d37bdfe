"""Proposes a pack's schedules in a conversation, and follows its versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import Field

from aouo.facts.address import ConversationAddress
from aouo.facts.events import ChatKind
from aouo.facts.ports import iso
from aouo.facts.schedule import ZoneOf, next_after, parse
from aouo.facts.work import Scheduled, ScheduleOrigin
from aouo.packs.format.manifest import CronDefault, Manifest
from aouo.store import schedules
from aouo.store.database import Tx

_Limit: TypeAlias = Annotated[int, Field(ge=0, lt=2**31)]


@dataclass(frozen=True, slots=True)
class Place:
    """Where results go, and in whose name; `zone` is an IANA name, "" = the owner's."""

    address: ConversationAddress
    chat_kind: ChatKind
    person: str
    zone: str = ""


def propose(
    tx: Tx, manifest: Manifest, place: Place, now: datetime, zone_of: ZoneOf, *, consent: bool
) -> list[Scheduled]:
    """Store the pack's defaults that this place lacks, and return all its schedules there.

    With `consent` (a person saw them on a card) those that are `enabled_by_default` are on; the
    others are off, and can be switched on. A pack without the permission gets no schedules.
    """
    if manifest.permissions.cron:
        for default in manifest.cron_defaults:
            row = _fresh(manifest.name, default, place, now)
            due = due_after(row, now, zone_of)
            if due is None:  # said when the pack was loaded
                continue
            if consent and default.enabled_by_default:
                row = replace(row, enabled=True, paused="", next_due=due)
            schedules.add(tx, row, iso(now))
    there = schedules.of_conversation(tx, place.address)
    return [row for row in there if row.pack == manifest.name]


def reconcile(
    tx: Tx,
    manifest: Manifest,
    now: datetime,
    zone_of: ZoneOf,
    *,
    consent: bool,
    also: Sequence[Place] = (),
) -> None:
    """Update the pack's schedules in all places to a newer version of it.

    New defaults are added wherever the pack has some, and in the places of `also`; they are on
    only with `consent`. Changed defaults are updated, but a person's own text stays; removed ones
    are deleted. Schedules that people and models made stay; without the permission they are off.
    """
    rows = schedules.of_pack(tx, manifest.name)
    wanted = {default.id: default for default in manifest.cron_defaults}
    if not manifest.permissions.cron:
        wanted = {}
        _forbid(tx, rows, now)
    for row in rows:
        if row.origin != "default":
            continue
        if row.key in wanted:
            _follow(tx, row, wanted[row.key], now, zone_of)
        else:
            schedules.remove(tx, row.id)
    for place in _places(rows, also):
        propose(tx, manifest, place, now, zone_of, consent=consent)


def due_after(row: Scheduled, now: datetime, zone_of: ZoneOf) -> str | None:
    """Return when a schedule is due next, as stored; "" = never, None = its text is no schedule."""
    zone = zone_of(row.zone)
    try:
        schedule = parse(row.text, datetime.fromisoformat(row.since), zone)
    except ValueError:  # also a moment that is none
        return None
    due = next_after(schedule, now, zone)
    return iso(due) if due else ""


def blank(place: Place, pack: str, origin: ScheduleOrigin, now: datetime) -> Scheduled:
    """Return a schedule of a place that is on and says nothing yet."""
    return Scheduled(
        id=schedules.new_id(),
        pack=pack,
        key="",
        origin=origin,
        address=replace(place.address, user_id=""),
        chat_kind=place.chat_kind,
        person=place.person,
        skill="",
        prompt="",
        text="",
        zone=place.zone,
        since=iso(now),
        enabled=True,
        paused="",
        next_due="",
    )


def _fresh(pack: str, default: CronDefault, place: Place, now: datetime) -> Scheduled:
    return replace(
        blank(place, pack, "default", now),
        key=default.id,
        skill=_qualified(pack, default),
        prompt=default.prompt,
        say=default.say,
        act=default.do,
        text=default.schedule,
        enabled=False,
        paused="proposed",
    )


def _follow(tx: Tx, row: Scheduled, default: CronDefault, now: datetime, zone_of: ZoneOf) -> None:
    """Update a schedule to its default; a text that is no schedule changes nothing."""
    fresh = replace(
        row,
        skill=_qualified(row.pack, default),
        prompt=default.prompt,
        say=default.say,
        act=default.do,
    )
    if not row.own_text and row.text != default.schedule:
        fresh = replace(fresh, text=default.schedule, since=iso(now))
        due = due_after(fresh, now, zone_of)
        if due is None:
            return
        fresh = replace(fresh, next_due=due if row.enabled else "")
    if fresh != row:
        schedules.edit(tx, fresh, iso(now))


def _forbid(tx: Tx, rows: Sequence[Scheduled], now: datetime) -> None:
    for row in rows:
        if row.origin != "default" and row.enabled:
            schedules.switch_off(tx, row.id, "permission", iso(now))


def _places(rows: Sequence[Scheduled], also: Sequence[Place]) -> list[Place]:
    """Return the places where the pack has defaults or gets some, each once."""
    found = {place.address: place for place in also} | {
        row.address: Place(row.address, row.chat_kind, row.person, row.zone)
        for row in rows
        if row.origin == "default"
    }
    return list(found.values())


def _qualified(pack: str, default: CronDefault) -> str:
    return f"{pack}:{default.skill.removeprefix(f'{pack}:')}" if default.skill else ""
