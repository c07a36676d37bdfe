"""Parses the text of a schedule, and computes its next due time."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TypeAlias, assert_never

from cronsim import CronSim, CronSimError

from aouo.facts import times

_MAX_DAYS, _FAR_DAYS = 366, 3660
_DAY = 1440
_UNITS = {"m": 1, "min": 1, "minute": 1, "h": 60, "hr": 60, "hour": 60, "d": _DAY, "day": _DAY}
_SPAN = re.compile(r"([0-9]{1,9})\s*([a-z]+?)s?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_FIELD = re.compile(r"[0-9*?,/\-A-Z#]+")
_SIGNED = re.compile(r"[0-9*?]")
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FORMS = (
    'write "every 30m", "every 2h" or "every 1d", "every day at 21:00" or "every Monday at 9:00", '
    '"every other Friday at 17:00", "on the first Monday of every month at 9:00", "on the last day '
    'of every month at 18:00", "every year on 3 May at 9:00", '
    'five fields of cron such as "0 21 * * *", a time such as "2026-03-01T09:00" or "tomorrow at '
    '9:00", or "in 45 minutes" for once, that long from now'
)
_FROM = re.compile(r"every ([0-9]{1,3})d from ([0-9T:-]+)")
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)


class NotASchedule(ValueError):
    """The text is no schedule; the message says what is wrong and what to write."""


@dataclass(frozen=True, slots=True)
class Once:
    """One moment, aware."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Every:
    """Every so many minutes, counted from `since` (aware), so that a late run delays no later one.

    Whole days are calendar days and keep the local time of day; anything else is elapsed time.
    `anchored`: its day and time of day were named, as in "every other Friday at 17:00".
    """

    minutes: int
    since: datetime
    anchored: bool = False


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields, separated by one space: minute, hour, day of the month, month, weekday.

    As in Vixie's cron, a day counts when either day field names it, unless one of them begins
    with a star. When the clock goes forward, a fixed time in the gap comes at the first minute
    after it; when it goes back, a fixed time comes once, the first time. A schedule whose minute
    or hour begins with a star follows elapsed time: nothing in the gap, twice in the double hour.
    """

    expression: str


Schedule: TypeAlias = Once | Every | Cron
ZoneOf: TypeAlias = Callable[[str], tzinfo]
"""Gives the zone of an IANA name, "" = the owner's zone."""


def parse(text: str, now: datetime, zone: tzinfo) -> Schedule:
    """Parse a schedule made at `now` (aware); a time without an offset is in `zone`.

    The same text, moment and zone always give the same schedule.

    Raises:
        NotASchedule: the text is no schedule.
    """
    now = now.replace(microsecond=0)
    words = " ".join(text.split())
    try:
        planned = None if _DATE.fullmatch(words) else times.plan(text, now, zone)
    except times.TimeRefused:
        clear = f"{_quoted(text)} names no time of day"
        raise NotASchedule(f'{clear}: write "{words} at 9:00".') from None
    if isinstance(planned, datetime):
        return Once(_near(planned, now, text))
    if planned:
        words = planned.text
    if found := _FROM.fullmatch(words):
        return _anchored(int(found[1]), _moment(found[2], zone), now, zone)
    if words.lower().startswith("every"):
        return Every(_minutes(words.lower().removeprefix("every").strip(), text), now)
    if _DATE.match(words):
        return Once(_moment(words, zone))
    if _SPAN.fullmatch(words.lower()):
        return Once(now + timedelta(minutes=_minutes(words.lower(), text, most_days=_FAR_DAYS)))
    return _cron(words, text)


def _anchored(days: int, first: datetime, now: datetime, zone: tzinfo) -> Every:
    """Return what comes first at `first`, or where that is over a day or week later."""
    step, wall = timedelta(days=days), first.astimezone(zone).replace(tzinfo=None)
    while times.existing(wall, zone) <= now:
        wall += timedelta(days=1 if days % 7 else 7)
    return Every(days * _DAY, times.existing(wall - step, zone), anchored=True)


def check(text: str) -> None:
    """Check that `text` is a schedule in any zone and at any time.

    Raises:
        NotASchedule: it is none.
    """
    parse(text, _ANY_DAY, UTC)


def is_from_now(text: str) -> bool:
    """Whether the text is a span that counts from when the schedule is made: `in 45 minutes`."""
    return times.is_span(text) or bool(_SPAN.fullmatch(" ".join(text.split()).lower()))


def next_after(schedule: Schedule, moment: datetime, zone: tzinfo) -> datetime | None:
    """Return the first due time after `moment` (both aware), in UTC; None = there is no more."""
    match schedule:
        case Once(at):
            return at.astimezone(UTC) if at > moment else None
        case Every(minutes, since):
            return _next_step(minutes, since, moment, zone)
        case Cron(expression):
            # Around a change of the clock cronsim may yield `moment` again, or an earlier time.
            for found in CronSim(expression, moment.astimezone(zone)):
                if (due := found.astimezone(UTC)) > moment:
                    return _flowing(expression, moment, due, zone)
            return None
        case _:
            assert_never(schedule)


def upcoming(text: str, since: str, now: datetime, zone: tzinfo, most: int = 3) -> list[datetime]:
    """Return the next due times in `zone` of a schedule made at `since`, be it on or off."""
    found = list[datetime]()
    try:
        schedule = parse(text, datetime.fromisoformat(since), zone)
    except NotASchedule:
        return []
    moment: datetime | None = now
    with suppress(OverflowError):  # the calendar ends with the year 9999
        while len(found) < most and (moment := next_after(schedule, moment, zone)):
            found.append(moment.astimezone(zone))
    return found


