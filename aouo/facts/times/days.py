"""Says which day a time is, seen from now: what is not there, or does not fit, fails."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, TypeAlias

from aouo.facts.times.features import Time, says

Prefer: TypeAlias = Literal["future", "past"]
_YEARS_AHEAD = 9
_MONTHS = {"month": 1, "3month": 3, "year": 12}


class TimeRefused(ValueError):
    """A text is no such time, or could be two; `reason` names a sentence, with its `parts`."""

    def __init__(self, reason: str, **parts: object) -> None:
        super().__init__(reason)
        self.reason, self.parts = reason, parts


@dataclass(frozen=True, slots=True)
class Sight:
    """From where a time is looked at: `now` is local; `text` is what it is read from."""

    now: datetime
    text: str
    prefer: Prefer = "future"
    schedule: bool = False
    """Whether it is a schedule's text: hours are of 24, and what is over or skipped is no fault."""

    @property
    def today(self) -> date:
        return self.now.date()

    def refuse(self, reason: str, **parts: object) -> TimeRefused:
        return TimeRefused(reason, text=self.text, **parts)


def day_of(features: Time, sight: Sight) -> date:
    """Return the day that a time names.

    Raises:
        TimeRefused: it names none, there is no such day, or its parts do not fit.
    """
    if features.get("slashed"):
        raise sight.refuse("slashed")
    if "exact" in features:
        return features["exact"].date()
    weekday = features.get("weekday", ())
    several = any(len(features.get(name, ())) > 1 for name in ("day", "nth"))
    if "every" in features or several or (len(weekday) > 1 and weekday != (6, 7)):
        raise sight.refuse("two-times")
    try:
        day = _day(features, sight)
    except (ValueError, OverflowError) as error:
        raise error if isinstance(error, TimeRefused) else sight.refuse("no-such-day") from None
    if weekday and "nth" not in features and day.isoweekday() not in weekday:
        raise sight.refuse("weekday-and-date")
    months, days, minutes = features.get("offset", (0, 0, 0))
    return added(day, months, days + minutes // 1440) if "offset" in features else day


@dataclass(frozen=True, slots=True)
class Days:
    """Days one after the other: a week, a month, or a single one."""

    first: date
    last: date


def days_of(features: Time, sight: Sight) -> Days:
    """Return the days that a time names: "last week", "in October", "yesterday".

    Raises:
        TimeRefused: it names none, or there is no such day.
    """
    if [*features] == ["period"]:
        name, count = features["period"]
        if name == "week":
            first = _in_period(features, sight)
            return Days(first, first + timedelta(days=6))
        first = _first_of(name, count, sight)
        return Days(first, added(first, _MONTHS[name], -1))
    first = day_of(features, sight)
    whole = "month" in features and features.keys() <= {"month", "year"}
    return Days(first, added(first, 1, -1) if whole else first)


def _day(features: Time, sight: Sight) -> date:
    if "shift" in features:
        return _dated_as(sight.today + timedelta(days=features["shift"]), features, sight)
    if "span" in features:
        months, days, minutes = features["span"]
        return added((sight.now + timedelta(minutes=minutes)).date(), months, days)
    if "nth" in features:
        if not says(features, "month period"):
            raise sight.refuse("no-day")
        return _first(sight, (_nth_of(features, *month) for month in _months(features, sight)))
    if "easter" in features:
        years = _years(features, sight)
        return _first(sight, (easter(year) + timedelta(days=features["easter"]) for year in years))
    if says(features, "month day edge"):
        return _first(sight, (_in_month(features, *month) for month in _months(features, sight)))
    if "period" in features:
        return _in_period(features, sight)
    if "weekday" in features:
        return _weekday(features["weekday"][0], features, sight)
    raise sight.refuse("no-day")


def _dated_as(day: date, features: Time, sight: Sight) -> date:
    """Return a day that is also said as a date, if it is that."""
    date = (features.get("year", day.year), features.get("month", day.month))
    if (*date, features.get("day", (day.day,))[0]) != (day.year, day.month, day.day):
        raise sight.refuse("weekday-and-date")
    months, days, _ = features.get("span", (0, 0, 0))
    return added(day, months, days)


def _first(sight: Sight, days: Iterable[date | None]) -> date:
    """Return the first of these days that is not over; the last that is, where that is meant."""
    options = [day for day in days if day]
    if len(options) != 1:
        past = sight.prefer == "past"
        options = [day for day in options if day == sight.today or (day < sight.today) == past]
    if not options:
        raise ValueError
    return options[0]


def _years(features: Time, sight: Sight) -> Sequence[int]:
    """Return the years that may be meant, the nearest first."""
    name, count = features.get("period", ("", 0))
    if "year" in features or name == "year":
        return (features.get("year", sight.today.year + count),)
    step = -1 if _looks_back(features, sight) else 1
    return range(sight.today.year, sight.today.year + step * _YEARS_AHEAD, step)


def _months(features: Time, sight: Sight) -> Iterator[tuple[int, int]]:
    """Yield the months, as year and month, that may be meant, the nearest first."""
    if "month" in features:
        yield from ((year, features["month"]) for year in _years(features, sight))
        return
    name, count = features.get("period", ("", 0))
    this = sight.today.year * 12 + sight.today.month - 1
    step = -1 if _looks_back(features, sight) else 1
    months: Sequence[int] = range(this, this + step * _YEARS_AHEAD, step)
    if name == "year":
        last = -1 in (*features.get("nth", ()), *features.get("day", ()))
        first = (sight.today.year + count) * 12
        first += 11 if last or features.get("edge") == "end" else 0
        months = (first,) if count else (first, first + 12)
    elif name == "month" and count:
        months = (this + count,)
    yield from ((month // 12, month % 12 + 1) for month in months)


def _looks_back(features: Time, sight: Sight) -> bool:
    return sight.prefer == "past" or "past" in features


def _in_month(features: Time, year: int, month: int) -> date | None:
    last = monthrange(year, month)[1]
    if "edge" in features:
        return date(year, month, {"end": last, "start": 1, "mid": 15}[features["edge"]])
    day = features.get("day", (1,))[0]
    day = last if day == -1 else day
    never = "month" in features and day > (29 if month == 2 else monthrange(2000, month)[1])
    if never or (day > last and "year" in features):
        raise ValueError
    return date(year, month, day) if day <= last else None


def _nth_of(features: Time, year: int, month: int) -> date | None:
    last = monthrange(year, month)[1]
    nth: int = features["nth"][0]
    weekdays = features["weekday"]
    fits = [d for n in range(1, last + 1) if (d := date(year, month, n)).isoweekday() in weekdays]
    at = nth - 1 if nth > 0 else nth
    return fits[at] if nth and -len(fits) <= at < len(fits) else None


def _in_period(features: Time, sight: Sight) -> date:
    """Return the day of a weekday in a week, else the first of a week, month or year."""
    name, count = features["period"]
    today = sight.today
    if name == "week":
        monday = today + timedelta(days=7 * count + 1 - today.isoweekday())
        return monday + timedelta(days=features.get("weekday", (1,))[0] - 1)
    if not count or "weekday" in features:
        raise sight.refuse("no-day")
    return _first_of(name, count, sight)


def _first_of(name: str, count: int, sight: Sight) -> date:
    """Return the first day of a month, quarter or year, so many of them from now."""
    today, size = sight.today, _MONTHS[name]
    month = (today.year * 12 + today.month - 1) // size * size + size * count
    return date(month // 12, month % 12 + 1, 1)


def _weekday(number: int, features: Time, sight: Sight) -> date:
    ahead = number - sight.today.isoweekday()
    back = _looks_back(features, sight)
    return sight.today + timedelta(days=-(-ahead % 7 or 7) if back else ahead % 7 or 7)


def added(day: date, months: int, days: int) -> date:
    """Return a day so many months and days later; of a shorter month its last day."""
    month = day.year * 12 + day.month - 1 + months
    year, number = month // 12, month % 12 + 1
    try:
        last = monthrange(year, number)[1]
        return date(year, number, min(day.day, last)) + timedelta(days=days)
    except (ValueError, IndexError):
        raise OverflowError from None


def easter(year: int) -> date:
    """Return Easter Sunday. Source: the Gregorian computus of Meeus, Jones and Butcher."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)
