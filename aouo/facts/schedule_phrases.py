"""Rewrites a schedule in everyday words as cron, a span or a time. Pure.

Only words that can mean one thing are rewritten: "every day" names no time of day, "at 9" no day.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

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
_SPAN = re.compile(rf"{_COUNT}\s*{_UNIT}")
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


def rewritten(text: str, today: date) -> str:
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
    if not (found := _SPAN.fullmatch(words)):
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
