"""Says how often a time comes, as a schedule has it: fields of cron, or so many minutes or days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from aouo.facts.times.days import Sight
from aouo.facts.times.features import Time, says
from aouo.facts.times.resolving import NINE, PARTS, hours_of

_DAY = 1440


@dataclass(frozen=True, slots=True)
class Recurrence:
    """What comes again: `text` is the schedule, such as `0 9 * * 1`, `every 2h` or
    `every 14d from 2026-12-04T17:00`."""

    text: str


def recurrence_of(features: Time, sight: Sight) -> Recurrence:
    """Return how often a time comes.

    A schedule's own text names its time of day, by the 24 hours; else a day without a time is nine,
    and "at 1" to "at 5" the afternoon.

    Raises:
        TimeRefused: it comes once, or it is unclear how often.
    """
    every = features.get("every")
    if not every:
        raise sight.refuse("no-recurrence")
    months, days, minutes = every
    timed = says(features, "clock part")
    if minutes and not months and not days:
        return Recurrence(_counted(minutes))
    if not timed and days and "counted" in features and "weekday" not in features:
        return Recurrence(_counted(days * _DAY))
    vague, noon = (features.get("part") in parts for parts in (("vague",), ("noon", "midnight")))
    if vague or (sight.schedule and "clock" not in features and not noon) or "zone" in features:
        raise sight.refuse("no-recurrence")
    clocks = _clocks(features, sight)
    if (anchor := _anchored(features, days)) is not None:
        if len(clocks) > 1:
            raise sight.refuse("two-times")
        first = sight.today + timedelta(days=anchor and (anchor - sight.today.isoweekday()) % 7)
        hour, minute = clocks[0]
        return Recurrence(f"every {days}d from {first.isoformat()}T{hour:02}:{minute:02}")
    fields = _day_fields(features, months, days, sight)
    if not fields:
        raise sight.refuse("no-recurrence")
    if len({minute for _, minute in clocks}) > 1:
        raise sight.refuse("two-times")
    hours = ",".join(str(hour) for hour in sorted({hour for hour, _ in clocks}))
    return Recurrence(f"{clocks[0][1]} {hours} {fields}")


def _counted(minutes: int) -> str:
    if minutes % _DAY == 0:
        return f"every {minutes // _DAY}d"
    return f"every {minutes}m" if minutes % 60 else f"every {minutes // 60}h"


def _clocks(features: Time, sight: Sight) -> list[tuple[int, int]]:
    part = features.get("part")
    clocks = features.get("clock", ())
    if not clocks:
        return [(PARTS[part] if part else NINE, 0)]
    sure = sight.schedule or len(clocks) > 1
    walls: list[tuple[int, int]] = []
    for hour, minute, mode in clocks:
        mode = "x" if sure and not part and mode in "os" else mode
        walls += [(at, minute) for at in hours_of((hour, minute, mode), part, near=False)]
    if len(walls) < len(clocks) or any(hour > 23 for hour, _ in walls):
        raise sight.refuse("no-recurrence")
    return walls


def _anchored(features: Time, days: int) -> int | None:
    """Return the weekday from which days are counted, 0 = from today, None = they are not."""
    weekday = features.get("weekday", ())
    if days in (0, 1) or (days == 7 and weekday) or len(weekday) > 1:
        return None
    if not weekday and "counted" not in features:
        return None
    return weekday[0] if weekday else 0


def _day_fields(features: Time, months: int, days: int, sight: Sight) -> str:
    """Return the last three fields of cron; "" = it is unclear on which days."""
    weekday = tuple(sorted({day % 7 for day in features.get("weekday", ())}))
    if "nth" in features:
        return _nth_fields(features, weekday) if months == 1 else ""
    if days:
        if weekday and days == 7:
            return f"* * {'1-5' if weekday == (1, 2, 3, 4, 5) else ','.join(map(str, weekday))}"
        return "* * *" if days == 1 and not weekday else ""
    edge = {"end": (-1,), "start": (1,), "mid": (15,)}.get(features.get("edge", ""))
    dates = features.get("day", edge or ())
    if not dates or (months % 12 and 12 % months):
        return ""
    if not sight.schedule and max(dates) > (29 if features.get("month") == 2 else 31):
        raise sight.refuse("no-such-day")
    listed = ",".join("L" if date == -1 else str(date) for date in sorted(dates))
    if months == 12:
        return f"{listed} {features['month']} *" if "month" in features else ""
    return f"{listed} {'*' if months == 1 else f'*/{months}'} *" if months < 12 else ""


def _nth_fields(features: Time, weekday: tuple[int, ...]) -> str:
    nths = features["nth"]
    if weekday == (1, 2, 3, 4, 5):
        return "LW * *" if nths == (-1,) else ""
    if len(weekday) != 1:
        return ""
    days = [f"{weekday[0]}L" if nth == -1 else f"{weekday[0]}#{nth}" for nth in nths]
    return f"* * {','.join(days)}"
