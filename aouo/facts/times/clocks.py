"""Rules that join neighbours to clocks and lengths of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from aouo.facts.times.features import (
    DATES,
    Joined,
    Time,
    as_time,
    hour_in,
    is_tuple,
    says,
    says_only,
    solid,
    union,
    within,
)
from aouo.facts.times.tokens import Item, clock_of

Rule: TypeAlias = Callable[[Any, Any], Joined]
Span: TypeAlias = tuple[str, int, int, int]
"""The name of its unit; its months, days and minutes."""


def joined(one: Time, two: Time) -> Joined:
    """Return two times that say one."""
    if "weekday" in one and "shift" in two:
        return None
    if "clock" in two and says_only(one, "weekday day"):  # lundi 3 à 18 h
        one = solid(one)
    if "weekday" in one and two.get("span") == (0, 7, 0):  # Monday in a week
        return on_day(two["span"], {**one, **{name: two[name] for name in two if name != "span"}})
    return as_time(union(one, two), int("until" in one or "until" in two))


def on_day(apart: tuple[int, ...], time: Time) -> Joined:
    """A week on Friday, Friday week."""
    fits = says(time, "weekday shift") and says_only(time, "weekday shift part clock")
    return fits and not apart[0] | apart[2] and as_time(solid(time, offset=apart), 1)


def _with_minutes(time: Time, minute: Any) -> Joined:
    """8 Uhr 20."""
    ((hour, zero, mode),) = time["clock"]
    if minute == 0.5 and not zero:
        return as_time(clock_of(hour, 30, "s" if mode == "o" else mode))
    late = within(minute, 10 if mode == "o" else 1, 59) and not zero
    return late and as_time(clock_of(hour, minute, "x"), 1)


def _with_part_of_an_hour(time: Time, more: float) -> Joined:
    """Huit heures et demie, a las ocho menos cuarto."""
    ((hour, zero, mode),) = time["clock"]
    minutes = round(more * 60) if more in (0.5, 0.25) else int(more)
    spoken = "s" if mode == "o" or hour <= 12 else mode
    return not zero and as_time(_moved(hour, minutes, spoken))


def _pole(time: Time) -> tuple[tuple[int, int, str], ...] | None:
    """Return noon or midnight as a clock."""
    hour = {"noon": 12, "midnight": 24}.get(time.get("part", "")) if says_only(time, "part") else 0
    return ((hour, 0, "s"),) if hour else None


def _minutes(span: Any) -> int:
    """Return the minutes of a span that is less than an hour, else 0."""
    return int(span[3]) if not (span[1] or span[2]) and 0 < span[3] < 60 else 0


def _moved(hour: int, minutes: int, mode: str = "s") -> Time:
    """Return the clock so many minutes after an hour."""
    total = hour * 60 + minutes
    if total < 60:
        total += 720 if hour else 1440
    return clock_of(total // 60 % 24, total % 60, mode if total < 780 else "x")


def _half_of_day(time: Any, half: str) -> Item | None:
    """8 pm."""
    if isinstance(time, (int, float)):
        return as_time(clock_of(int(time), 0, half)) if within(time, 1, 12) else None
    if len(time.get("clock", ())) != 1 or "part" in time:
        return None
    ((hour, minute, mode),) = time["clock"]
    if 1 <= hour <= 12 and mode not in ("a", "p"):
        return as_time(solid(time, **clock_of(hour, minute, half)))
    return as_time(solid(time)) if half == "p" and 12 < hour < 24 and mode == "x" else None


def _hour_in_part(hour: Any, time: Time) -> Joined:
    """8 in the evening."""
    if says_only(time, "part") and "weak" not in time and within(hour, 1, 12):
        fits = hour_in((hour, 0, "o"), time["part"]) is not None
        return fits and as_time({**clock_of(hour), "part": time["part"]}, 1)
    return None


def _minutes_past(minutes: Any, sign: int) -> Joined:
    """Return a sign, minutes, and whether nothing else can be meant."""
    if is_tuple(minutes):
        minutes = _minutes(minutes)
        return minutes > 0 and ("p", (sign, minutes, True), 0)
    if minutes == 0.5 and sign > 0:
        return ("p", (1, 30, True), 0)
    return within(minutes, 1, 59) and ("p", (sign, minutes, minutes in (15, 45)), 0)


def _past_hour(past: tuple[int, int, bool], hour: Any) -> Joined:
    """20 past 7; five to half past."""
    sign, minutes, sure = past
    if isinstance(hour, (int, float)):
        hour = clock_of(int(hour)) if within(hour, 0, 24) else {}
    clock = hour.get("clock", ()) if says_only(hour, "clock") else _pole(hour)
    if not clock or "bare" in hour:
        return None
    first, minute, mode = clock[0]
    if mode not in "sxo" or (minute and mode == "x"):
        return None
    clock = _moved(first, minute + sign * minutes)
    return as_time(clock) if sure or (sign > 0 and minutes % 5 == 0) else ("s", clock, 0)


def _span(number: float, unit: Span) -> Joined:
    months, days, minutes = (size * number for size in unit[1:])
    if not 0 < number < 100_000 or months != int(months):
        return None
    minutes += 1440 * (days - int(days))
    return ("S", (unit[0], int(months), int(days), round(minutes)), 0)


def _span_and_half(span: Span, more: float) -> Joined:
    name, months, days, minutes = span
    whole = {"hour": 60, "day": 1440, "week": 10_080}.get(name, 0)
    if name == "year":
        return ("S", (name, months + int(12 * more), days, minutes), 0)
    return bool(whole) and ("S", (name, months, days, minutes + round(whole * more)), 0)


def _scaled(span: Span, sign: int) -> tuple[int, ...]:
    return tuple(sign * size for size in span[1:])


# fmt: off
CLOCK_RULES: tuple[tuple[str, Rule], ...] = (
    ("A N", lambda _, hour: within(hour, 0, 24) and ("u", clock_of(hour), 0)),
    ("W N", lambda _, hour: within(hour, 0, 24) and as_time(clock_of(hour))),
    ("u w", lambda at, minute: as_time(clock_of(at["clock"][0][0], minute, "s"))),
    ("u U", lambda at, unit: unit[0] == "hour" and ("k", at, 0)),
    ("u m", lambda at, _: as_time(clock_of(at["clock"][0][0], 0, "x"))),
    ("A a", lambda _, hour: ("v", hour, 0)),
    ("v K", lambda hour, _: ("k", clock_of(hour), 0)),
    ("N K", lambda hour, dial: within(hour, 0, 24)
        and ("k", clock_of(hour, 0, "x" if dial == 24 or not hour else "o"), 0)),
    ("A c, A T, W T", lambda _, time: ("bare" not in time or "clock" in time)
        and "span" not in time and says(time, f"clock part {DATES}") and as_time(solid(time))),
    ("T K, c K, T m, c m", lambda time, _: says_only(time, "clock") and len(time["clock"]) == 1
        and time["clock"][0][2] != "o" and as_time(solid(time))),
    ("k N", _with_minutes),
    ("k X, k Q, k l, u X, u l", _with_part_of_an_hour),
    ("T X, T l", lambda time, more: bool(_pole(time))
        and _with_part_of_an_hour({"clock": _pole(time)}, more)),
    ("k S", lambda time, span: not time["clock"][0][1] and _minutes(span) > 0
        and as_time(clock_of(time["clock"][0][0], _minutes(span), time["clock"][0][2]))),
    ("J N, J Q", lambda sign, minutes: within(minutes, 1, 59) and ("l", sign * minutes, 0)),
    ("J S", lambda sign, span: _minutes(span) > 0 and ("l", sign * _minutes(span), 0)),
    ("l N", lambda less, hour: less < 0 and within(hour, 1, 24) and as_time(_moved(hour, less))),
    ("l k", lambda less, at: less < 0 and as_time(_moved(at["clock"][0][0] or 24, less))),
    ("Q b", lambda minutes, hour: as_time(_moved(hour, minutes - 60))),
    ("S b", lambda span, hour: _minutes(span) > 0 and as_time(_moved(hour, _minutes(span) - 60))),
    ("N H, c H, T H, k H", _half_of_day),
    ("T T, T k, k T", joined),
    ("N T", _hour_in_part),
    ("N P, Q P, S P", _minutes_past),
    ("p N, p T, p k", _past_hour),
    ("s H", lambda time, half: (item := _half_of_day(time, half)) and ("s", *item[1:])),
    ("s T", lambda time, more: (item := joined(time, more)) and ("s", *item[1:])),
    ("B N, B b", lambda minutes, hour: within(hour, 1, 24) and as_time(_moved(hour, minutes))),
    ("T Z, k Z", lambda time, zone: says(time, "clock part") and "zone" not in time
        and as_time(solid(time, zone=zone))),
    ("N U, a U", _span),
    ("N X", lambda number, more: number == int(number) and ("N", number + more, 0)),
    ("S X", _span_and_half),
    ("Q S, Q U", lambda minutes, span: span[:4] == ("hour", 0, 0, 60)
        and ("S", ("hour", 0, 0, minutes), 0)),
    ("S S, S i", lambda one, two: one[1:] > two[1:] and one[0] != two[0]
        and ("S", (two[0], *map(sum, zip(one[1:], two[1:], strict=True))), 0)),
    ("L S", lambda which, span: which > 0 and ("S", span, 1)),
    ("I S", lambda sign, span: as_time({"span": _scaled(span, min(sign, 1))})),
    ("S h", lambda span, sign: as_time({"span": _scaled(span, sign)})),
    ("S V", lambda span, sign: ("j", _scaled(span, sign), 0)),
    ("j T", lambda span, time: says(time, f"clock part {DATES}")
        and not says(time, "bare every span offset exact")
        and as_time(solid(time, offset=span), 1)),
)
# fmt: on
