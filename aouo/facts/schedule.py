"""Parses the text of a schedule, also everyday words, and computes its next due time.

Only words that can mean one thing are rewritten: "every day" names no time of day, "at 9" no day.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TypeAlias, assert_never

from cronsim import CronSim, CronSimError

_TO_TWELVE = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_NUMBERS = {word: number for number, word in enumerate(_TO_TWELVE, start=1)} | {
    word: number
    for number, word in ((1, "a"), (1, "an"), (15, "fifteen"), (20, "twenty"), (30, "thirty"))
}
_COUNT = rf"(?P<count>[0-9]{{1,9}}|{'|'.join(_NUMBERS)})"
_UNIT = r"(?P<unit>minute|min|m|hour|hr|h|day|d|week|w)s?"
_SPAN_PHRASE = re.compile(rf"{_COUNT}\s*{_UNIT}")
_HALF = re.compile(r"half an hour")
_CLOCK = (
    r"(?:(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2}))?(?:\s*(?P<half>am|pm))?"
    r"|(?P<noon>noon|midnight))"
)
_DAILY = re.compile(
    rf"(?:every (?P<day>.+?)|(?P<daily>daily)|(?:on )?(?P<on>.+s|monday to friday)) at {_CLOCK}"
)
_DAILY_AFTER = re.compile(rf"at {_CLOCK} (?:every (?P<day>.+)|(?P<daily>daily)|on (?P<on>.+s))")
_MONTHLY = re.compile(
    rf"(?:every month )?on (?:day |the )?(?P<date>[0-9]{{1,2}})(?:st|nd|rd|th)?"
    rf"(?: day)?(?: of (?:every|each) month)? at {_CLOCK}"
)
_THAT_DAY = re.compile(rf"(?P<word>today|tomorrow),?(?: at)? {_CLOCK}")
_DATED = re.compile(rf"(?P<date>[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}),? at {_CLOCK}")
_MINUTES = {"m": "m", "min": "m", "minute": "m", "h": "h", "hr": "h", "hour": "h", "d": "d"}
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_SETS = {"day": "*", "weekday": "1-5", "weekend": "0,6", "monday to friday": "1-5"}


def _rewritten(text: str, today: date) -> str:
    """Return what `text` says as `every 2h`, `5m`, `0 9 * * *` or `2026-03-01T09:00`.

    `today` is the day where its zone is. A text of another form is returned as it is.
    """
    words = " ".join(text.lower().replace("each ", "every ").split()).rstrip(".")
    if found := _MONTHLY.fullmatch(words):
        return _monthly(found) or text
    if found := _DAILY.fullmatch(words) or _DAILY_AFTER.fullmatch(words):
        return _weekly(found) or text
    if found := _THAT_DAY.fullmatch(words):
        day = today + timedelta(days=found["word"] == "tomorrow") if today < date.max else today
        return f"{day.isoformat()}T{_clock(found)}" if _clock(found) else text
    if found := _DATED.fullmatch(words):
        return f"{found['date']}T{_clock(found)}" if _clock(found) else text
    if words.startswith("in "):
        return _span(words.removeprefix("in ")) or text
    if words.endswith(" from now"):
        return _span(words.removesuffix(" from now")) or text
    if words.startswith("every "):
        span = words.removeprefix("every ")
        said = _span(span) or (_span(f"1 {span}") if span in ("minute", "hour") else "")
        return f"every {said}" if said else text
    return text


def _span(words: str) -> str:
    if _HALF.fullmatch(words):
        return "30m"
    if not (found := _SPAN_PHRASE.fullmatch(words)):
        return ""
    count = _NUMBERS.get(found["count"]) or int(found["count"])
    if found["unit"] in ("week", "w"):
        return f"{count * 7}d"
    return f"{count}{_MINUTES.get(found['unit'], 'd')}"


def _clock(found: re.Match[str]) -> str:
    """Return `HH:MM`, "" = there is no such time of day."""
    if found["noon"]:
        return "12:00" if found["noon"] == "noon" else "00:00"
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["half"]:
        if not 1 <= hour <= 12:
            return ""
        hour = hour % 12 + (12 if found["half"] == "pm" else 0)
    return f"{hour:02}:{minute:02}" if hour < 24 and minute < 60 else ""


def _weekly(found: re.Match[str]) -> str:
    days = "*" if found["daily"] else _days(found["day"] or found["on"])
    if not days or not (clock := _clock(found)):
        return ""
    hour, _, minute = clock.partition(":")
    return f"{int(minute)} {int(hour)} * * {days}"


def _monthly(found: re.Match[str]) -> str:
    if not (clock := _clock(found)) or "month" not in found[0]:
        return ""
    hour, _, minute = clock.partition(":")
    return f"{int(minute)} {int(hour)} {int(found['date'])} * *"


def _days(words: str) -> str:
    """Return the weekdays as cron has them, "" = they are none."""
    if (named := _SETS.get(words) or _SETS.get(words.removesuffix("s"))) is not None:
        return named
    parts = [part for part in re.split(r",\s*and |,\s*| and ", words) if part]
    numbers = [_day(part) for part in parts]
    return "" if None in numbers or not numbers else ",".join(map(str, numbers))


def _day(word: str) -> int | None:
    whole = word.removesuffix("s") if word.endswith("days") else word
    return next((n for n, day in enumerate(_DAYS) if whole in (day, day[:3])), None)


_MAX_DAYS = 366
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
    'five fields of cron such as "0 21 * * *", a time such as "2026-03-01T09:00" or "tomorrow at '
    '9:00", or "in 45 minutes" for once, that long from now'
)
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
    """

    minutes: int
    since: datetime


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
    words = " ".join(_rewritten(text, _today(now, zone)).split())
    if words.lower().startswith("every"):
        return Every(_minutes(words.lower().removeprefix("every").strip(), text), now)
    if _DATE.match(words):
        return Once(_moment(words, zone))
    if is_from_now(words):
        return Once(now + timedelta(minutes=_minutes(words.lower(), text, most_days=3660)))
    return _cron(words, text)


def check(text: str) -> None:
    """Check that `text` is a schedule in any zone and at any time.

    Raises:
        NotASchedule: it is none.
    """
    parse(text, _ANY_DAY, UTC)


def is_from_now(text: str) -> bool:
    """Whether the text is a span that counts from when the schedule is made: `in 45 minutes`."""
    words = _rewritten(text, _ANY_DAY.date())
    return bool(_SPAN.fullmatch(" ".join(words.split()).lower()))


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


def _today(now: datetime, zone: tzinfo) -> date:
    try:
        return now.astimezone(zone).date()
    except OverflowError:
        return now.date()


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
        aware = at if at.tzinfo else _existing(at, zone)
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
        due = _existing(wall + timedelta(days=days * step), zone).astimezone(UTC)
        if due > moment:
            return due
        step += 1


def _existing(wall: datetime, zone: tzinfo) -> datetime:
    """Return a naive local time in `zone` as aware: the first of two, or the first after a gap."""
    at = wall.replace(tzinfo=zone, fold=0)
    while at.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall:
        wall = wall.replace(second=0, microsecond=0) + timedelta(minutes=1)
        at = wall.replace(tzinfo=zone, fold=0)
    return at


def _quoted(text: str) -> str:
    shown = " ".join(text.split())
    return f'"{shown if len(shown) <= 60 else shown[:59] + "…"}"'
