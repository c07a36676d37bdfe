"""Proposes a pack's schedules in a conversation, updates them with its versions, switches them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, TypeAlias, get_args

from aouo.facts.address import ConversationAddress, Platform
from aouo.facts.events import ChatKind
from aouo.facts.ports import iso
from aouo.facts.schedule import is_from_now, next_after, parse
from aouo.facts.work import Misfire, Paused, Scheduled, ScheduleOrigin
from aouo.packs.format.manifest import CronDefault, Manifest
from aouo.store import schedules
from aouo.store.database import Tx

ZoneOf: TypeAlias = Callable[[str], tzinfo]
"""Gives the zone of an IANA name, "" = the owner's zone."""


_PAUSED, _ORIGINS = get_args(Paused), get_args(ScheduleOrigin)
_MISFIRES = get_args(Misfire)
_PLATFORMS, _CHAT_KINDS = get_args(Platform), get_args(ChatKind)
_TEXTS = (
    *("key", "chat_id", "thread_id", "person", "skill", "prompt", "text", "zone", "since"),
    *("platform", "origin", "chat_kind"),
)
"""The fields of a schedule in a backup that have to be text."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where results go, and in whose name; `zone` is an IANA name, "" = the owner's."""

    address: ConversationAddress
    chat_kind: ChatKind
    person: str
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a newer version of a pack changed, by the ids of its defaults, sorted."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


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
) -> Reconciled:
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
    added: set[str] = set()
    changed: set[str] = set()
    removed: set[str] = set()
    for row in rows:
        if row.origin != "default":
            continue
        if row.key not in wanted:
            schedules.remove(tx, row.id)
            removed.add(row.key)
        elif _follow(tx, row, wanted[row.key], now, zone_of):
            changed.add(row.key)
    before = {(row.address, row.key) for row in rows}
    for place in _places(rows, also):
        for row in propose(tx, manifest, place, now, zone_of, consent=consent):
            if (row.address, row.key) not in before:
                added.add(row.key)
    return Reconciled(tuple(sorted(added)), tuple(sorted(changed)), tuple(sorted(removed)))


def switch(
    tx: Tx, schedule_id: str, now: datetime, zone_of: ZoneOf, *, on: bool
) -> Scheduled | None:
    """Switch a schedule on or off because a person said so; None = it is gone.

    Times that passed while it was off are not made up for; an interval such as `45m` begins anew.
    """
    row = schedules.get(tx, schedule_id)
    if row is None:
        return None
    if on:
        if is_from_now(row.text):
            row = replace(row, since=iso(now))
        due = due_after(row, now, zone_of) or ""
        schedules.write(tx, replace(row, next_due=due), iso(now))
        schedules.switch(tx, row.id, "", due, iso(now))
    else:
        schedules.switch(tx, row.id, "person", "", iso(now))
    return schedules.get(tx, row.id)


def due_after(row: Scheduled, now: datetime, zone_of: ZoneOf) -> str | None:
    """Return when a schedule is due next, as stored; "" = never, None = its text is no schedule."""
    zone = zone_of(row.zone)
    try:
        schedule = parse(row.text, datetime.fromisoformat(row.since), zone)
    except ValueError:  # also a moment that is none
        return None
    due = next_after(schedule, now, zone)
    return iso(due) if due else ""


def exported(tx: Tx, pack: str) -> list[dict[str, Any]]:
    """The pack's schedules as plain values, for a backup."""
    return [
        {
            "key": row.key,
            "origin": row.origin,
            "platform": row.address.platform,
            "chat_id": row.address.chat_id,
            "thread_id": row.address.thread_id,
            "chat_kind": row.chat_kind,
            "person": row.person,
            "skill": row.skill,
            "prompt": row.prompt,
            "text": row.text,
            "zone": row.zone,
            "since": row.since,
            "own_text": row.own_text,
            "paused": row.paused,
            "name": row.name,
            "misfire": row.misfire,
            "timeout_s": row.timeout_s,
            "tokens_max": row.tokens_max,
            "retries": row.retries,
        }
        for row in schedules.of_pack(tx, pack)
    ]


