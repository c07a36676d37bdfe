"""Reads the lines of a calendar (RFC 5545): its events, and the moments and zones in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

from aouo.agent.documents import entries
from aouo.facts.languages import bundled

_MOMENT = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d):?(\d\d)?\d*(Z?))?", re.IGNORECASE
)
_SPAN = re.compile(
    r"([+-]?)P(?:(\d{1,5})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,8})S)?)?",
    re.IGNORECASE,
)
_BREAK = re.compile(r"\r\n|\r|\n")
"""`splitlines` parts at signs that titles hold, too."""
_HEAD = re.compile(r'((?:[^":]|"[^"]*")*):(.*)')
_OPTION = re.compile(r'(?:[^";]|"[^"]*"?)+')
_DESCRIBES = re.compile(r"BEGIN|END|TZID|TZOFFSET(?:FROM|TO)|TZNAME|DTSTART|[RX]?RULE|[REX]+DATE")


@dataclass(frozen=True, slots=True)
class Line:
    """One property: `DTSTART;TZID=Europe/Berlin:20260301T090000`."""

    name: str
    options: Mapping[str, str]
    value: str


_ZONE_CHARS = 200
_NO_LINE = Line("", {}, "")


@dataclass(frozen=True, slots=True)
class Zones:
    """`viewer` is the zone of whoever looks, `base` the calendar's own or None; `described` are
    those that the calendar defines."""

    viewer: tzinfo
    base: tzinfo | None
    described: Mapping[str, tzinfo]

    def moment(self, text: str, options: Mapping[str, str]) -> date | None:
        """Return a moment in its zone, or a day; None: it is neither."""
        match = _MOMENT.match(text.strip())
        if not match:
            return None
        year, month, day, hour, minute, second, utc = match.groups()
        try:
            if hour is None or options.get("VALUE", "").upper() == "DATE":
                return date(int(year), int(month), int(day))
            second = min(int(second or 0), 59)
            wall = datetime.fromisoformat(f"{year}-{month}-{day}T{hour}:{minute}:{second:02}")
        except ValueError:
            return None
        if utc:
            return wall.replace(tzinfo=UTC).astimezone(self.base or UTC)
        zone = zone_of(options.get("TZID", ""), self.described)
        return wall.replace(tzinfo=zone or self.base or self.viewer)

    def at(self, moment: date) -> datetime:
        """Return a moment as it is, of a day its first in the zone of whoever looks."""
        if isinstance(moment, datetime):
            return moment
        return datetime(moment.year, moment.month, moment.day, tzinfo=self.viewer)


@dataclass(frozen=True, slots=True)
class Event:
    """One VEVENT; `start` and `replaces` are days or moments, `takes` how long it is."""

    lines: Sequence[Line]
    start: date
    takes: timedelta
    replaces: date | None

    def line(self, name: str) -> Line:
        return next(self.all(name), _NO_LINE)

    def all(self, name: str) -> Iterator[Line]:
        return (line for line in self.lines if line.name == name)

    def text(self, name: str) -> str:
        return plain(self.line(name).value)

    @property
    def version(self) -> tuple[int, str]:
        number = self.text("SEQUENCE")
        return (int(number[:9]) if number.isdecimal() else -1), self.text("DTSTAMP")


def plain(value: str) -> str:
    """Return a text without its escapes as one short line."""
    return entries.line(re.sub(r"\\(.)", lambda sign: " " if sign[1] in "nN" else sign[1], value))


def lines_of(text: str) -> Iterator[Line]:
    """Yield the lines of a calendar that is unfolded."""
    for line in _BREAK.split(text):
        head, _, value = line.partition(":")
        if '"' in head and (match := _HEAD.match(line)):  # a quoted option may hold a colon
            head, value = match[1], match[2]
        name, *options = _OPTION.findall(head) or [""]
        pairs = (option.partition("=") for option in options)
        named = {key.strip().upper(): value.strip().strip('"') for key, _, value in pairs}
        yield Line(name.strip().upper(), named, value.strip())


def components(lines: Sequence[Line], kind: str) -> list[list[Line]]:
    """Return the lines of each component of a kind, without those of what is inside it."""
    complete: list[list[Line]] = []
    inside: list[str] = []
    for line in lines:
        name = line.value.upper()
        if line.name == "BEGIN":
            inside.append(name)
            if name == kind:
                complete.append([])
        elif line.name == "END" and name in inside:
            while inside.pop() != name:  # what lacks its own end
                pass
        elif inside[-1:] == [kind]:
            complete[-1].append(line)
    return complete


def event_of(lines: Sequence[Line], zones: Zones) -> Event | None:
    """Return an event, None: it has no start that can be read."""

    def moment(name: str) -> date | None:
        values = (zones.moment(line.value, line.options) for line in lines if line.name == name)
        return next(values, None)

    start, end = moment("DTSTART"), moment("DTEND")
    if start is None:
        return None
    takes = next((span(line.value) for line in lines if line.name == "DURATION"), None)
    if end is not None:
        takes = zones.at(end) - zones.at(start)
    if takes is None:
        takes = timedelta(days=0 if isinstance(start, datetime) else 1)
    if takes < timedelta():  # its ends are swapped
        start, takes = (zones.at(start) + takes if end is None else end), -takes
    return Event(lines, start, takes, moment("RECURRENCE-ID"))


def span(text: str) -> timedelta | None:
    """Return how long a duration is, such as `P1DT2H`; None: it is none."""
    match = _SPAN.fullmatch(text.strip())
    if not match:
        return None
    weeks, days, hours, minutes, seconds = (int(number or 0) for number in match.groups()[1:])
    total = timedelta(days, seconds, weeks=weeks, hours=hours, minutes=minutes)
    return -total if match[1] == "-" else total


def zones_of(lines: Sequence[Line], viewer: tzinfo) -> Zones:
    """Return the zones that a calendar names and describes."""
    described: dict[str, tzinfo] = {}
    own: list[str] = []
    for line in lines:
        is_edge = line.name in ("BEGIN", "END") and line.value.upper() == "VTIMEZONE"
        own = [] if is_edge and line.name == "BEGIN" else own
        own += [f"{line.name}:{line.value}"] if _DESCRIBES.fullmatch(line.name) else []
        if is_edge and line.name == "END":
            described |= _described("\n".join(own))
            own = []
    name = next((line.value for line in lines if line.name == "X-WR-TIMEZONE"), "")
    return Zones(viewer, zone_of(name, described), described)


def _described(text: str) -> dict[str, tzinfo]:
    from dateutil.tz import tzical

    try:
        calendar: Any = tzical(StringIO(text))
        return {str(name).strip("/"): calendar.get(name) for name in calendar.keys()}  # noqa: SIM118
    except (ValueError, AttributeError, TypeError, OverflowError):
        return {}


def zone_of(name: str, described: Mapping[str, tzinfo]) -> tzinfo | None:
    """Return a zone by its IANA name, as the calendar describes it, by its name of Windows, or by
    the IANA name at the end of a path (`/vendor/Europe/Berlin`)."""
    name = name.strip("/ ")
    if zone := _iana(name) or described.get(name):
        return zone
    parts = name[-_ZONE_CHARS:].split("/")[-5:]
    ends = ("/".join(parts[n:]) for n in range(1, len(parts)))
    return next(filter(None, map(_iana, (name and _windows().get(name, ""), *ends))), None)


@cache
def _windows() -> Mapping[str, str]:
    """Return the IANA name of each zone of Windows."""
    return bundled("aouo.agent.documents", "windows.yml")


@cache
def _iana(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name) if 0 < len(name) <= _ZONE_CHARS else None
    except (ValueError, OSError, KeyError):
        return None
