"""Rewrites everyday words for a schedule as spans, fields of cron and dates.

Only words that can mean one thing are rewritten: "every day" names no time of day, "at 9" no day.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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
_SPAN_PHRASE = re.compile(rf"{_COUNT}\s*{_UNIT}")
_HALF = re.compile(r"half an hour")
_CLOCK = (
    r"(?:(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2}))?(?:\s*(?P<half>am|pm))?"
    r"|(?P<noon>noon|midnight))"
)
_TIMED = re.compile(rf"(?P<what>.+?),? at {_CLOCK}")
_TIME_FIRST = re.compile(rf"at {_CLOCK},? (?P<what>.+)")
_MINUTES = {"m": "m", "min": "m", "minute": "m", "h": "h", "hr": "h", "hour": "h", "d": "d"}
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_SETS = {"day": "*", "weekday": "1-5", "weekend": "0,6", "monday to friday": "1-5"}
_NTHS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_NTH = rf"(?:{'|'.join(_NTHS)}|last)"
_AND = r"(?:,? and |, )(?:the )?"
_DATE = r"[0-9]{1,2}(?:st|nd|rd|th|\.)?"
_OF_MONTH = r"(?P<month> monthly| (?:(?:of|in) )?(?:the|every|a) month)?"
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


def rewritten(text: str, today: date) -> str:
    """Return what `text` says as `every 2h`, `every 14d from 2026-12-04T17:00`, `5m`, `0 9 * * *`
    or `2026-03-01T09:00`.

    `today` is the day where its zone is. A text of another form is returned as it is.
    """
    words = " ".join(text.lower().replace("each ", "every ").split()).rstrip(".")
    if found := _TIMED.fullmatch(words) or _TIME_FIRST.fullmatch(words):
        clock = _clock(found)
        return (_on(found["what"], clock, today) if clock else "") or text
    if found := re.fullmatch(rf"(?P<what>today|tomorrow),? {_CLOCK}", words):
        clock = _clock(found)
        return (_on(found["what"], clock, today) if clock else "") or text
    if words.startswith("in "):
        return _span(words.removeprefix("in ")) or text
    if words.endswith(" from now"):
        return _span(words.removesuffix(" from now")) or text
    if words.startswith("every "):
        span = words.removeprefix("every ")
        said = _span(span) or (_span(f"1 {span}") if span in ("minute", "hour") else "")
        return f"every {said}" if said else text
    return text


def lacks_time(text: str) -> bool:
    """Whether words would be a schedule, if they named a time of day."""
    words = " ".join(text.lower().replace("each ", "every ").split()).rstrip(".")
    return " at " not in words and bool(_on(words, "09:00", date(2000, 1, 1)))


def _on(what: str, clock: str, today: date) -> str:
    """Return when a time of day comes on the days that `what` names, "" = it names none."""
    if what in ("today", "tomorrow"):
        day = today + timedelta(days=what == "tomorrow") if today < date.max else today
        return f"{day.isoformat()}T{clock}"
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", what):
        return f"{what}T{clock}"
    for pattern, meant in _REPEATED:
        if found := pattern.fullmatch(what):
            days = meant(found, today)
            if " from " in days:
                return f"every {days}T{clock}"
            hour, _, minute = clock.partition(":")
            return f"{int(minute)} {int(hour)} {days}" if days else ""
    return ""


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


# What comes again, as the last three fields of cron, or as `14d from 2026-12-04`; "" = unclear


def _other(found: re.Match[str], today: date) -> str:
    """Every so many days or weeks, from the next such day on."""
    parts = found.groupdict()
    if parts.get("many"):
        return f"{_counted(parts['many'] or '')}d from {today.isoformat()}"
    name = found["day"]
    if name == "day":
        return f"2d from {today.isoformat()}"
    if (day := _day(name)) is None:
        return ""
    weeks = _counted(parts.get("count") or "2")
    if weeks == 1:
        return f"* * {day}"
    first = today + timedelta(days=(day - today.isoweekday()) % 7)
    return f"{7 * weeks}d from {first.isoformat()}"


def _nth_day(found: re.Match[str], today: date) -> str:
    """Without a month "every third Friday" may be one of every three, or the third of a month."""
    del today
    nths, day = re.findall(_NTH, found["nths"]), _day(found["day"])
    unclear = found["every"] and not found["month"] and set(nths) - {"first", "1st", "last"}
    if day is None or unclear:
        return ""
    days = [f"{day}L" if nth == "last" else f"{day}#{_NTHS[nth]}" for nth in nths]
    return f"* * {','.join(days)}"


def _month_end(found: re.Match[str], today: date) -> str:
    del today
    return "L * *" if found["day"] in (None, "day") else "LW * *"


def _quarterly(found: re.Match[str], today: date) -> str:
    del today
    months = _counted(found["count"] or "3")
    return f"{int(found['date'])} */{months} *" if months and 12 % months == 0 else ""


def _monthly(found: re.Match[str], today: date) -> str:
    del today
    days = [str(int(day)) for day in re.findall(r"[0-9]+", found["dates"])]
    return f"{','.join(days)} * *" if "month" in found[0] else ""


def _yearly(found: re.Match[str], today: date) -> str:
    del today
    name, day = found["month"] or found["month2"], found["date"] or found["date2"]
    months = [n for n, month in enumerate(_MONTHS, start=1) if month.startswith(name[:9])]
    known = len(months) == 1 and "year" in found[0].replace("annually", "year")
    return f"{int(day)} {months[0]} *" if known else ""


def _weekly(found: re.Match[str], today: date) -> str:
    del today
    days = _days(found["day"] or found["on"] or "day")
    return f"* * {days}" if days else ""


def _counted(word: str) -> int:
    return _NUMBERS.get(word) or int(word)


_REPEATED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], str]], ...] = tuple(
    (re.compile(pattern), meant)
    for pattern, meant in (
        (r"every (?:other|second|2nd|alternate) (?P<day>(?!week)\w+)", _other),
        (
            rf"(?:every (?:other|second|alternate) week|(?:every )?fortnight(?:ly)?|biweekly|"
            rf"every {_COUNT} weeks),? on (?P<day>\w+)",
            _other,
        ),
        (rf"every {_COUNT.replace('<count>', '<many>')} days", _other),
        (
            r"(?:every month )?(?:(?:on |every )?(?:the )?last "
            rf"(?P<day>day|weekday|working day|workday)|at the end){_OF_MONTH}",
            _month_end,
        ),
        (
            rf"(?P<every>every )?(?:on )?(?:the )?(?P<nths>{_NTH}(?:{_AND}{_NTH})*) "
            rf"(?P<day>\w+?)s?{_OF_MONTH}",
            _nth_day,
        ),
        (
            rf"every (?:quarter|{_COUNT} months) on (?:day |the )?(?P<date>[0-9]{{1,2}})"
            r"(?:st|nd|rd|th)?",
            _quarterly,
        ),
        (
            rf"(?:every month |monthly )?(?:on |every )(?:day |the )?(?P<dates>{_DATE}"
            rf"(?:{_AND}{_DATE})*)(?: day)?{_OF_MONTH}",
            _monthly,
        ),
        (
            r"(?:(?:every year|yearly|annually|once a year),? )?(?:on )?(?:the )?"
            r"(?:(?P<date>[0-9]{1,2})(?:st|nd|rd|th|\.)? (?:of )?(?P<month>[a-z]+)"
            r"|(?P<month2>[a-z]+) (?P<date2>[0-9]{1,2})(?:st|nd|rd|th)?)"
            r"(?:,? (?:every year|yearly))?",
            _yearly,
        ),
        (r"every (?P<day>.+)|daily|(?:on )?(?P<on>.+s|monday to friday)", _weekly),
    )
)
"""How people say that something comes again; the first pattern that fits decides."""


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
