"""Says which moment a time is, seen from now: here what is not there fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from aouo.facts.times.days import Sight, added, day_of
from aouo.facts.times.features import DATES, SHAPES, Time, hour_in, says

PARTS: Mapping[str, int] = SHAPES["parts"]
"""The hour of a part of the day that is said without one."""
NINE = 9
"""The hour of a day that is said without one."""


def moment_of(features: Time, sight: Sight) -> datetime:
    """Return the moment that a time is, aware.

    Raises:
        TimeRefused: it is none, is not there, or is over.
    """
    try:
        at = _moment(features, sight)
        ahead = sight.prefer == "future" and not sight.schedule
        over = ahead and at.astimezone(UTC) <= sight.now.astimezone(UTC)
    except OverflowError:
        raise sight.refuse("no-such-day") from None
    if over:
        raise sight.refuse("past")
    return at


def _moment(features: Time, sight: Sight) -> datetime:
    zone = sight.now.tzinfo or UTC
    if exact := features.get("exact"):
        return exact if exact.tzinfo else _standing(exact, zone, sight)
    if features.get("slashed"):
        raise sight.refuse("slashed")
    if features.get("part") == "vague":
        raise sight.refuse("vague")
    if "every" in features or len(features.get("clock", ())) > 1:
        raise sight.refuse("two-times")
    zone = _zone(features["zone"], sight) if "zone" in features else zone
    timed = says(features, "clock part")
    months, days, minutes = features.get("offset", (0, 0, 0))
    if minutes and not timed:
        raise sight.refuse("no-time")
    if minutes:
        rest = {name: value for name, value in features.items() if name != "offset"}
        at = _moment(rest, Sight(sight.now, sight.text, sight.prefer)) + timedelta(minutes=minutes)
        return at if not (months or days) else _moment({"exact": at}, sight)
    if "span" in features and not timed and "shift" not in features:
        return _after(features["span"], sight)
    if not says(features, f"{DATES} span offset"):
        return _next_clock(features, sight, zone)
    walls = _walls(features, day_of(features, sight), sight)
    moments = [_standing(wall, zone, sight) for wall in walls]
    if not moments:
        raise sight.refuse("no-time")
    ahead = [at for at in moments if at.astimezone(UTC) > sight.now.astimezone(UTC)]
    return ahead[0] if ahead and sight.prefer == "future" else moments[0]


def _after(span: tuple[int, int, int], sight: Sight) -> datetime:
    """Return now and a span: minutes pass, whole days keep the time on the wall."""
    months, days, minutes = span
    at = sight.now.replace(second=0, microsecond=0)
    if months or days:
        wall = datetime.combine(added(at.date(), months, days), at.time())
        at = _standing(wall, sight.now.tzinfo or UTC, sight)
    return (at.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(sight.now.tzinfo)


def _next_clock(features: Time, sight: Sight, zone: tzinfo) -> datetime:
    """Return the next such time of day; the last one where the past is meant."""
    future = sight.prefer == "future"
    today = sight.now.astimezone(zone).date()
    for day in (today, today + timedelta(days=1 if future else -1)):
        for wall in _walls(features, day, sight, dayless=True):
            at = _standing(wall, zone, sight)
            if (at.astimezone(UTC) > sight.now.astimezone(UTC)) == future:
                return at
    raise sight.refuse("no-time")


def _walls(features: Time, day: date, sight: Sight, *, dayless: bool = False) -> Iterator[datetime]:
    """Yield when a clock may come on a day; `dayless`: no day is said."""
    part = features.get("part")
    if "clock" not in features:
        if part or not dayless:
            yield datetime.combine(day, time(PARTS[part] if part else NINE))
        return
    hour, minute, mode = features["clock"][0]
    mode = "x" if sight.schedule and mode == "o" else mode
    for at in hours_of((hour, minute, mode), part, near=dayless or day == sight.today):
        wall = datetime.combine(day, time(at % 24, minute)) + timedelta(days=at == 24)
        if part == "night" and at < 6 and not dayless:
            if hour != 12 and features.get("shift") != 0:
                raise sight.refuse("two-times")
            wall += timedelta(days=sight.now.hour >= 6)
        yield wall


def hours_of(clock: tuple[int, int, str], part: str | None, *, near: bool) -> tuple[int, ...]:
    """Return the hours that a clock may name, the likeliest first.

    One that is said without its half of the day is of 12 hours: the next such where it is `near`
    (today, or no day is said), else 1 to 5 are the afternoon.
    """
    hour, _, mode = clock
    if part:
        at = hour_in(clock, part)
        return () if at is None else (at,)
    if mode in ("a", "p"):
        return (hour % 12 + 12 * (mode == "p"),)
    if mode == "x" or not 1 <= hour < 12:
        return (hour,)
    if near:
        return (hour, hour + 12)
    return (hour + 12,) if hour <= 5 else (hour,)


def existing(wall: datetime, zone: tzinfo) -> datetime:
    """Return a naive local time in `zone` as aware: the first of two, or the first after a gap."""
    at = wall.replace(tzinfo=zone, fold=0)
    while at.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall:
        wall = wall.replace(second=0, microsecond=0) + timedelta(minutes=1)
        at = wall.replace(tzinfo=zone, fold=0)
    return at


def _standing(wall: datetime, zone: tzinfo, sight: Sight) -> datetime:
    """Return a local time as aware.

    Raises:
        TimeRefused: clocks go forward over it.
    """
    at = existing(wall, zone)
    if at.replace(tzinfo=None) != wall and not sight.schedule:
        raise sight.refuse("skipped", time=f"{wall:%H:%M}")
    return at


def _zone(name: str, sight: Sight) -> tzinfo:
    if name in ("utc", "local"):
        return UTC if name == "utc" else sight.now.tzinfo or UTC
    try:
        if "/" in name:
            return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        name = "?"
    if name == "?":
        raise sight.refuse("zone")
    hours, _, minutes = name.partition(":")
    return timezone(timedelta(hours=int(hours), minutes=int(minutes or 0)))
