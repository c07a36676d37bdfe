"""Makes and changes schedules as people, models and the owner ask: checked, then written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from aouo.facts.ports import iso
from aouo.facts.schedule import NotASchedule, Once, is_from_now, next_after, parse
from aouo.facts.schedule_words import in_words, moment_in_words
from aouo.facts.work import Misfire, Paused, Scheduled, ScheduleOrigin, ScheduleRun
from aouo.packs.library import Library
from aouo.plumbing.zones import NoSuchZone, known_zone
from aouo.store import jobs, schedule_runs, schedules
from aouo.store.database import Tx
from aouo.triggers import scheduling
from aouo.triggers.scheduling import Place, ZoneOf
from aouo.triggers.ticking import May, lane_of, name_of, why_not

MADE_HERE = 200
"""How many schedules people and models may have made in one conversation."""
PROMPT_CHARS, NAME_CHARS, TEXT_CHARS = 4_000, 60, 200
TIMEOUT_S, TOKENS, RETRIES = 24 * 3600, 100_000_000, 10
"""The most that a schedule may ask for."""
_NAME_WORDS = 6


class ScheduleRefused(ValueError):
    """A schedule was not made or changed; the message is one sentence for whoever asked."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a schedule; None = what it is, or the default."""

    text: str | None = None
    prompt: str | None = None
    name: str | None = None
    zone: str | None = None
    misfire: Misfire | None = None
    timeout_s: int | None = None
    tokens_max: int | None = None
    retries: int | None = None


