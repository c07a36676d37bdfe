"""Reads what an address of a feed or a calendar sends: RSS and Atom by feedparser, iCalendar here.

Of a calendar (RFC 5545) come the events of the days around now, each recurrence one, at their local
times; rules are dateutil's. No clock and no network is used here.
"""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from io import BytesIO, StringIO
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urljoin
from zoneinfo import ZoneInfo

ENTRIES_MAX, _TITLE_MAX = 500, 300
BACK, AHEAD = timedelta(days=1), timedelta(days=60)
_LIMIT_S, _RULES_MAX = 5.0, 2_000
_TAG = re.compile(r"<[^>]{0,2000}>")
_OFTEN = re.compile(r"FREQ=(SECONDLY|MINUTELY|HOURLY)", re.IGNORECASE)
_Zones: TypeAlias = Mapping[str, tzinfo]


class NotAFeed(ValueError):
    """What came is neither a feed nor a calendar; says why, for people."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was read: `starts` and `ends` are local, `2026-03-01 09:00`, a day alone if it
    has no time, "" = none."""

    uid: str
    title: str
    link: str = ""
    starts: str = ""
    ends: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """What an address sent, its newest or next entries."""

    kind: Literal["feed", "calendar"]
    title: str
    entries: tuple[Entry, ...]


def read(body: bytes, now: datetime, zone: tzinfo) -> Sent:
    """Read a feed or a calendar.

    Raises:
        NotAFeed: it is neither, or takes too long.
    """
    if b"BEGIN:VCALENDAR" in body[:4_000].upper():
        return _calendar(body.decode("utf-8-sig", "replace"), now, zone)
    return _feed(body, zone)


