"""Reads a whole text as a moment, a day, a length of time, what comes again, or a schedule;
and says days and moments as they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, Literal, TypeAlias

from aouo.facts.languages import FIRST
from aouo.facts.times.days import Days, Prefer, Sight, TimeRefused, day_of, days_of
from aouo.facts.times.features import SHAPES, Time, says
from aouo.facts.times.finding import Span, find, is_whole, tables_for
from aouo.facts.times.recurring import Recurrence, recurrence_of
from aouo.facts.times.resolving import NINE, moment_of
from aouo.facts.times.tokens import clock_of

Kind: TypeAlias = Literal["datetime", "date", "duration", "recurrence", "when", "days"]
Value: TypeAlias = datetime | date | timedelta | Recurrence | Days
_SPAN_MAX = timedelta(minutes=5_000_000)
_UNREAD: Mapping[Kind, str] = SHAPES["unread"]
_PARTLY = frozenset({"no-time", "no-day", "no-recurrence", "no-such-day", "weekday-and-date"})
"""Refusals after which another reading of the same words counts."""


def read(
    text: str,
    now: datetime,
    zone: tzinfo,
    language: str,
    *,
    kind: Kind = "datetime",
    prefer: Prefer = "future",
) -> Value:
    """Read a text that is nothing but a time, seen at `now` (aware) in `zone`.

    Raises:
        TimeRefused: it is none, there is none, or it could be two.
    """
    if kind == "duration":
        return _duration(text, language)
    words = text.strip().rstrip("!?").strip()
    spans = find(words, language, loose="bare")
    whole = [span for span in spans if is_whole(words, span)]
    if not whole:
        raise TimeRefused("two-times" if len(spans) > 1 else _UNREAD[kind], text=text)
    return value_of(whole[0], text, now, zone, kind=kind, prefer=prefer)


def value_of(
    span: Span,
    text: str,
    now: datetime,
    zone: tzinfo,
    *,
    kind: Kind = "datetime",
    prefer: Prefer = "future",
) -> Value:
    """Return the value of a time that `find` gave.

    Raises:
        TimeRefused: there is none, or it is of another kind.
    """
    try:
        sight = Sight(now.astimezone(zone), text, prefer)
    except OverflowError:
        raise TimeRefused("no-such-day", text=text) from None
    refusal: TimeRefused | None = None
    cheapest = span.readings[0][1]
    for features, cost in span.readings:
        if cost > cheapest + 1 and (refusal is None or refusal.reason not in _PARTLY):
            break
        try:
            return _RESOLVED[kind](features, sight)
        except TimeRefused as error:
            if refusal is None or refusal.reason in _PARTLY:
                refusal = error
    raise refusal or TimeRefused(_UNREAD[kind], text=text)


def _when(features: Time, sight: Sight) -> datetime | Recurrence:
    if "every" in features:
        return recurrence_of(features, sight)
    return moment_of(features, sight)


_RESOLVED: Mapping[Kind, Callable[[Time, Sight], Value]] = {
    "datetime": moment_of,
    "date": day_of,
    "days": days_of,
    "recurrence": recurrence_of,
    "when": _when,
}


def _duration(text: str, language: str) -> timedelta:
    if text.isdecimal() and len(text) < 7 and int(text):
        return timedelta(minutes=int(text))
    words = text.strip().rstrip(" .!")
    for span in find(words, language, category="S"):
        for (_, months, days, minutes), _ in span.readings if is_whole(words, span) else ():
            total = timedelta(days=days, minutes=minutes)
            if not months and timedelta(0) < total <= _SPAN_MAX:
                return total
    raise TimeRefused("no-span", text=text)


def plan(text: str, now: datetime, zone: tzinfo) -> Recurrence | datetime | None:
    """Return what a schedule's text says, perhaps a moment that is over; None: it is no words.

    An hour is one of 24. A day without a date that stays the same is none: "at 9", "Monday at 9".

    Raises:
        TimeRefused: it would be a schedule, if it named a time of day.
    """
    for features in _schedules(text):
        value = _planned(features, text, now, zone)
        if value is not None:
            return value
        if not says(features, "clock part"):
            at_nine = {**features, **clock_of(NINE, 0, "x")}
            if _planned(at_nine, text, now, zone) is not None:
                raise TimeRefused("no-time", text=text)
    return None


def is_span(text: str) -> bool:
    """Whether a text is a length of time from now: `in 45 minutes`."""
    return any(set(features) == {"span"} for features in _schedules(text)[:1])


def _schedules(text: str) -> list[Time]:
    words = " ".join(text.split()).rstrip(".")
    spans = find(words, FIRST)
    if len(spans) != 1 or (spans[0].start, spans[0].end) != (0, len(words)):
        return []
    return [features for features, _ in spans[0].readings]


def _planned(
    features: Time, text: str, now: datetime, zone: tzinfo
) -> Recurrence | datetime | None:
    try:
        sight = Sight(now.astimezone(zone), text, schedule=True)
        if "every" in features:
            return recurrence_of(features, sight)
        fixed = features.keys() >= {"year", "month", "day"} or "shift" in features
        if set(features) == {"span"} or (
            says(features, "clock part") and fixed and "exact" not in features
        ):
            return moment_of(features, sight)
    except (TimeRefused, OverflowError, ValueError):
        return None
    return None


def say_moment(at: datetime, today: date, language: str) -> str:
    """Say a local moment: "tomorrow, Fri 27 Nov, 08:00"."""
    return f"{say_day(at.date(), today, language)}, {at:%H:%M}"


def say_day(day: date, today: date, language: str) -> str:
    """Say a day, with its year where it is not the next such date."""
    words: Any = tables_for(language)[0].say
    weekday, month = words["weekdays"][day.isoweekday() - 1], words["months"][day.month - 1]
    number = words.get("first", 1) if day.day == 1 else day.day
    written = words["day"].format(weekday=weekday, day=number, month=month)
    year = "" if _is_next(day, today) else f" {day.year}"
    near = {0: "today", 1: "tomorrow"}.get((day - today).days)
    return (f"{words[near]}, " if near else "") + written + year


def _is_next(day: date, today: date) -> bool:
    """Whether a date without its year would be read as this day."""
    if day < today:
        return False
    leap = (day.month, day.day) == (2, 29)
    years = range(today.year, day.year) if leap else range(max(today.year, day.year - 1), day.year)
    return not any(_is_there(year, day) and day.replace(year=year) >= today for year in years)


def _is_there(year: int, day: date) -> bool:
    try:
        day.replace(year=year)
    except ValueError:
        return False
    return True