def create(
    tx: Tx,
    wish: Wish,
    place: Place,
    now: datetime,
    zone_of: ZoneOf,
    *,
    pack: str,
    origin: ScheduleOrigin,
    schedule_id: str = "",
) -> Scheduled:
    """Make a schedule and switch it on; one that has `schedule_id` already is returned as it is.

    Raises:
        ScheduleRefused: nothing was made.
    """
    if schedule_id and (there := schedules.get(tx, schedule_id)):
        return there
    if schedules.count_made(tx, place.address) >= MADE_HERE:
        raise ScheduleRefused(
            f"There are {MADE_HERE} schedules here, and no more can be made: remove one first."
        )
    blank = Scheduled(
        id=schedule_id or schedules.new_id(),
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
    wanted = replace(wish, text=wish.text or "", prompt=wish.prompt or "", name=wish.name or "")
    row = _due(_with(blank, wanted, now), now, zone_of)
    schedules.add(tx, row, iso(now))
    return row


def change(tx: Tx, row: Scheduled, wish: Wish, now: datetime, zone_of: ZoneOf) -> Scheduled:
    """Change a schedule; one that was over begins anew with a new time, one that is off stays off.

    Raises:
        ScheduleRefused: nothing was changed.
    """
    if row.key and wish.prompt is not None:
        raise ScheduleRefused("What a pack's own schedule says comes from the pack: make another.")
    changed = _with(row, wish, now)
    if wish.text is not None and row.paused in ("over", "unreadable"):
        changed = replace(changed, enabled=True, paused="")
    changed = _due(changed, now, zone_of)
    schedules.edit(tx, changed, iso(now))
    return changed


def resume(
    tx: Tx, row: Scheduled, library: Library, now: datetime, zone_of: ZoneOf, may: May
) -> Scheduled:
    """Switch a schedule on: see `scheduling.switch`. It stays in the name that it is in.

    Raises:
        ScheduleRefused: it stays off.
    """
    check_pack(row.pack, library)
    _check_may(row, may)
    begins = iso(now) if is_from_now(row.text) else row.since
    _due(replace(row, enabled=True, since=begins), now, zone_of)
    return scheduling.switch(tx, row.id, now, zone_of, on=True) or row


def pause(tx: Tx, row: Scheduled, now: datetime, zone_of: ZoneOf) -> Scheduled:
    """Switch a schedule off."""
    return scheduling.switch(tx, row.id, now, zone_of, on=False) or row


def remove(tx: Tx, row: Scheduled) -> None:
    """Delete a schedule and its history.

    Raises:
        ScheduleRefused: a pack proposes it, so it would come back.
    """
    if row.key:
        raise ScheduleRefused(
            f"“{name_of(row)}” comes with its pack, so it can be switched off and not removed."
        )
    schedules.remove(tx, row.id)


def run_now(tx: Tx, row: Scheduled, now: datetime, may: May) -> None:
    """Have a schedule run at once, whether it is on or off; its due times stay what they are.

    It is a run that is tried `now`, so it begins when `Ticking` sees it.

    Raises:
        ScheduleRefused: it may not run; or a run of it waits or is at work, or was due at this
            very moment.
    """
    _check_may(row, may)
    is_open = jobs.any_open(tx, lane_of(row)) or schedule_runs.is_to_retry(tx, row.id)
    run = ScheduleRun(row.id, iso(now), "waiting")
    if is_open or not schedule_runs.add(tx, run, iso(now)):
        raise ScheduleRefused(f"“{name_of(row)}” runs already, or is about to.")
    schedule_runs.settle(tx, run, "waiting", iso(now), retry_at=iso(now))
    schedules.advance(tx, row.id, run.due_at, row.next_due)


def matching(rows: Sequence[Scheduled], wanted: str) -> list[Scheduled]:
    """Return the schedules that a person may mean: the one with this id, else those of this name;
    of these, those that are over only if none else has it."""
    if by_id := [row for row in rows if row.id == wanted]:
        return by_id
    name = " ".join(wanted.split()).casefold()
    named = [row for row in rows if name_of(row).casefold() == name]
    return [row for row in named if row.paused != "over"] or named


def check_pack(pack: str, library: Library) -> None:
    """Check that a pack may have schedules; "" = no pack, which may.

    Raises:
        ScheduleRefused: it may not; says why.
    """
    found = library.get(pack) if pack else None
    if pack and found is None:
        raise ScheduleRefused(f"The pack “{pack}” is not installed.")
    if found and not found.manifest.permissions.cron:
        raise ScheduleRefused(
            f"“{found.manifest.display_name}” may not have schedules: its pack.yml does not set "
            "permissions.cron."
        )


def may_run(row: Scheduled, library: Library, is_listed: Callable[[str], bool]) -> Paused:
    """Decide whether a schedule may run, "" = it may: its pack has the permission, and whoever it
    is for may talk to the bot."""
    pack = library.get(row.pack)
    if pack and not pack.manifest.permissions.cron:
        return "permission"
    return "" if row.address.platform != "tg" or is_listed(row.person) else "unlisted"


def upcoming(row: Scheduled, now: datetime, zone_of: ZoneOf, most: int = 3) -> list[datetime]:
    """Return the next due times of a schedule in its zone, whether it is on or off."""
    zone, found = zone_of(row.zone), list[datetime]()
    try:
        schedule = parse(row.text, datetime.fromisoformat(row.since), zone)
    except NotASchedule:
        return []
    moment: datetime | None = now
    with suppress(OverflowError):  # the calendar ends with the year 9999
        while len(found) < most and (moment := next_after(schedule, moment, zone)):
            found.append(moment.astimezone(zone))
    return found


def when(row: Scheduled, zone_of: ZoneOf) -> str:
    """Return when a schedule comes, in words; as it was written, if it cannot be read."""
    zone = zone_of(row.zone)
    try:
        return in_words(parse(row.text, datetime.fromisoformat(row.since), zone), zone)
    except NotASchedule:
        return row.text


def zone_name(row: Scheduled, zone_of: ZoneOf) -> str:
    """Return the name of a schedule's zone: what is there, also if the one it names is gone."""
    zone = zone_of(row.zone)
    if name := getattr(zone, "key", None):
        return name
    offset = datetime.fromisoformat(row.since).astimezone(zone).strftime("%z")
    return "UTC" if offset == "+0000" else f"UTC{offset[:3]}:{offset[3:]}"


def _check_may(row: Scheduled, may: May) -> None:
    if paused := may(row):
        raise ScheduleRefused(f"“{name_of(row)}” cannot run: {why_not(row, paused)}.")


def _with(row: Scheduled, wish: Wish, now: datetime) -> Scheduled:
    """Return the schedule as it is wished, checked but for its time."""
    if wish.text is not None:
        text = " ".join(wish.text.split())
        if len(text) > TEXT_CHARS:
            raise ScheduleRefused(f"A schedule may have {TEXT_CHARS} characters; this has more.")
        row = replace(row, text=text, since=iso(now), own_text=bool(row.key))
    if wish.prompt is not None:
        prompt = wish.prompt.strip()
        if not prompt:
            raise ScheduleRefused("Say what is to be done then: a schedule needs a prompt.")
        if len(prompt) > PROMPT_CHARS:
            raise ScheduleRefused(f"A prompt may have {PROMPT_CHARS:,} characters; this has more.")
        row = replace(row, prompt=prompt)
    if wish.name is not None:
        name = " ".join(wish.name.split()) or _first_words(row.prompt)
        if len(name) > NAME_CHARS:
            raise ScheduleRefused(f"A name may have {NAME_CHARS} characters; this has more.")
        row = replace(row, name=name)
    if wish.zone:
        try:
            row = replace(row, zone=known_zone(wish.zone))
        except NoSuchZone as error:
            raise ScheduleRefused(str(error)) from None
    for what, most, value in (
        ("time limit in seconds", TIMEOUT_S, wish.timeout_s),
        ("budget in tokens", TOKENS, wish.tokens_max),
        ("number of retries", RETRIES, wish.retries),
    ):
        if value is not None and not 0 <= value <= most:
            raise ScheduleRefused(f"A {what} is between 0 and {most:,}.")
    return replace(
        row,
        misfire=wish.misfire or row.misfire,
        timeout_s=row.timeout_s if wish.timeout_s is None else wish.timeout_s,
        tokens_max=row.tokens_max if wish.tokens_max is None else wish.tokens_max,
        retries=row.retries if wish.retries is None else wish.retries,
    )


def _due(row: Scheduled, now: datetime, zone_of: ZoneOf) -> Scheduled:
    """Return the schedule with its next due time.

    Raises:
        ScheduleRefused: its text is no schedule, or its time is over.
    """
    zone = zone_of(row.zone)
    try:
        schedule = parse(row.text, datetime.fromisoformat(row.since), zone)
    except NotASchedule as error:
        raise ScheduleRefused(str(error)) from None
    due = next_after(schedule, now, zone)
    if due is None and (row.enabled or row.paused == "over"):
        at = f"{moment_in_words(schedule.at, zone)} is over" if isinstance(schedule, Once) else ""
        here = f"it is {moment_in_words(now, zone)} now in {zone_name(row, zone_of)}"
        raise ScheduleRefused(f"{at or 'It never comes again'}: {here}.")
    return replace(row, next_due=iso(due) if due and row.enabled else "")


def _first_words(prompt: str) -> str:
    words = " ".join(prompt.split()[:_NAME_WORDS])
    cut = words if len(words) <= NAME_CHARS else f"{words[: NAME_CHARS - 1]}…"
    return cut.rstrip(".,;:")