_LINK = re.compile(r"<link\b[^>]{0,1000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*["']?([^"'\s>]+)""")
_HEAD_BYTES = 200_000


def linked(page: bytes, url: str) -> str:
    """Return the address of the feed that a page at `url` names, "" = it names none."""
    for tag in _LINK.findall(page[:_HEAD_BYTES].decode("utf-8", "replace")):
        said = {name.casefold(): value for name, value in _ATTRIBUTE.findall(tag)}
        if re.fullmatch(r"application/(?:rss|atom)\+xml", said.get("type", "").casefold()):
            return urljoin(url, html.unescape(said.get("href", "")))
    return ""


def _feed(body: bytes, zone: tzinfo) -> Sent:
    import feedparser

    parse = cast("Callable[..., Any]", feedparser.parse)
    found: Any = parse(BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    if not found.get("version") and not found.entries:
        raise NotAFeed("not-a-feed")
    entries = [_item(one, zone) for one in found.entries[:ENTRIES_MAX]]
    return Sent("feed", _plain(found.feed.get("title", "")), tuple(entries))


def _item(one: Any, zone: tzinfo) -> Entry:
    link = str(one.get("link", ""))
    title = _plain(one.get("title", "")) or _plain(one.get("summary", ""))
    at = one.get("published_parsed") or one.get("updated_parsed")
    said = ""
    if at:
        utc = datetime(*at[:6], tzinfo=UTC)
        said = f"{utc.astimezone(zone):%Y-%m-%d %H:%M}"
    uid = str(one.get("id", "")) or link or title
    return Entry(uid[:500], title, link if link.startswith(("http://", "https://")) else "", said)


def _plain(text: object) -> str:
    words = " ".join(html.unescape(_TAG.sub(" ", str(text))).split())
    return words if len(words) <= _TITLE_MAX else f"{words[: _TITLE_MAX - 1]}…"


@dataclass(frozen=True, slots=True)
class _Line:
    """One property: `DTSTART;TZID=Europe/Berlin:20260301T090000`."""

    name: str
    options: dict[str, str]
    value: str

    @property
    def text(self) -> str:
        said = self.value.replace("\\n", " ").replace("\\N", " ")
        return _plain(re.sub(r"\\([,;\\])", r"\1", said))


def _calendar(text: str, now: datetime, zone: tzinfo) -> Sent:
    until_s, first = time.monotonic() + _LIMIT_S, (now - BACK).astimezone(zone)
    lines = list(_lines(text))
    title = next((one.text for one in lines if one.name == "X-WR-CALNAME"), "")
    events, zones = _events(lines), _zones(text)
    moved = {(_said(one, "UID"), _said(one, "RECURRENCE-ID")) for one in events}
    found: list[Entry] = []
    for event in events[:_RULES_MAX]:
        if time.monotonic() > until_s:
            raise NotAFeed("too-long")
        if _said(event, "STATUS") != "CANCELLED":
            found += _occurrences(event, moved, zones, zone, (first, now + AHEAD))
    found.sort(key=lambda one: one.starts)
    return Sent("calendar", title, tuple(found[:ENTRIES_MAX]))


def _lines(text: str) -> Iterator[_Line]:
    unfolded = re.sub(r"\r?\n[ \t]", "", text)
    for line in unfolded.splitlines():
        head, _, value = line.partition(":")
        if '"' in head:  # a quoted option may hold a colon
            found = re.match(r'((?:[^":]|"[^"]*")*):(.*)', line)
            head, value = (found[1], found[2]) if found else (head, value)
        name, *options = head.split(";")
        pairs = (option.partition("=") for option in options)
        yield _Line(name.upper(), {key.upper(): said.strip('"') for key, _, said in pairs}, value)


def _events(lines: Sequence[_Line]) -> list[list[_Line]]:
    events: list[list[_Line]] = []
    inside: list[str] = []
    for line in lines:
        if line.name == "BEGIN":
            inside.append(line.value.upper())
            if inside[-1] == "VEVENT":
                events.append([])
        elif line.name == "END" and inside:
            inside.pop()
        elif inside[-1:] == ["VEVENT"]:
            events[-1].append(line)
    return events


def _zones(text: str) -> _Zones:
    """Return the zones that the calendar itself describes, by their names in it."""
    from dateutil.tz import tzical

    found = re.findall(r"BEGIN:VTIMEZONE.*?END:VTIMEZONE", text, re.DOTALL)
    named: dict[str, tzinfo] = {}
    for one in found[:20]:
        try:
            read: Any = tzical(StringIO(f"BEGIN:VCALENDAR\n{one}\nEND:VCALENDAR\n"))
            named |= {key: read.get(key) for key in read.keys()}  # noqa: SIM118 - no mapping
        except (ValueError, AttributeError):
            continue
    return named


def _said(event: Sequence[_Line], name: str) -> str:
    return next((line.value for line in event if line.name == name), "")


def _occurrences(
    event: Sequence[_Line],
    moved: set[tuple[str, str]],
    zones: _Zones,
    zone: tzinfo,
    window: tuple[datetime, datetime],
) -> Iterator[Entry]:
    def moments(name: str) -> list[datetime]:
        lines = (line for line in event if line.name == name)
        return [at for line in lines for at in _moments(line, zones, zone)]

    starts, ends, gone = moments("DTSTART"), moments("DTEND"), set(moments("EXDATE"))
    if not starts:
        return
    start, uid = starts[0], _said(event, "UID")
    whole = any(line.name == "DTSTART" and "T" not in line.value for line in event)
    title = next((line.text for line in event if line.name == "SUMMARY"), "")
    place = next((line.text for line in event if line.name == "LOCATION"), "")
    takes = max(ends[0] - start, timedelta()) if ends else timedelta()
    known = {said for other, said in moved if other == uid and said}
    shown = "%Y-%m-%d" if whole else "%Y-%m-%d %H:%M"
    for at in dict.fromkeys((*_recurring(start, _said(event, "RRULE"), window), *moments("RDATE"))):
        written = {f"{at:%Y%m%dT%H%M%S}", f"{at:%Y%m%d}", f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"}
        if at in gone or (known & written and not _said(event, "RECURRENCE-ID")):
            continue
        if at + takes >= window[0] and at <= window[1]:
            till = at + takes
            here, until = (at, till) if whole else (at.astimezone(zone), till.astimezone(zone))
            yield Entry(uid, title, "", here.strftime(shown), until.strftime(shown), place)


def _recurring(start: datetime, rule: str, window: tuple[datetime, datetime]) -> list[datetime]:
    """Return the moments of a rule within the window, by the wall clock of their zone."""
    from dateutil.rrule import rrulestr

    if not rule or _OFTEN.search(rule):
        return [start]
    own, wall = start.tzinfo, start.replace(tzinfo=None)

    def until(found: re.Match[str]) -> str:
        local = datetime.fromisoformat(found[1]).astimezone(own)
        return f"UNTIL={local:%Y%m%dT%H%M%S}"

    try:
        plain = re.sub(r"UNTIL=(\d{8}T\d{6}Z)", until, rule)
        after, before = (one.astimezone(own).replace(tzinfo=None) for one in window)
        found = rrulestr(plain, dtstart=wall).between(after - timedelta(days=32), before, inc=True)
    except (ValueError, TypeError, OverflowError):
        return [start]
    return [at.replace(tzinfo=own) for at in found[:ENTRIES_MAX]]


def _moments(line: _Line, zones: _Zones, zone: tzinfo) -> list[datetime]:
    """Return the moments of a property; a day is its midnight, and what names no zone is ours."""
    found: list[datetime] = []
    named = line.options.get("TZID", "")
    for part in line.value.split(","):
        said = re.match(r"(\d{8})(?:T(\d{6})(Z?))?", part.strip())
        try:
            wall = datetime.fromisoformat(f"{said[1]}T{said[2] or '000000'}") if said else None
        except ValueError:
            continue
        if said and wall:
            own = UTC if said[3] else _zone(named, zones) if named and said[2] else None
            found.append(wall.replace(tzinfo=own or zone))
    return found


def _zone(name: str, zones: _Zones) -> tzinfo | None:
    try:
        return ZoneInfo(name.lstrip("/"))
    except (ValueError, OSError, KeyError):
        return zones.get(name)
