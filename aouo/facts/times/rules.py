"""Joins two neighbours to what they say together, by rules that know no language.

Categories: T time · N number · R ordinal · a article · U unit · S span · A at · O on · I in ·
F filler · C and · E every · Y other · L next, this, last · D end of · Q quarter · B halb ·
H am, pm · K o'clock · P past, to · J more or less · X and a half · V before, after · h ago ·
Z zone · G range · W from · M mark of an ordinal · y year · w spelled minutes · m 18h · t el 15 ·
b the hour that an ordinal ends · f number of a day, a month · and unfinished: c d e g i j l n o p
q r v, besides `k`, `u` (times as they are), `s` (an answer), x more or less, z a week on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aouo.facts.times.clocks import CLOCK_RULES, Rule, on_day
from aouo.facts.times.features import (
    DATES,
    Joined,
    Time,
    as_time,
    is_tuple,
    says,
    says_only,
    solid,
    union,
    within,
)
from aouo.facts.times.tokens import clock_of

_MONTHLY, _YEARLY = (1, 0, 0), (12, 0, 0)
_LONG = "period month year"
_IN_WEEK = {"start": 1, "mid": 3, "end": 5}
_LED = "Od>T Wd>T Eo>T As>T Fd>d Fy>y FR>R Fa>a1 Ak>k Fk>k CS>i CR>r GN>q Gd>q"
"""What words of glue lead to, as it is: which two, and what they are (at which cost)."""


def _is_of_month(time: Time) -> bool:
    """Whether a day of the month can be counted in it: each month, this month."""
    return time.get("every") == _MONTHLY or time.get("period", ("",))[0] == "month"


def _day_of_month(days: Any, time: Time) -> Joined:
    """The 3rd of March; the first Monday; the 3rd at 9."""
    if not is_tuple(days):
        days = (days,) if within(days, 1, 31) and "month" in time else ()
    if not days or "bare" in time:
        return None
    counted = min(days) > 0
    if "weekday" in time:
        fits = says_only(time, "weekday clock part period month year")
        fits = fits or ("month" in time and says_only(time, "month year clock part weekday zone"))
        return fits and all(-1 <= day <= 5 for day in days) and as_time(solid(time, nth=days))
    if "month" in time and says_only(time, "month year clock part zone"):
        return counted and as_time(solid(time, day=days))
    if _is_of_month(time) and not says(time, "day nth edge"):
        return counted and as_time(solid(time, day=days))
    return counted and says_only(time, "clock part zone") and as_time(solid(time, day=days), 1)


def _month_day(time: Time, day: Any) -> Joined:
    """March 3rd; Tuesday the 8th; lundi 30."""
    if says(time, "day nth span bare"):
        return None
    if is_tuple(day):
        fits = (says(time, "weekday month") or says_only(time, "part clock")) and min(day) > 0
        return fits and as_time(union(solid(time), {"day": day}))
    if not within(day, 1, 31):
        return None
    if says_only(time, "weekday"):
        sure = solid(time, day=(day,))
        return as_time(sure if day > 24 else sure | {"bare": True}, 2)
    fits = "month" in time and not says(time, "clock part")
    return fits and as_time(union(solid(time), {"day": (day,)}))


def _numbered(number: Any, unit: str) -> Joined:
    """The day of a month, or the month, where a word says which."""
    number = number[0] if is_tuple(number) else number
    if unit == "day":
        return within(number, 1, 31) and as_time({"day": (number,)})
    return within(number, 1, 12) and as_time({"month": number})


def _day_in(day: tuple[Any, ...], time: Time) -> Joined:
    """The last day of the month."""
    if day[1] != "day" or says(time, "day nth weekday edge shift"):
        return None
    in_year = time.get("period", ("",))[0] == "year" and day[0] in (1, -1)
    fits = "month" in time or in_year or _is_of_month(time)
    return fits and as_time(solid(time, day=(day[0],)))


def _relative(which: int, time: Time) -> Joined:
    """Next Monday, this evening, last March; Friday after next."""
    if says(time, "shift span every exact nth clock") and not (
        says_only(time, "month weekday nth") and {"month", "weekday", "nth"} <= time.keys()
    ):
        return None
    if says_only(time, "part") and which < 1:
        return as_time(solid(time, shift=which))
    if not says(time, "weekday month easter"):
        return None
    if which > 1:
        return says_only(time, "weekday") and as_time(solid(time, offset=(0, 7, 0)))
    return as_time(solid(time, **{"past" if which < 0 else "near": True}))


_PERIODS = ("week", "month", "3month", "year")


def _edge(edge: str, time: Any) -> Joined:
    """The end of March, of the month, of next week."""
    if is_tuple(time):
        return time[0] in ("week", "month", "year") and _edge(edge, {"period": (time[0], 0)})
    known = says(time, "month period") or time.get("every", (0,))[0]
    if not known or says(time, "day nth edge weekday shift"):
        return None
    if time.get("period", ("",))[0] == "week":
        return as_time(solid(time, weekday=(_IN_WEEK[edge],)))
    return as_time(solid(time, edge=edge))


def _every_span(_: object, span: tuple[Any, ...]) -> Joined:
    """Every 2 hours, every other day."""
    if isinstance(span[0], str):
        return as_time({"every": span[1:], "counted": True})
    count, _, *sizes = span
    return count > 1 and as_time({"every": tuple(count * n for n in sizes), "counted": True})


def _every_time(_: object, time: Time) -> Joined:
    if says(time, "shift span year exact offset bare past"):
        return None
    if "every" in time:
        return "weekday" in time and as_time(time)
    rest = {name: value for name, value in solid(time).items() if name != "period"}
    if "nth" in time:
        return _every_nth(rest, of_month="period" in time)
    if "weekday" in time and not says(time, "day month"):
        return as_time({**rest, "every": (0, 7, 0)})
    if "month" in time:
        return says(time, "day edge") and as_time({**rest, "every": _YEARLY})
    if says(time, "day edge"):
        return as_time({**rest, "every": _MONTHLY})
    return "part" in time and as_time({**rest, "every": (0, 1, 0)})


def _every_nth(time: Time, *, of_month: bool) -> Joined:
    """Every first Monday of the month; every second Friday is every other, the third unclear."""
    if "month" in time:
        return None
    if of_month or set(time["nth"]) <= {1, -1}:
        return as_time({**time, "every": _MONTHLY})
    rest = {name: value for name, value in time.items() if name != "nth"}
    return time["nth"] == (2,) and as_time({**rest, "every": (0, 14, 0)})


def _list(time: Time, other: Time, cost: int = 0) -> Joined:
    """8:00 and 20:00; Monday and Friday."""
    one, two = solid(time), solid(other)
    if "every" in one and says_only(two, "weekday"):
        two["every"] = one["every"]
    if one.keys() != two.keys() or "bare" in time:
        return None
    differing = [name for name in one if one[name] != two[name]]
    if len(differing) != 1 or differing[0] not in ("clock", "weekday", "day", "nth"):
        return None
    name = differing[0]
    return as_time({**one, name: (*one[name], *two[name])}, cost)


def _range(begin: Time, end: Any) -> Joined:
    """From Monday to Friday comes every week; of other ranges the beginning is taken."""
    if isinstance(end, (int, float)):
        sure = "clock" in begin and "bare" not in begin and within(end, 0, 24)
        dated = {"month", "day"} <= begin.keys() and says_only(begin, "month day")
        fits = sure or (dated and within(end, 1, 31))
        return fits and as_time(solid(begin, until=(end, 0, "o")), 1)
    if "bare" in begin or "bare" in end:
        return None
    one, two = solid(begin), solid(end)
    if "weekday" in one and one.keys() == two.keys() and says_only(one, "weekday every"):
        first, last = one["weekday"][0], two["weekday"][-1]
        weekly = "every" in one or (first, last) in ((1, 5), (6, 7))
        days = {"weekday": tuple(range(first, last + 1))}
        return first < last and as_time(days | ({"every": (0, 7, 0)} if weekly else {}))
    if "clock" in one and "clock" in two and says_only(two, "clock part"):
        return _clock_range(one, two)
    if not (one.keys() & two.keys() & {"day", "shift", "weekday"} and says_only(two, DATES)):
        return None
    rest = {name: two[name] for name in ("month", "year") if name in two and "shift" not in one}
    if "day" in one and "month" not in one and min(one["day"]) >= min(two["day"]):
        return None
    return as_time({**rest, **one, "until": True})


def _open_range(begin: Any, end: Any) -> Joined:
    """3 to 5 pm; 3 to 5 March."""
    if isinstance(end, (int, float)) or says(end, "bare unsure"):
        return None
    first = begin[0] if is_tuple(begin) else begin
    if {"month", "day"} <= end.keys() and says_only(end, "month day year"):
        return within(first, 1, end["day"][0] - 1) and as_time(solid(end, day=(first,)))
    fits = (
        "clock" in end
        and says_only(end, "clock part")
        and not is_tuple(begin)
        and within(first, 0, 24)
    )
    return fits and _clock_range(clock_of(first), end)


def _clock_range(begin: Time, end: Time) -> Joined:
    """Return the beginning: it is in the half or part of the day of its end, if it comes before."""
    (first, minute, mode), (last, late, half) = begin["clock"][0], end["clock"][0]
    if mode == "o" and half in ("a", "p") and (first % 12, minute) < (last % 12 or 12, late):
        mode = half
    part = {"part": end["part"]} if "part" in end and "part" not in begin else {}
    both = union(solid(begin, **clock_of(first, minute, mode)), part)
    return as_time(both and {**both, "until": (last, late, half)}, 1)


# fmt: off
_RULES: tuple[tuple[str, Rule], ...] = (
    *CLOCK_RULES,
    ("T T", lambda one, two: says_only({**one, **two}, "weekday every") and _list(one, two, 1)),
    ("T z", lambda time, apart: on_day(apart, time)),
    ("z T", lambda apart, time: "shift" in time and on_day(apart, time)),
    ("S T", lambda span, time: span[2] % 7 == 0 < span[2] and on_day(span[1:], time)),
    ("T x", lambda time, _: says(time, "clock span") and as_time(time)),
    ("S x", lambda span, _: ("S", span, 0)),
    ("F T", lambda some, time: "bare" not in time
        and as_time({**time, "part": "vague"} if some and says_only(time, _LONG) else time)),
    ("I T", lambda sign, time: sign == 1 and says(time, "part month period easter")
        and not says(time, "shift span every")
        and as_time(time if "period" in time else solid(time))),
    ("O T", lambda _, time: says(time, f"part {DATES}") and "span" not in time
        and as_time(solid(time), 2 if "shift" in time else 0)),
    ("T d", lambda time, date: says_only(time, "weekday shift part clock")
        and as_time(union(time, date))),
    ("d T", lambda date, time: says_only(time, "clock part") and as_time(union(date, time))),
    ("t N", lambda _, day: within(day, 1, 31) and as_time({"day": (day,)})),
    ("O R", lambda _, days: min(days) > 0 and as_time({"day": days})),
    ("N M", lambda number, _: within(number, 1, 99) and ("R", (number,), 0)),
    ("R r", lambda days, more: ("R", (*days, *more), 0)),
    ("R T, N T", _day_of_month),
    ("T R, T N", _month_day),
    ("N f, R f", _numbered),
    ("y U", lambda year, unit: unit[0] == "year" and ("y", year, 0)),
    ("y T", lambda year, time: {"month", "day"} <= time.keys()
        and as_time(union(time, {"year": year}))),
    ("T y", lambda time, year: says(time, "month easter") and as_time(union(time, {"year": year}))),
    ("R U", lambda days, unit: ("g", (days[0], *unit), 0)),
    ("Y U", lambda count, unit: ("g", (count, *unit), 0)),
    ("g T", _day_in),
    ("U N", lambda unit, day: unit[0] == "day" and within(day, 1, 31) and ("R", (day,), 2)),
    ("L T", _relative),
    ("T L", lambda time, which: _relative(which, time)),
    ("L U", lambda which, unit: unit[0] in _PERIODS and as_time({"period": (unit[0], which)})),
    ("U L", lambda unit, which: unit[0] in _PERIODS and as_time({"period": (unit[0], which)})),
    ("F U, I U", lambda _, unit: unit[0] in _PERIODS
        and as_time({"period": (unit[0], 0), "weak": True}, 1)),
    ("D T, D U", _edge),
    ("E U", lambda _, unit: as_time({"every": unit[1:]})),
    ("E S, E g", _every_span),
    ("E T", _every_time),
    ("E R", lambda _, days: min(days) > 0 and as_time({"day": days, "every": _MONTHLY}, 1)),
    ("Y T", lambda count, time: "weekday" in time and says_only(time, "weekday clock part")
        and ("o", solid(time, every=(0, 7 * count, 0)), 0)),
    ("G T", lambda at, time: ("q", {**time, "unsure": True} if at else time, 0)),
    ("C N", lambda _, hour: within(hour, 0, 24) and ("n", hour, 0)),
    ("C T", lambda _, time: "bare" not in time and ("e", time, 0)),
    ("T n", lambda time, hour: "clock" in time and "bare" not in time
        and as_time(solid(time, clock=(*time["clock"], (hour, 0, "o"))), 1)),
    ("T e", _list),
    ("T q, k q, d q", _range),
    ("N q, R q", _open_range),
)
# fmt: on


def _leading(category: str, cost: int) -> Rule:
    return lambda _, value: (category, value, cost)


def _by_pair() -> Mapping[tuple[str, str], Sequence[Rule]]:
    rules: dict[tuple[str, str], list[Rule]] = {}
    for pairs, rule in _RULES:
        for pair in pairs.split(", "):
            rules.setdefault((pair[0], pair[-1]), []).append(rule)
    for led in _LED.split():
        rules.setdefault((led[0], led[1]), []).append(_leading(led[3], int(led[4:] or 0)))
    return rules


RULES = _by_pair()
"""The rules by the categories of the two that they join."""