def _near(at: datetime, now: datetime, text: str) -> datetime:
    """Return a moment that is not too far away, in UTC."""
    if at - now > timedelta(days=_FAR_DAYS) and is_from_now(text):
        limits = f"between 1 minute and {_FAR_DAYS:,} days"
        raise NotASchedule(f"{_quoted(text)} is out of range: take {limits}.")
    return at.astimezone(UTC)


def _flowing(expression: str, moment: datetime, due: datetime, zone: tzinfo) -> datetime:
    """Return the due time after `moment`, for which cronsim says `due`.

    Where a clock changes by half an hour, cronsim leaves out times of schedules that follow
    elapsed time: these are looked for on each side of the change, where the clock is even.
    """
    minute, hour = expression.split()[:2]
    before, after = moment.astimezone(zone).utcoffset(), due.astimezone(zone).utcoffset()
    if before is None or after is None or before == after or "*" not in (minute[0], hour[0]):
        return due
    change, high = moment.astimezone(UTC), due
    while high - change > timedelta(seconds=1):
        middle = change + (high - change) / 2
        if middle.astimezone(zone).utcoffset() == before:
            change = middle
        else:
            high = middle
    for start, offset, end in ((moment, before, high), (high - timedelta(minutes=1), after, due)):
        wall = start.astimezone(UTC).replace(tzinfo=None) + offset
        for found in CronSim(expression, wall):
            at = (found - offset).replace(tzinfo=UTC)
            if moment < at < end and at.astimezone(zone).utcoffset() == offset:
                return at
            break
    return due


def _minutes(span: str, text: str, *, most_days: int = _MAX_DAYS) -> int:
    found = _SPAN.fullmatch(span)
    unit = _UNITS.get(found[2], 0) if found else 0
    if not found or not unit:
        raise NotASchedule(f"{_quoted(text)} is not a schedule: {_FORMS}.")
    minutes = int(found[1]) * unit
    if not 1 <= minutes <= most_days * _DAY:
        limits = f"between 1 minute and {most_days:,} days"
        raise NotASchedule(f"{_quoted(text)} is out of range: take {limits}.")
    return minutes


def _moment(words: str, zone: tzinfo) -> datetime:
    try:
        at = datetime.fromisoformat(words)
        aware = at if at.tzinfo else times.existing(at, zone)
        return aware.astimezone(UTC)
    except (ValueError, OverflowError):
        example = '"2026-03-01T09:00" or "2026-03-01T09:00+01:00"'
        raise NotASchedule(f"{_quoted(words)} is not a time: write it like {example}.") from None


def _cron(words: str, text: str) -> Cron:
    """Parse five fields, or six with 0 as the seconds.

    The error for a text that does not look like cron names all forms of a schedule.
    """
    fields = _NICKNAMES.get(words.lower(), words).upper().split()
    if len(fields) not in (5, 6) or not all(map(_FIELD.fullmatch, fields)):
        raise NotASchedule(f"{_quoted(text)} is not a schedule: {_FORMS}.")
    if not all(_SIGNED.match(field) for field in fields[:2]):  # "5 minutes from now please"
        raise NotASchedule(f"{_quoted(text)} is not a schedule: {_FORMS}.")
    if len(fields) == 6:
        seconds, *fields = fields
        if seconds.strip("0"):
            message = "has six fields, and seconds cannot be scheduled: write 0 as the first one"
            raise NotASchedule(f"{_quoted(text)} {message}.")
    expression = " ".join("*" if field == "?" else field for field in fields)
    try:
        next(CronSim(expression, _ANY_DAY))
    except CronSimError as error:
        what = str(error).removeprefix("Bad ")
        raise NotASchedule(
            f"{_quoted(text)} is not a cron schedule: its {what} is wrong."
        ) from None
    except StopIteration:
        raise NotASchedule(f"{_quoted(text)} never comes: there is no such day.") from None
    return Cron(expression)


def _next_step(minutes: int, since: datetime, moment: datetime, zone: tzinfo) -> datetime:
    if minutes % _DAY:
        step = timedelta(minutes=minutes)
        passed = (moment - since) // step
        return (since + step * max(1, passed + 1)).astimezone(UTC)
    days = minutes // _DAY
    wall = since.astimezone(zone).replace(tzinfo=None)
    passed = (moment.astimezone(zone).replace(tzinfo=None) - wall) // timedelta(days=days)
    step = max(1, passed)
    while True:
        due = times.existing(wall + timedelta(days=days * step), zone).astimezone(UTC)
        if due > moment:
            return due
        step += 1


def _quoted(text: str) -> str:
    shown = " ".join(text.split())
    return f'"{shown if len(shown) <= 60 else shown[:59] + "…"}"'


def moved_due(
    before: Schedule, after: Schedule, due: datetime, former: tzinfo, zone: tzinfo, now: datetime
) -> datetime:
    """Return when `before`, due at `due` in the zone `former`, is due as `after` in `zone`: at the
    same time of its day, which may be over; what follows elapsed time, at its next time from `now`.
    What was planned in `zone` stays.
    """
    is_planned = next_after(before, due - timedelta(seconds=1), former) == due
    if not is_planned:
        return due
    if _is_elapsed(after):
        return next_after(after, now, zone) or due
    at = times.existing(due.astimezone(former).replace(tzinfo=None), zone)
    return next_after(after, at.astimezone(UTC) - timedelta(seconds=1), zone) or due


def _is_elapsed(schedule: Schedule) -> bool:
    match schedule:
        case Once():
            return False
        case Every(anchored=anchored):
            return not anchored
        case Cron(expression):
            minute, hour = expression.split()[:2]
            return "*" in (minute[0], hour[0])
        case _:
            assert_never(schedule)