def restored(tx: Tx, pack: str, kept: list[dict[str, Any]], now: datetime, zone_of: ZoneOf) -> int:
    """Replace the pack's schedules by those of a backup; return how many they are.

    Raises:
        ValueError: the backup holds something else; nothing was changed.
    """
    try:
        rows = [_of_backup(pack, each) for each in kept]
        dues = [due_after(row, now, zone_of) for row in rows]
    except OverflowError as error:
        raise ValueError("a schedule of the backup counts from a year that is none") from error
    if None in dues:
        raise ValueError("a schedule of the backup cannot be read")
    schedules.remove_of_pack(tx, pack)
    for row, due in zip(rows, dues, strict=True):
        schedules.add(tx, replace(row, next_due="" if row.paused else due or ""), iso(now))
    return len(rows)


def _of_backup(pack: str, each: dict[str, Any]) -> Scheduled:
    paused: Paused = each.get("paused", "person")
    try:
        if wrong := [name for name in _TEXTS if not isinstance(each[name], str)]:
            raise ValueError(f"a schedule of the backup has something else than text as {wrong[0]}")
        address = ConversationAddress(each["platform"], each["chat_id"], each["thread_id"])
        known = each["platform"] in _PLATFORMS and each["origin"] in _ORIGINS
        if not known or each["chat_kind"] not in _CHAT_KINDS or paused not in _PAUSED:
            raise ValueError("a schedule of the backup is not one of ours")
        name, misfire, limits = _kept_settings(each)
        return Scheduled(
            id=schedules.new_id(),
            pack=pack,
            key=each["key"],
            origin=each["origin"],
            address=address,
            chat_kind=each["chat_kind"],
            person=each["person"],
            skill=each["skill"],
            prompt=each["prompt"],
            text=each["text"],
            zone=each["zone"],
            since=iso(datetime.fromisoformat(each["since"])),
            enabled=not paused,
            paused=paused,
            next_due="",
            own_text=each["own_text"] is True,
            name=name,
            misfire=misfire,
            timeout_s=limits[0],
            tokens_max=limits[1],
            retries=limits[2],
        )
    except KeyError as error:
        raise ValueError(f"a schedule of the backup lacks {error}") from error
    except OverflowError as error:
        raise ValueError("a schedule of the backup begins at no time there is") from error


def _kept_settings(each: dict[str, Any]) -> tuple[str, Misfire, list[int]]:
    """Read what older backups lack: name, misfire, and the limits of a run."""
    name, misfire = each.get("name", ""), each.get("misfire", "run_once")
    limits = [each.get(limit, 0) for limit in ("timeout_s", "tokens_max", "retries")]
    if not isinstance(name, str) or misfire not in _MISFIRES:
        raise ValueError("a schedule of the backup is not one of ours")
    if not all(type(limit) is int and 0 <= limit < 2**31 for limit in limits):
        raise ValueError("a schedule of the backup has a limit that is none")
    return name, misfire, limits


def _fresh(pack: str, default: CronDefault, place: Place, now: datetime) -> Scheduled:
    return Scheduled(
        id=schedules.new_id(),
        pack=pack,
        key=default.id,
        origin="default",
        address=place.address,
        chat_kind=place.chat_kind,
        person=place.person,
        skill=_qualified(pack, default),
        prompt=default.prompt,
        text=default.schedule,
        zone=place.zone,
        since=iso(now),
        enabled=False,
        paused="proposed",
        next_due="",
    )


def _follow(tx: Tx, row: Scheduled, default: CronDefault, now: datetime, zone_of: ZoneOf) -> bool:
    """Update a schedule to its default; False = nothing changed."""
    fresh = replace(row, skill=_qualified(row.pack, default), prompt=default.prompt)
    if not row.own_text and row.text != default.schedule:
        fresh = replace(fresh, text=default.schedule, since=iso(now))
        due = due_after(fresh, now, zone_of)
        if due is None:
            return False
        fresh = replace(fresh, next_due=due if row.enabled else "")
    if fresh == row:
        return False
    schedules.write(tx, fresh, iso(now))
    return True


def _forbid(tx: Tx, rows: Sequence[Scheduled], now: datetime) -> None:
    for row in rows:
        if row.origin != "default" and row.enabled:
            schedules.switch(tx, row.id, "permission", "", iso(now))


def _places(rows: Sequence[Scheduled], also: Sequence[Place]) -> list[Place]:
    """Return the places where the pack has defaults or gets some, each once."""
    found = {place.address: place for place in also} | {
        row.address: Place(row.address, row.chat_kind, row.person, row.zone)
        for row in rows
        if row.origin == "default"
    }
    return list(found.values())


def _qualified(pack: str, default: CronDefault) -> str:
    return f"{pack}:{default.skill.removeprefix(f'{pack}:')}"
