"""Holds what a time says of its day, its clock and how often it comes, and joins two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeGuard

from aouo.facts.languages import bundled
from aouo.facts.times.tokens import Item

Time: TypeAlias = Mapping[str, Any]
"""Features, such as `{"weekday": (1,), "clock": ((8, 0, "o"),)}`.

A clock's last letter says how it was put: `o` an hour alone, `s` spoken ("half past 8"), `x` in
figures, `a`, `p` with its half of the day.
"""

SHAPES: Mapping[str, Any] = bundled("aouo.facts.times", "shapes.yml")
_CLASHES = {name: frozenset(others.split()) for name, others in SHAPES["clashes"].items()}
_IN_A_MONTH = frozenset({"day", "edge", "nth", "weekday", "every", "shift"})
HOURS: Mapping[str, Sequence[int]] = SHAPES["hours"]

Joined: TypeAlias = Item | Literal[False] | None
"""An item; nothing, if two neighbours say nothing together."""
DATES = "weekday month day shift nth easter edge period year"


def solid(time: Time, **more: Any) -> dict[str, Any]:
    """Return a time that the words beside it make sure of, with what these say."""
    return {name: time[name] for name in time if name not in ("weak", "bare", "unsure")} | more


def as_time(features: Mapping[str, Any] | None, cost: int = 0) -> Item | None:
    """Return features as a time."""
    return None if features is None else ("T", features, cost)


def says(time: Time, names: str) -> bool:
    """Whether a time says one of these."""
    return any(name in time for name in names.split())


def says_only(time: Time, names: str) -> bool:
    """Whether a time says nothing but these."""
    return time.keys() <= {"weak", "bare", *names.split()}


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Whether a value has parts: ordinals, a unit or a span."""
    return isinstance(value, tuple)


def within(number: object, least: int, most: int) -> bool:
    """Whether it is a whole number between two."""
    return isinstance(number, int) and least <= number <= most


def union(one: Time, two: Time) -> dict[str, Any] | None:
    """Join two times; None: they say two things."""
    for name in one.keys() & two.keys():
        if one[name] != two[name] and name not in ("weak", "bare"):
            rhythms = (one[name], two[name]) if name == "every" else ()
            if not rhythms or any(months or days % 7 or not days for months, days, _ in rhythms):
                return None
            one, two = {**one, name: max(rhythms)}, {**two, name: max(rhythms)}
    for here, there in ((one, two), (two, one)):
        for name in here.keys() & _CLASHES.keys():
            if _CLASHES[name] & there.keys():
                return None
    joined = {**one, **two}
    joined.pop("weak", None)
    span = joined.get("span")
    if span and span[2] and joined.keys() & {"clock", "part", "shift"}:
        return None
    if joined.get("period", ("",))[0] == "week" and joined.keys() & {"month", "day", "nth"}:
        return None
    if "month" in joined and "clock" in joined and not joined.keys() & _IN_A_MONTH:
        return None
    if not _fits_part(joined) or not _fits_rhythm(joined):
        return None
    return joined


def _fits_rhythm(time: Time) -> bool:
    """Whether what comes so often may have these days: not every day on Mondays."""
    every = time.get("every")
    if not every:
        return True
    months, days, minutes = every
    if minutes and time.keys() & {"clock", "part", "weekday", "day", "month", "nth"}:
        return False
    if "weekday" in time and "nth" not in time:
        return not months and days % 7 == 0
    return not time.keys() & {"day", "nth", "month", "edge"} or bool(months)


def _fits_part(time: Time) -> bool:
    if "part" not in time or "clock" not in time:
        return True
    return all(hour_in(clock, time["part"]) is not None for clock in time["clock"])


def hour_in(clock: tuple[int, int, str], part: str) -> int | None:
    """Return the hour, 0 to 23, that a clock names in a part of the day; None: none."""
    hour, _, mode = clock
    hours = HOURS[part]
    if mode in ("a", "p"):
        hour = hour % 12 + 12 * (mode == "p")
        return hour if hour in hours else None
    if mode == "x" and hour % 24 in hours:
        return hour % 24
    if part in ("night", "midnight", "evening", "dawn") and hour == 12 and mode != "x":
        return 0 if part != "evening" else None
    if hour > 12 or hour == 0:
        return hour % 24 if hour % 24 in hours else None
    late = hour % 12 + 12
    if part == "night":
        return hour if hour < 6 else late if late in hours else None
    first, second = (hour, late) if part in ("morning", "forenoon", "dawn") else (late, hour)
    return first if first in hours else second if second in hours else None
