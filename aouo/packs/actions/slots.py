"""Reads the values of slots as people write them, and says them back.

Only words that can mean one thing are taken; what was understood is said back, and what is said
back reads as itself. Rules where words leave something open:

- a day without a time is nine in the morning; a time without a day is the next such time, of a
  twelve-hour clock if neither half nor minutes are said ("at 8" at noon is 20:00);
- with a day, "at 1" to "at 5" without a half is the afternoon, and "half past 4" as well;
- a weekday is the next one, never today; a date without a year is the next such date; where the
  past is preferred (`past-date`, `past-days`), they are the last such day;
- "03/04" is refused, since it is two days, and so are a weekday and a date that do not fit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial
from typing import TypeAlias

from aouo.facts import languages, numbers, schedule, times
from aouo.facts.letters import folded
from aouo.packs.actions import money
from aouo.packs.actions.money import Money


@dataclass(frozen=True, slots=True)
class Here:
    """When (aware), where and in which language something is said."""

    now: datetime
    zone: tzinfo
    language: str = "en"


DOUBTS = frozenset(
    f"slots.{why}"
    for why in ["past", "no-such-day", "slashed", "skipped", "vague", "weekday-and-date"]
)
"""Why a time that is understood is none after all."""
Value: TypeAlias = str | int | float | Money | date | datetime | timedelta | times.Days


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


def is_one(kind: str, text: str, here: Here) -> bool:
    """Whether a text is a value of a kind, be it over or not there."""
    try:
        read(kind, text, here)
    except Misread as error:
        return error.why in DOUBTS
    return True


def may_begin(kind: str, word: str) -> bool:
    """Whether a value of a kind may begin with this word, folded."""
    return kind != "money" or not word[0].isalpha() or money.may_begin(word)


def say(kind: str, value: Value, here: Here) -> str:
    """Say a value back; `read` makes the same of it."""
    match value:
        case datetime():
            at = value.astimezone(here.zone)
            return times.say_moment(at, _today(here), here.language)
        case date():
            return times.say_day(value, _today(here), here.language)
        case times.Days(first, last):
            today = _today(here)
            if first != last and first.year == last.year == today.year:
                today = first - timedelta(days=2)
            days = dict.fromkeys((first, last))
            return " – ".join(times.say_day(day, today, here.language) for day in days)
        case timedelta():
            return _span_said(value)
        case Money():
            return money.say(value, here.language)
        case float():
            return f"{value:g}" if kind == "money" else repr(value).removesuffix(".0")
        case _:
            return str(value)


_AMOUNT = r"\d+\.\d\d(?: (?:[^\W\d]{1,3}|[^\w\s.,+/-]|[A-Z]{1,2}\$))?"
_AMOUNTS = re.compile(rf"[ /+]*{_AMOUNT}(?:[ /+]+{_AMOUNT})*")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d)?")


def localised(cell: str, here: Here) -> str:
    """Return a cell that holds nothing but amounts, a local day or a day with its time, as SQL
    prints them, as a person's language writes them."""
    if _DAY.fullmatch(cell):
        with suppress(ValueError):
            day = date.fromisoformat(cell[:10])
            return f"{times.say_day(day, _today(here), here.language)}, {cell[11:]}".rstrip(", ")
    return money.localised(cell, here.language) if _AMOUNTS.fullmatch(cell) else cell


def stored(kind: str, value: Value) -> str | int | float:
    """Return a value as SQL and JSON hold it: money as a number, days and times in ISO 8601, times
    in UTC, a duration in minutes."""
    del kind
    match value:
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        case date():
            return value.isoformat()
        case times.Days(first, last):
            return f"{first}/{last}"
        case timedelta():
            return round(value.total_seconds() / 60)
        case Money():
            return float(round(value.amount, 2))
        case _:
            return value


