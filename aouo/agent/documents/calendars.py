"""Reads calendars (RFC 5545): what happens in the days around now, each recurrence an entry.

Rules, and the zones that a calendar describes, are dateutil's. No clock and no network is used.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import chain
from typing import TypeAlias

from aouo.agent.documents import calendar_lines as ical
from aouo.agent.documents import entries
from aouo.agent.documents.calendar_lines import Event, Zones
from aouo.agent.documents.entries import ENTRIES_MAX, Entry, Sent

BACK, AHEAD = timedelta(days=1), timedelta(days=60)
_TIMES_MAX = 5_000
_SERIES_S, _CALENDAR_S = 1.0, 8.0
_DAY, _NONE = timedelta(days=1), timedelta()
_UNITS_S = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3_600, "DAILY": 86_400, "WEEKLY": 604_800}
_PART = re.compile(r"FREQ|COUNT|INTERVAL|WKST|BY[A-Z]+")
_Window: TypeAlias = tuple[datetime, datetime]
_Times: TypeAlias = Iterator[tuple[datetime, timedelta | None]]


def read(text: str, now: datetime, zone: tzinfo) -> Sent:
    """Read what happens in a calendar within its window around `now`, soonest first.

    Series that begin later are read first. What is not understood, or takes too long, is counted.
    """
    until_s = time.process_time() + _CALENDAR_S
    window = ((now - BACK).astimezone(zone), (now + AHEAD).astimezone(zone))
    lines = list(ical.lines_of(text))
    zones, unread = ical.zones_of(lines, zone), 0
    series: dict[object, list[Event]] = {}
    for own in ical.components(lines, "VEVENT"):
        try:
            event = ical.event_of(own, zones)
        except OverflowError:
            event = None
        if event is None:
            unread += 1
        else:
            series.setdefault(event.text("UID") or id(own), []).append(event)
    newest = sorted(series.values(), key=lambda events: zones.at(events[-1].start), reverse=True)
    occurrences: list[Entry] = []
    for events in newest:
        try:
            with _limited(min(_SERIES_S, until_s - time.process_time())):
                occurrences += _occurrences(events, zones, window)
        except (ValueError, TypeError, OverflowError, TimeoutError):
            unread += 1
    read_entries = list(_told_apart(occurrences))
    title = next((line.value for line in lines if line.name in ("X-WR-CALNAME", "NAME")), "")
    left_out = len(read_entries[ENTRIES_MAX:])
    kept = tuple(read_entries[:ENTRIES_MAX])
    return Sent("calendar", ical.plain(title), kept, left_out, unread)


def _told_apart(occurrences: Sequence[Entry]) -> Iterator[Entry]:
    """Yield each entry once, soonest first, by its own name where two begin at the same time."""
    names = set[tuple[str, str]]()
    for entry in sorted(set(occurrences), key=lambda entry: (entry.starts, entry.uid, entry.ends)):
        if (entry.uid, entry.starts) in names:
            own = entries.name(f"{entry.ends} {entry.title} {entry.uid}")
            entry = replace(entry, uid=own)
        names.add((entry.uid, entry.starts))
        yield entry


@contextmanager
def _limited(seconds: float) -> Generator[None]:
    """End what is within by a TimeoutError after so much CPU time: a rule may look for its next
    time for ever, and only a signal reaches it."""

    def ring(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _occurrences(series: Sequence[Event], zones: Zones, window: _Window) -> Iterator[Entry]:
    """Yield what a series is within the window.

    Raises:
        ValueError, TypeError, OverflowError: a rule is none; what is certain came before.
    """
    whole = any(not isinstance(event.start, datetime) for event in series)
    changes: dict[object, Event] = {}
    for event in sorted(series, key=lambda event: event.version):
        if event.replaces is not None:
            changes[_keys(event.replaces, zones, whole)[0]] = event
    cores = [event for event in series if event.replaces is None]
    newest = max((event.version for event in cores), default=None)
    cores = [event for event in cores if event.version == newest]
    gone = {key for core in cores for key in _left_out(core, zones, whole)}
    for event in changes.values():
        if not gone.intersection(_keys(event.replaces or event.start, zones, whole)):
            yield from _entry(event, zones.at(event.start), event.takes, zones, window)
    shifts: list[tuple[datetime, Event, timedelta]] = []
    for event in changes.values():
        replaced = event.replaces or event.start
        gone.update(_keys(replaced, zones, whole))
        if event.line("RECURRENCE-ID").options.get("RANGE", "").upper() == "THISANDFUTURE":
            shifts.append((zones.at(replaced), event, _shift(event, zones)))
    shifts.sort(key=lambda shift: shift[0])
    lead = max(event.takes for event in series) + max((abs(by) for *_, by in shifts), default=_NONE)
    for core in cores:
        for at, takes in _times(core, zones, (window[0] - lead - _DAY, window[1] + lead)):
            if not gone.intersection(((at.astimezone(UTC),), at.replace(tzinfo=None), at.date())):
                moved = [(event, by) for replaced, event, by in shifts if replaced < at]
                event, by = moved[-1] if moved else (core, _NONE)
                yield from _entry(event, at + by, takes or event.takes, zones, window)


def _keys(moment: date, zones: Zones, whole: bool) -> list[object]:
    """Return what an occurrence is called by: a day all that are on it, a time without a zone the
    same time in that of the series."""
    if not isinstance(moment, datetime):
        return [moment]
    is_floating = whole or moment.tzinfo is (zones.base or zones.viewer)
    return [(moment.astimezone(UTC),), *([moment.replace(tzinfo=None)] if is_floating else [])]


def _left_out(core: Event, zones: Zones, whole: bool) -> Iterator[object]:
    for line in core.all("EXDATE"):
        for text in line.value.split(","):
            moment = zones.moment(text, line.options)
            yield from _keys(moment, zones, whole) if moment is not None else ()


def _shift(event: Event, zones: Zones) -> timedelta:
    """Return by how much an event moves what it replaces, on the wall clock."""
    start = zones.at(event.start)
    replaced = zones.at(event.replaces or event.start).astimezone(start.tzinfo)
    return start.replace(tzinfo=None) - replaced.replace(tzinfo=None)


def _entry(
    event: Event, start: datetime, takes: timedelta, zones: Zones, window: _Window
) -> Iterator[Entry]:
    end = start + takes
    if start >= window[1] or (end <= window[0] and start < window[0]):
        return
    if event.text("STATUS").upper() == "CANCELLED":
        return
    shown = "%Y-%m-%d"
    if isinstance(event.start, datetime):
        shown = "%Y-%m-%d %H:%M"  # over UTC: an hour that a clock skips is the one after it
        start, end = (at.astimezone(UTC).astimezone(zones.viewer) for at in (start, end))
    title = event.text("SUMMARY")
    uid = entries.name(event.text("UID"), title)
    place = event.text("LOCATION")
    yield Entry(uid, title, "", start.strftime(shown), end.strftime(shown), place)


def _times(core: Event, zones: Zones, window: _Window) -> _Times:
    """Yield when a series takes place, and how long where that is said of the one time."""
    start = zones.at(core.start)
    try:
        rules = [_rule(line.value, core, zones) for line in core.all("RRULE")]
    except ValueError:
        yield start, None
        raise
    over = rules and all(until is not None and until < start for _, until in rules)
    dates: list[tuple[datetime, timedelta | None]] = [] if over else [(start, None)]
    for line in core.all("RDATE"):
        for text in line.value.split(","):
            first, _, last = text.partition("/")
            at, end = zones.moment(first, line.options), zones.moment(last, line.options)
            if at is not None:
                takes = ical.span(last) if end is None else zones.at(end) - zones.at(at)
                dates.append((zones.at(at), takes))
    never = [_rule(line.value, core, zones) for line in core.all("EXRULE")]
    seen = {at for rule in never for at in _recurring(start, rule, window)}
    ruled = ((at, None) for rule in rules for at in _recurring(start, rule, window))
    for at, takes in chain(dates, ruled):
        if at not in seen:
            seen.add(at)
            yield at, takes


_Rule: TypeAlias = tuple[dict[str, str], datetime | None]


def _rule(text: str, core: Event, zones: Zones) -> _Rule:
    """Return the parts of a rule, without those that say nothing (COUNT=-1), and its last moment.

    A day without a time is over at its begin in UTC. Raises ValueError: it counts by another
    calendar.
    """
    pairs = (part.partition("=") for part in re.sub(r"\s", "", text).upper().split(";"))
    parts = {name: ",".join(filter(None, value.split(","))) for name, _, value in pairs}
    if parts.get("RSCALE", "GREGORIAN") != "GREGORIAN":
        raise ValueError(text[:80])
    for name in ("COUNT", "INTERVAL"):
        if int(parts.get(name) or 1) < 1:
            del parts[name]
    until = zones.moment(parts.get("UNTIL", ""), core.line("DTSTART").options)
    if isinstance(until, datetime) and not isinstance(core.start, datetime):
        until = until.astimezone(UTC).date()
    if until is not None and not isinstance(until, datetime) and isinstance(core.start, datetime):
        until = datetime(until.year, until.month, until.day, tzinfo=UTC)
    own = {name: value for name, value in parts.items() if value and _PART.fullmatch(name)}
    return own, None if until is None else zones.at(until)


def _recurring(start: datetime, rule: _Rule, window: _Window) -> Iterator[datetime]:
    """Yield the moments of a rule within the window, by the wall clock of their zone.

    Raises:
        ValueError, TypeError, OverflowError: it is no rule, or has too many times.
    """
    from dateutil.rrule import rrulestr

    (parts, until), zone = rule, start.tzinfo
    first, last = (at.astimezone(zone).replace(tzinfo=None) for at in window)
    wall = start.replace(tzinfo=None)
    step = timedelta(seconds=_UNITS_S.get(parts.get("FREQ", ""), 0)) * int(parts.get("INTERVAL", 1))
    if step and "COUNT" not in parts and wall < first:  # what is long over need not be counted
        wall += max((first - wall) // step - 1, 0) * step
    text = ";".join(f"{name}={value}" for name, value in parts.items())
    number = 0
    for moment in rrulestr(text, dtstart=wall):
        at = moment.replace(tzinfo=zone)
        if moment > last or (until is not None and at > until):
            return
        if moment >= first:
            yield at
            number += 1
        if number > _TIMES_MAX:
            raise OverflowError(text[:80])
