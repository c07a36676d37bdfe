"""Reads the values of slots as people write them in English and German, and says them back.

Only words that can mean one thing are taken; what was understood is said back, and what is said
back reads as itself. Rules where words leave something open:

- a day without a time is nine in the morning; a time without a day is the next such time, of a
  twelve-hour clock if neither half nor minutes are said ("at 8" at noon is 20:00);
- with a day, "at 1" to "at 5" without a half is the afternoon;
- a weekday is the next one, never today; a date without a year is the next such date;
- "03/04" is refused, since it is two days.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import lru_cache
from typing import TypeAlias

from aouo.facts import schedule


@dataclass(frozen=True, slots=True)
class Here:
    """When (aware), where and in which language something is said."""

    now: datetime
    zone: tzinfo
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Money:
    """An amount; `currency` as it is shown, "" = none was said."""

    amount: Decimal
    currency: str = ""


Value: TypeAlias = str | int | float | Money | date | datetime | timedelta


class Misread(ValueError):
    """A text that is no such value; `why` names a sentence, with its `parts`."""

    def __init__(self, why: str, **parts: object) -> None:
        super().__init__(why)
        self.why, self.parts = f"slots.{why}", parts


def read(kind: str, text: str, here: Here) -> Value:
    """Read a value of a kind.

    Raises:
        Misread: it is none, or could be two.
    """
    text = text.strip()
    if not text:
        raise Misread("empty")
    return _READERS.get(kind, lambda text, here: text)(text, here)


def say(kind: str, value: Value, here: Here) -> str:
    """Say a value back; `read` makes the same of it."""
    match value:
        case datetime():
            at = value.astimezone(here.zone)
            return f"{_day_said(at.date(), here)}, {at:%H:%M}"
        case date():
            return _day_said(value, here)
        case timedelta():
            return _span_said(value)
        case Money():
            amount = f"{value.amount:.2f}"
            amount = amount.replace(".", ",") if _is_german(here) else amount
            return f"{amount} {value.currency}".strip()
        case float():
            return f"{value:g}" if kind == "money" else repr(value).removesuffix(".0")
        case _:
            return str(value)


_AMOUNTS = re.compile(
    r"[ /+]*\d+\.\d\d(?: [^\W\d]{1,3}| [€$£])?(?:[ /+]+\d+\.\d\d(?: [^\W\d]{1,3}| [€$£])?)*"
)


def amounts(cell: str, here: Here) -> str:
    """Return a cell that holds nothing but amounts, as SQL prints them, as a person's language
    writes them."""
    return cell.replace(".", ",") if _is_german(here) and _AMOUNTS.fullmatch(cell) else cell


def stored(kind: str, value: Value) -> str | int | float:
    """Return a value as SQL and JSON hold it: money as a number, days and times in ISO 8601, times
    in UTC, a duration in minutes."""
    del kind
    match value:
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        case date():
            return value.isoformat()
        case timedelta():
            return round(value.total_seconds() / 60)
        case Money():
            return float(round(value.amount, 2))
        case _:
            return value


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SHORT_DE = ("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So")
_MONTHS_DE = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)
_TWELVE_DE = ("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn")
_TWELVE = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred")
_TENS_DE = (
    *("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"),
    "hundert",
)
_NUMBERS = {
    **{word: f"{n}0" for words in (_TENS, _TENS_DE) for n, word in enumerate(words, 2)},
    "fifteen": "15",
    "fünfzehn": "15",
    **{word: str(n) for words in (_TWELVE, _TWELVE_DE) for n, word in enumerate(words, 1)},
    "eleven": "11",
    "elf": "11",
    "twelve": "12",
    "zwölf": "12",
    "eins": "1",
    "a": "1",
    **dict.fromkeys(("an", "eine", "einen", "einem", "einer"), "1"),
}
_WORDS: Mapping[str, str] = {
    **{word.casefold(): _MONTHS[n] for n, word in enumerate(_MONTHS_DE)},
    **{word[:3].casefold(): _MONTHS[n] for n, word in enumerate(_MONTHS_DE)},
    **{word[:3]: word for word in (*_MONTHS, *_DAYS)},
    **dict(zip((w.casefold() for w in _SHORT_DE), _DAYS, strict=True)),
    **dict(
        zip(
            ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
            _DAYS,
            strict=True,
        )
    ),
    "sonnabend": "saturday", "tues": "tuesday", "thurs": "thursday", "sept": "september",
    "heute": "today", "übermorgen": "overmorrow", "gestern": "yesterday", "um": "at",
    "ab": "at", "gegen": "at", "tonight": "today evening", "abend": "evening", "nacht": "night",
    "abends": "evening", "nachmittag": "afternoon", "nachmittags": "afternoon",
    "mittag": "noon", "mittags": "noon", "mitternacht": "midnight", "morgens": "morning",
    "früh": "morning", "vormittag": "forenoon", "vormittags": "forenoon",
    **dict.fromkeys(("nächsten", "nächste", "nächster", "kommenden", "kommende"), "next"),
    **dict.fromkeys(("jeden", "jede", "jedes", "jeder", "alle", "each"), "every"),
    **dict.fromkeys(("min", "mins", "minuten", "minute", "minutes", "m"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs", "std", "stunde", "stunden", "hour", "hours"), "hours"),
    **dict.fromkeys(("d", "tag", "tage", "tagen", "day", "days"), "days"),
    **dict.fromkeys(("w", "woche", "wochen", "week", "weeks"), "weeks"),
    "wochentag": "weekday", "werktag": "weekday", "und": "and", "nach": "past", "vor": "to",
    "viertel": "quarter", "halbe": "half", "halben": "half", "halber": "half",
}  # fmt: skip
_SPELT_MIN, _ALIKE = 5, 0.86
_EVERY = (
    (r"(?:morgen|morning)(?= (?:um|at)\b)", ""),
    (r"(?:abend|evening) (?:um|at) (\d+)$", r" at \1 pm"),
    (r"(?:morgen|morning)\b", " at 8:00"),
    (r"(?:abend|evening)\b", " at 19:00"),
)
_OTHERS = ("tomorrow", "yesterday", "every", "evening", "morning")
_SPELT = frozenset(
    word for word in (*_DAYS, *_MONTHS, *_WORDS, *_OTHERS) if len(word) >= _SPELT_MIN
)
_HALF_HOUR = re.compile(r"\b(?:1 )?half (?:1 )?hours\b")
_TIMES = {
    "morning": 8,
    "forenoon": 10,
    "noon": 12,
    "afternoon": 15,
    "evening": 19,
    "night": 22,
    "midnight": 0,
}
_UNITS = {"minutes": 1, "hours": 60, "days": 1440, "weeks": 10080}
_SPAN = re.compile(r"(\d+(?:[.,]\d+)?) (minutes|hours|days|weeks)")
_CLOCK = (
    r"(?:at )?(?:(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?(?P<clock> o'clock)?"
    r"(?: (?P<half>am|pm))?(?: (?:in )?(?:the )?(?P<part>morning|afternoon|evening|night))?"
    r"|(?:in )?(?:the )?(?P<word>morning|forenoon|noon|afternoon|evening|night|midnight))"
)
_DAY = (
    r"(?:on )?(?:the )?(?:(?P<near>today|tomorrow|overmorrow)"
    rf"|(?:next |this )?(?P<weekday>{'|'.join(_DAYS)})"
    r"|(?P<iso>\d{4}-\d{2}-\d{2})"
    r"|(?P<day>\d{1,2})\.(?:(?P<number>\d{1,2})\.?)(?:(?P<year>\d{4}))?"
    r"|(?P<day2>\d{1,2})(?:st|nd|rd|th|\.)?(?: of)? "
    rf"(?P<month>{'|'.join(_MONTHS)})(?: (?P<year2>\d{{4}}))?"
    rf"|(?P<month3>{'|'.join(_MONTHS)}) "
    r"(?P<day3>\d{1,2})(?:st|nd|rd|th)?(?: (?P<year3>\d{4}))?"
    r"|(?P<monthday>\d{1,2})(?:st|nd|rd|th|\.))"
)
_WHEN = re.compile(rf"(?:{_DAY})(?: {_CLOCK})?")
_WHEN_AFTER = re.compile(rf"{_CLOCK} (?:{_DAY})")
_TIME = re.compile(_CLOCK)
_SLASHED = re.compile(r"\b\d{1,2}/\d{1,2}\b")
_SAID = re.compile(r"(?:(?:today|tomorrow), )?[a-z]{6,9}, (?=\d)|(?<=today), [a-z]{6,9}(?= \d)")


def _plain(text: str) -> str:
    """Return what people write as words of one small English, by spaces parted."""
    text = text.casefold().replace("\u00a0", " ").replace("’", "'")
    text = re.sub(r"(?<!\d )\bam (?=\d{1,2}\.|(?:mo|di|mi|do|fr|sa|so)\w*)", "on ", text)
    text = re.sub(r"\btäglich\b|\bdaily\b", "every day", text)
    text = re.sub(r"\bmorgen (früh|vormittag|mittag|nachmittag|abend|nacht)", r"tomorrow \1", text)
    for said, meant in _EVERY:
        text = re.sub(rf"\b(?:jeden|every) {said}", f"every day{meant}", text)
    text = re.sub(
        r"\b(am|heute) morgen\b", lambda m: f"{'today ' if m[1] == 'heute' else ''}früh", text
    )
    text = re.sub(r"\bmorgen\b", "tomorrow", text)
    text = re.sub(r"\bday after tomorrow\b", "overmorrow", text)
    text = re.sub(r"(\d{1,2}) ?uhr(?: (\d{2}))?\b", lambda m: f"{m[1]}:{m[2] or '00'}", text)
    text = re.sub(r"(\d)h(\d{2})\b", r"\1 h \2 min", text)
    text = re.sub(r"(\d) ?(am|pm|a\.m\.|p\.m\.)(?=\s|$|,)", lambda m: f"{m[1]} {m[2][0]}m", text)
    text = re.sub(r"(\d)(min|mins|h|hr|std|d|w|m)\b", r"\1 \2", text)
    words = [word for word in re.split(r"[\s,]+", text.rstrip(" .!")) if word]
    words = [_spelt(word) for word in words]
    words = [_WORDS.get(word.rstrip("."), _WORDS.get(word, word)) for word in words]
    words = [_NUMBERS.get(word, word) for word in " ".join(words).split()]
    return _clocks(" ".join(word for word in words if word not in ("please", "bitte")))


@lru_cache(maxsize=1_000)
def _spelt(word: str) -> str:
    """Return the word of a day or time that a misspelt one is, else the word itself."""
    if len(word) < _SPELT_MIN or not word.isalpha() or word in _SPELT:
        return word
    return next(iter(get_close_matches(word, _SPELT, 1, _ALIKE)), word)


def _clocks(text: str) -> str:
    """Write spoken clocks in figures: half past 8, halb 8, quarter to 8, viertel nach 8."""

    def to(hour: str, minutes: int) -> str:
        whole = (int(hour) * 60 + minutes) % 1440
        return f"{whole // 60}:{whole % 60:02}"

    text = re.sub(r"\bhalf past (\d{1,2})\b", lambda m: to(m[1], 30), text)
    text = re.sub(r"\bhalb (\d{1,2})\b", lambda m: to(m[1], -30), text)
    text = re.sub(r"\bquarter past (\d{1,2})\b", lambda m: to(m[1], 15), text)
    text = re.sub(r"\bquarter to (\d{1,2})\b", lambda m: to(m[1], -15), text)
    return _HALF_HOUR.sub("30 minutes", text)


def is_bare(text: str) -> bool:
    """Whether a time is a number alone, such as "2" or "an": beside free words it may be none."""
    return _plain(text).isdecimal()


def _datetime(text: str, here: Here) -> datetime:
    if (exact := _iso(text, here)) is not None:
        return exact
    words = _plain(text)
    now = here.now.astimezone(here.zone)
    if _SLASHED.search(words):
        raise Misread("slashed", text=text)
    if words.startswith("in ") and (span := _span_of(words.removeprefix("in "))):
        return (here.now + span).astimezone(here.zone).replace(second=0, microsecond=0)
    if words.startswith("yesterday"):
        raise Misread("past", text=text)
    if (found := _WHEN.fullmatch(words) or _WHEN_AFTER.fullmatch(_unsaid(words))) or (
        found := _WHEN.fullmatch(_unsaid(words))
    ):
        day, clock = _day_of(found, now.date(), text), _clock_of(found, dayed=True)
    elif found := _TIME.fullmatch(words.removeprefix("today ")):
        return _next_time(found, now, here, text)
    else:
        raise Misread("no-time", text=text)
    if clock is None:
        raise Misread("no-time", text=text)
    at = _existing(datetime.combine(day, clock), here, text)
    if at <= here.now:
        raise Misread("past", text=text)
    return at


def _unsaid(words: str) -> str:
    """Leave out of what `say` wrote the day that it says twice."""
    for near in ("today ", "tomorrow "):
        rest = words.removeprefix(near)
        if rest != words and rest.split(" ")[0] in _DAYS:
            words = rest
    first, _, rest = words.partition(" ")
    return rest if first in _DAYS and rest[:1].isdigit() and " " in rest else words


def _iso(text: str, here: Here) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    if len(text) <= len("2026-03-01"):
        return None
    return at if at.tzinfo else _existing(at, here, text)


def _next_time(found: re.Match[str], now: datetime, here: Here, text: str) -> datetime:
    clock = _clock_of(found, dayed=False)
    if clock is None:
        raise Misread("no-time", text=text)
    open_half = found["hour"] and not (found["half"] or found["minute"] or found["part"])
    halves = (0, 12) if open_half and int(found["hour"]) < 12 else (0,)
    for days in (0, 1):
        for half in halves:
            wall = datetime.combine(now.date() + timedelta(days=days), clock)
            at = _existing(wall + timedelta(hours=half), here, text)
            if at > here.now:
                return at
    raise Misread("no-time", text=text)


def _clock_of(found: re.Match[str], *, dayed: bool) -> time | None:
    """Return the time of day, nine if only a day was said, None = there is no such time."""
    if found["word"]:
        return time(_TIMES[found["word"]])
    if found["hour"] is None:
        return time(9)
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    half, part = found["half"], found["part"]
    if half or part:
        if not 1 <= hour <= 12 and not part:
            return None
        late = half == "pm" or part in ("afternoon", "evening", "night")
        hour = hour % 12 + 12 if late and hour <= 12 else hour % 12 if half else hour
    elif dayed and 1 <= hour <= 5 and not found["minute"] and not found["clock"]:
        hour += 12
    return time(hour, minute) if hour < 24 and minute < 60 else None


def _day_of(found: re.Match[str], today: date, text: str) -> date:
    if found["near"]:
        return today + timedelta(days=("today", "tomorrow", "overmorrow").index(found["near"]))
    if found["weekday"]:
        ahead = (_DAYS.index(found["weekday"]) - today.weekday()) % 7
        return today + timedelta(days=ahead or 7)
    try:
        if found["iso"]:
            return date.fromisoformat(found["iso"])
        if found["monthday"]:
            return _next_monthday(int(found["monthday"]), today)
        day = int(found["day"] or found["day2"] or found["day3"])
        name = found["month"] or found["month3"]
        month = _MONTHS.index(name) + 1 if name else int(found["number"])
        year = found["year"] or found["year2"] or found["year3"]
        if year:
            return date(int(year), month, day)
        date(2028, month, day)  # a leap year: whether there is such a day at all
        years = (today.year + ahead for ahead in range(9))
        return next(
            one for one in (_day(year, month, day) for year in years) if one and one >= today
        )
    except (ValueError, StopIteration):
        raise Misread("no-such-day", text=text) from None


def _next_monthday(day: int, today: date) -> date:
    """Return the next such day of a month, never today."""
    ahead = (today.month - 1 + number for number in range(9))
    months = ((today.year + number // 12, number % 12) for number in ahead)
    found = (date(year, month + 1, 1) + timedelta(days=day - 1) for year, month in months)
    return next(one for one in found if one.day == day and one > today)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _existing(wall: datetime, here: Here, text: str) -> datetime:
    """Return a local time as aware: the first of two.

    Raises:
        Misread: clocks go forward over it.
    """
    at = wall.replace(tzinfo=here.zone, fold=0)
    if at.astimezone(UTC).astimezone(here.zone).replace(tzinfo=None) != wall:
        raise Misread("skipped", text=text, time=f"{wall:%H:%M}")
    return at


def _date(text: str, here: Here) -> date:
    words = _unsaid(_plain(text))
    if _SLASHED.search(words):
        raise Misread("slashed", text=text)
    today = here.now.astimezone(here.zone).date()
    if words == "yesterday":
        return today - timedelta(days=1)
    if words.startswith("in ") and (span := _span_of(words.removeprefix("in "))):
        return (here.now + span).astimezone(here.zone).date()
    found = re.fullmatch(_DAY, words)
    if found is None:
        raise Misread("no-day", text=text)
    return _day_of(found, today, text)


def _span_of(words: str) -> timedelta | None:
    rest = words.replace(" and ", " ").replace("1 30 minutes", "30 minutes")
    total, at = Decimal(0), 0
    for found in _SPAN.finditer(rest):
        if rest[at : found.start()].strip():
            return None
        total += Decimal(found[1].replace(",", ".")) * _UNITS[found[2]]
        at = found.end()
    if rest[at:].strip() or not 0 < total <= 5_000_000:
        return None
    return timedelta(minutes=round(total))


def _duration(text: str, here: Here) -> timedelta:
    del here
    span = timedelta(minutes=int(text)) if text.isdecimal() and len(text) < 7 else None
    span = span or _span_of(_plain(text))
    if span is None:
        raise Misread("no-span", text=text)
    return span


def _span_said(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    parts: list[str] = []
    for unit, size in (("d", 1440), ("h", 60), ("min", 1)):
        number, minutes = divmod(minutes, size)
        if number:
            parts.append(f"{number} {unit}")
    return " ".join(parts) or "0 min"


_CURRENCIES = {
    **dict.fromkeys(("€", "eur", "euro", "euros"), "€"),
    **dict.fromkeys(("$", "usd", "dollar", "dollars", "bucks"), "$"),
    **dict.fromkeys(("£", "gbp", "pound", "pounds"), "£"),
    **dict.fromkeys(("chf", "franken", "francs"), "CHF"),
}
_MONEY = re.compile(r"([^\d\s.,+-]*)\s*([+-]?\d[\d.,' ]*)\s*([^\d\s.,]*)")


def _money(text: str, here: Here) -> Money:
    first, *rest = text.replace("\u00a0", " ").split()
    found = _MONEY.fullmatch(" ".join((_NUMBERS.get(first.casefold(), first), *rest)))
    before, after = (found[1].casefold(), found[3].casefold()) if found else ("", "")
    sign = before or after
    if found is None or (before and after) or (sign and sign not in _CURRENCIES):
        raise Misread("no-money", text=text)
    return Money(_decimal(found[2], here, text), _CURRENCIES.get(sign, ""))


def _decimal(text: str, here: Here, said: str) -> Decimal:
    """Read a number with the separators of either language; the one at hand settles 1.234."""
    text = text.strip().replace(" ", "").replace("'", "").rstrip(".,")
    points, commas = text.count("."), text.count(",")
    mark = "," if text.rfind(",") > text.rfind(".") else "."
    if points + commas == 1 and len(text.rpartition(mark)[2]) == 3:
        groups = "." if _is_german(here) else ","
        mark = "" if mark == groups else mark
    elif (points > 1 and not commas) or (commas > 1 and not points):
        mark = ""
    digits = "".join(c if c != mark else "#" for c in text)
    try:
        return Decimal(digits.replace(".", "").replace(",", "").replace("#", "."))
    except InvalidOperation:
        raise Misread("no-number", text=said) from None


def _number(text: str, here: Here) -> float:
    if not re.fullmatch(r"[+-]?\d[\d.,' ]*", text):
        raise Misread("no-number", text=text)
    return float(_decimal(text, here, text))


def _int(text: str, here: Here) -> int:
    word = _NUMBERS.get(text.casefold(), text)
    if not re.fullmatch(r"[+-]?\d{1,18}", word):
        raise Misread("no-int", text=text)
    return int(word)


def _address(text: str, here: Here) -> str:
    """Read a web address, with or without its scheme."""
    del here
    said = text.strip("<>")
    if not re.fullmatch(r"[^\s.:]+:\S+|[^\s/]+\.[^\s/.]{2,}(?:/\S*)?", said):
        raise Misread("no-address", said=text[:80])
    return said


_AGAIN = (
    (r"\b(?:im|des|in the|of the|every) (?:monats?|month)\b", "of the month"),
    (r"\bersten?\b", "first"), (r"\bzweiten?\b", "second"), (r"\bdritten?\b", "third"),
    (r"\bvierten?\b", "fourth"), (r"\bletzten?\b", "last"), (r"\banderen?\b", "other"),
    (r"\b(?:every )?(?:jahr|jährlich)\b", "every year"),
    (r"\b(?:am|an) (?=(?:first|second|third|fourth|last|\d))", "on the "),
    (r"\b(first|second|third|fourth|last|other) days\b", r"\1 day"),
    (r"\bevery 2 weeks (?=\w+day)", "every 2 weeks on "),
    (r"\b(\d+)\. (?=[a-z])", r"\1 "),
)  # fmt: skip
"""How the little English of `_plain` says what comes again."""


def _recurrence(text: str, here: Here) -> str:
    words = _plain(text).replace("every days", "every day").replace("every weeks", "every 7 days")
    words = re.sub(r"\bevery hours\b", "every hour", words)
    for said, meant in _AGAIN:
        words = re.sub(said, meant, words)
    now = here.now.astimezone(here.zone)
    for candidate in (text, words):
        try:
            found = schedule.parse(candidate, now, here.zone)
        except schedule.NotASchedule:
            continue
        if not isinstance(found, schedule.Once):
            return candidate
    raise Misread("no-recurrence", text=text)


def _when(text: str, here: Here) -> Value:
    """Read a moment, or how something comes again and again."""
    try:
        return _recurrence(text, here)
    except Misread:
        return _datetime(text, here)


def _is_german(here: Here) -> bool:
    return here.language.casefold().startswith("de")


def _day_said(day: date, here: Here) -> str:
    today = here.now.astimezone(here.zone).date()
    german = _is_german(here)
    near = {0: "heute, " if german else "today, ", 1: "morgen, " if german else "tomorrow, "}
    year = "" if _is_next(day, today) else f" {day.year}"
    if german:
        name = f"{_SHORT_DE[day.weekday()]} {day.day}. {_MONTHS_DE[day.month - 1]}"
    else:
        name = f"{_DAYS[day.weekday()][:3].title()} {day.day} {_MONTHS[day.month - 1][:3].title()}"
    return near.get((day - today).days, "") + name + year


def _is_next(day: date, today: date) -> bool:
    """Whether a date without its year would be read as this day."""
    years = (_day(today.year + ahead, day.month, day.day) for ahead in range(9))
    return next((one for one in years if one and one >= today), None) == day


_READERS: Mapping[str, Callable[[str, Here], Value]] = {
    "int": _int,
    "number": _number,
    "money": _money,
    "date": _date,
    "datetime": _datetime,
    "duration": _duration,
    "address": _address,
    "recurrence": _recurrence,
    "when": _when,
}