def _reader(kind: times.Kind, prefer: times.Prefer = "future") -> Callable[[str, Here], Value]:
    """Return what reads a kind of time."""

    def read_time(text: str, here: Here) -> Value:
        try:
            value = times.read(text, here.now, here.zone, here.language, kind=kind, prefer=prefer)
        except times.TimeRefused as error:
            if kind in ("recurrence", "when") and (written := _schedule(text, here)):
                return written
            raise Misread(error.reason, **error.parts) from None
        return value.text if isinstance(value, times.Recurrence) else value

    return read_time


_read_span = _reader("duration")


def _days(read: Callable[[str, Here], Value], text: str, here: Here) -> Value:
    """Read days, also as `stored` writes them."""
    try:
        first, last = map(date.fromisoformat, text.split("/"))
    except ValueError:
        return read(text, here)
    return times.Days(first, last)


def _schedule(text: str, here: Here) -> str:
    """Return a text that is written as a schedule that comes again, "" = it is none."""
    try:
        parsed = schedule.parse(text, here.now, here.zone)
    except schedule.NotASchedule:
        return ""
    return "" if isinstance(parsed, schedule.Once) else text


def _span_said(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    parts: list[str] = []
    for unit, size in (("d", 1440), ("h", 60), ("min", 1)):
        number, minutes = divmod(minutes, size)
        if number:
            parts.append(f"{number} {unit}")
    return " ".join(parts) or "0 min"


def _money(text: str, here: Here) -> Money:
    try:
        return money.read(text, here.language)
    except money.NoAmount as error:
        raise Misread(error.why.removeprefix("slots."), text=text) from error


def _number(text: str, here: Here) -> float:
    value = numbers.numeral(text.lstrip("+-"), here.language)
    if value is None or not math.isfinite(value):
        raise Misread("no-number", text=text[:40])
    return float(-value if text.startswith("-") else value)


def _int(text: str, here: Here) -> int:
    words = text.split()
    spelled = numbers.spelled(words, here.language, articles=True)
    whole = spelled and spelled[1] == len(words) and not text[:1].isdigit()
    if spelled and whole and spelled[0] == spelled[0].to_integral_value():
        return int(spelled[0])
    if not re.fullmatch(r"[+-]?\d{1,18}", text):
        raise Misread("no-int", text=text)
    return int(text)


def _address(text: str, here: Here) -> str:
    """Read a web address, with or without its scheme."""
    del here
    said = text.strip("<>")
    if not re.fullmatch(r"[^\s.:]+:\S+|[^\s/]+\.[^\s/.]{2,}(?:/\S*)?", said):
        raise Misread("no-address", said=text[:80])
    return said


def _thing(text: str, here: Here) -> str:
    """Return what a thing is called, or where it is: nobody, and nothing that passes."""
    fleeting = set(map(folded, languages.words("phrases", "fleeting")))
    if fleeting & set(re.findall(r"\w+", folded(text))):
        raise Misread("empty")
    return text


def _code(text: str, here: Here) -> str:
    """Return what is no word of a language: a figure or a sign is in it."""
    if text.isalpha() or not re.search(r"\d|[^\w\s'’.,!]", text):
        raise Misread("empty")
    return text


def _new_time(text: str, here: Here) -> str:
    """Return the words of a time that replaces another one: a day alone keeps its clock."""
    _reader("when")(text, here)
    return text


def _today(here: Here) -> date:
    return here.now.astimezone(here.zone).date()


_READERS: Mapping[str, Callable[[str, Here], Value]] = {
    "int": _int,
    "number": _number,
    "money": _money,
    "date": _reader("date"),
    "past-date": _reader("date", "past"),
    "days": partial(_days, _reader("days")),
    "past-days": partial(_days, _reader("days", "past")),
    "datetime": _reader("datetime"),
    "duration": lambda text, here: _read_span(text.replace("-", " "), here),
    "address": _address,
    "recurrence": _reader("recurrence"),
    "when": _reader("when"),
    "new-time": _new_time,
    "code": _code,
    "thing": _thing,
}
