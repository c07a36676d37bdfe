"""Says a schedule in words: "every day at 21:00" instead of `0 21 * * *`."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import assert_never

from aouo.facts.schedule import Cron, Every, Once, Schedule, is_from_now, parse

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_UNITS = ((1440, "day"), (60, "hour"), (1, "minute"))
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_SHORT_DAYS = {name[:3].upper(): number for number, name in enumerate(_WEEKDAYS)}


def in_words(schedule: Schedule, zone: tzinfo) -> str:
    """Return a schedule in words, its times local in `zone`."""
    match schedule:
        case Once(at):
            return f"once, {moment_in_words(at, zone)}"
        case Every(minutes):
            return f"every {_span(minutes).removeprefix('1 ')}"
        case Cron(expression):
            return _cron(expression) or f"whenever cron says {expression}"
        case _:
            assert_never(schedule)


def text_in_words(text: str, zone: tzinfo) -> str:
    """Return in words what a schedule will mean once it is made, for the question to allow it.

    Raises:
        NotASchedule: `text` is no schedule.
    """
    schedule = parse(text, _ANY_DAY, zone)
    if isinstance(schedule, Once) and is_from_now(text):
        minutes = int((schedule.at - _ANY_DAY).total_seconds()) // 60
        return f"once, {_span(minutes)} after it is switched on"
    return in_words(schedule, zone)


def moment_in_words(moment: datetime, zone: tzinfo) -> str:
    """Return a moment as `Sunday 1 March 2026 at 09:00`."""
    at = moment.astimezone(zone)
    day = f"{_WEEKDAYS[at.isoweekday() % 7]} {at.day} {_MONTHS[at.month - 1]} {at.year}"
    return f"{day} at {at:%H:%M}"


def _span(minutes: int) -> str:
    size, unit = next((size, unit) for size, unit in _UNITS if minutes % size == 0)
    count = minutes // size
    return f"{count} {unit}{'' if count == 1 else 's'}"


def _cron(expression: str) -> str:
    """Return the common patterns in words; "" for the others."""
    minute, hour, day, month, weekday = expression.split()
    if month != "*" or not (when := _time(minute, hour)):
        return ""
    if when.startswith("every"):
        return when if (day, weekday) == ("*", "*") else ""
    if day == "*" and (days := _days(weekday)):
        return f"{days} at {when}"
    if weekday == "*" and day.isdigit():
        return f"on day {int(day)} of every month at {when}"
    if weekday == "*" and day == "L":
        return f"on the last day of every month at {when}"
    return ""


def _time(minute: str, hour: str) -> str:
    if minute.isdigit() and all(part.isdigit() for part in hour.split(",")):
        return _listed([f"{int(part):02}:{int(minute):02}" for part in hour.split(",")])
    if hour != "*":
        return ""
    if minute.isdigit():
        return "every hour" if int(minute) == 0 else f"every hour, {int(minute)} minutes past"
    if minute == "*":
        return "every minute"
    step = minute.removeprefix("*/")
    return f"every {step} minutes" if step.isdigit() and step != "1" else ""


def _days(field: str) -> str:
    if field == "*":
        return "every day"
    if field in ("1-5", "MON-FRI"):
        return "Monday to Friday"
    days = [_weekday(part) for part in field.split(",")]
    return f"every {_listed(days)}" if all(days) else ""


def _weekday(part: str) -> str:
    number = _SHORT_DAYS.get(part, int(part) if part.isdigit() else -1)
    return _WEEKDAYS[number % 7] if number >= 0 else ""


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
