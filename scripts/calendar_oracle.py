"""Compares what we read of calendars with what icalendar and recurring-ical-events read of them.

    pip install --target FOLDER icalendar recurring-ical-events
    PYTHONPATH=FOLDER .venv/bin/python -m scripts.calendar_oracle [--show N] [FILE.ics …]

Read are calendars that are made here (rules × zones × exceptions × changes), the files that are
named, and the public ones that both libraries bring for their own tests; each around several
moments. Both libraries are no part of aouo, and this is no part of the checks.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from aouo.agent.documents import calendars
from aouo.agent.documents.feeds import read

VIEWERS = ("Europe/Berlin", "America/New_York")
RULES = (
    *("", "FREQ=DAILY", "FREQ=DAILY;INTERVAL=3;COUNT=40", "FREQ=DAILY;UNTIL={until}"),
    *("FREQ=WEEKLY", "FREQ=WEEKLY;BYDAY=MO, TU", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;WKST=SU"),
    *("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;WKST=MO", "FREQ=WEEKLY;COUNT=-1", "FREQ=MONTHLY"),
    *(
        "FREQ=WEEKLY;UNTIL={until};COUNT=-1",
        "FREQ=MONTHLY;BYDAY=-1FR",
        "FREQ=MONTHLY;BYMONTHDAY=31",
    ),
    *("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=30"),
    *("FREQ=YEARLY", "FREQ=YEARLY;BYMONTH=3;BYDAY=2SU", "FREQ=YEARLY;BYWEEKNO=12;BYDAY=MO"),
    *("FREQ=YEARLY;BYYEARDAY=77,100", "FREQ=HOURLY;INTERVAL=12;COUNT=30", "FREQ=DAILY;BYHOUR=9,10"),
)
ZONES = ("", "Z", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Tokyo Standard Time", "day")
BACKS = (0, 5, 40, 400)
"""How many days before now a series begins."""
KINDS = (
    "",
    "exdate",
    "exday",
    "rdate",
    "period",
    "moved",
    "future",
    "duration",
    "sequence",
    "until",
)
NOW = datetime(2026, 3, 20, 11, 0, tzinfo=UTC)


def made(count: int, seed: int = 1) -> Iterator[tuple[str, bytes, list[datetime]]]:
    """Yield calendars with their names, and the moments around which they are read."""
    drawn = random.Random(seed)
    kinds = list(itertools.product(RULES, ZONES, BACKS, KINDS))
    for number, (rule, zone, back, kind) in enumerate(drawn.sample(kinds, min(count, len(kinds)))):
        start = datetime(2026, 3, 20, drawn.choice((2, 9, 18, 23)), 30) - timedelta(days=back)  # noqa: DTZ001
        yield f"{number} {rule} {zone} -{back} {kind}", _calendar(rule, zone, kind, start), [NOW]


def _calendar(rule: str, zone: str, kind: str, start: datetime) -> bytes:
    def at(name: str, moment: datetime, more: str = "") -> str:
        if zone == "day":
            return f"{name};VALUE=DATE{more}:{moment:%Y%m%d}"
        if zone in ("", "Z"):
            return f"{name}{more}:{moment:%Y%m%dT%H%M%S}{zone}"
        return f"{name};TZID={zone}{more}:{moment:%Y%m%dT%H%M%S}"

    step = timedelta(days=7 if "WEEKLY" in rule else 1)
    second, third = start + step, start + 2 * step
    until = f"{start + 30 * step:%Y%m%d}" + ("" if zone == "day" else "T120000Z")
    lines = ["UID:1", at("DTSTART", start), "SUMMARY:One"]
    lines += [f"RRULE:{rule.format(until=until)}"] if rule else []
    ends = timedelta(days=2) if zone == "day" else timedelta(hours=1)
    lines.append(at("DTEND", start + ends) if kind != "duration" else "DURATION:P3D")
    more: list[list[str]] = []
    match kind:
        case "exdate":
            lines.append(at("EXDATE", second))
        case "exday":
            lines.append(f"EXDATE;VALUE=DATE:{second:%Y%m%d}")
        case "rdate":
            lines.append(at("RDATE", start + timedelta(days=3)))
        case "period" if zone == "Z":
            lines.append(f"RDATE;VALUE=PERIOD:{third:%Y%m%dT%H%M%SZ}/PT3H")
        case "moved" | "future":
            new = second + (timedelta(days=1) if zone == "day" else timedelta(hours=3))
            wide = ";RANGE=THISANDFUTURE" if kind == "future" else ""
            own = [
                at("RECURRENCE-ID", second, wide),
                at("DTSTART", new),
                at("DTEND", new + 2 * ends),
            ]
            more.append(["UID:1", *own, "SUMMARY:Moved"])
        case "sequence":
            more.append([*lines, "SEQUENCE:2"])
            more[0][1] = at("DTSTART", start + timedelta(days=1))
            more[0][-2] = at("DTEND", start + timedelta(days=1) + ends)
        case _:
            pass
    body = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//x//EN"]
    for event in (lines, *more):
        body += ["BEGIN:VEVENT", "DTSTAMP:20260101T000000Z", *event, "END:VEVENT"]
    return "\r\n".join([*body, "END:VCALENDAR", ""]).encode()


def files(named: list[str]) -> Iterator[tuple[str, bytes, list[datetime]]]:
    """Yield the calendars of files, and moments near to what is in them."""
    paths = [Path(name) for name in named]
    for module, folder in (("icalendar", "tests"), ("recurring_ical_events", "test")):
        spec = importlib.util.find_spec(module)
        root = Path(str(spec and spec.origin)).parent / folder / "calendars"
        paths += sorted(root.glob("*.ics"))
    for path in paths:
        body = path.read_bytes()
        starts = re.findall(rb"DTSTART[^:\r\n]*:(\d{8})", body.partition(b"BEGIN:VEVENT")[2])
        days = sorted(
            {
                datetime.strptime(day.decode(), "%Y%m%d").replace(tzinfo=UTC)
                for day in starts
                if b"0101" < day[4:] <= b"1231"
            }
        )
        chosen = {days[0], days[len(days) // 2], days[-1] + timedelta(days=200)} if days else {NOW}
        yield path.name, body, sorted(chosen)


def theirs(body: bytes, now: datetime, zone: tzinfo) -> Counter[tuple[str, str]]:
    """Return what both libraries find within our window: start and end in UTC."""
    icalendar: Any = importlib.import_module("icalendar")
    recurring_ical_events: Any = importlib.import_module("recurring_ical_events")
    first, last = (now - calendars.BACK).astimezone(zone), (now + calendars.AHEAD).astimezone(zone)
    occurrences: list[Any] = []
    for calendar in icalendar.Calendar.from_ical(body, multiple=True):
        occurrences += recurring_ical_events.of(calendar).between(first, last)
    return Counter(
        (_utc(event["DTSTART"].dt, zone), _utc(event["DTEND"].dt, zone))
        for event in occurrences
        if str(event.get("STATUS", "")).upper() != "CANCELLED"
    )


def ours(body: bytes, now: datetime, zone: tzinfo) -> Counter[tuple[str, str]]:
    return Counter(
        (
            _utc(datetime.fromisoformat(entry.starts), zone),
            _utc(datetime.fromisoformat(entry.ends), zone),
        )
        for entry in read(body, now, zone).entries
    )


def _utc(moment: date, zone: tzinfo) -> str:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=zone)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def main() -> None:
    warnings.simplefilter("ignore")
    arguments = sys.argv[1:]
    shown = int(arguments.pop(1)) if arguments[:1] == ["--show"] else 10
    arguments = arguments[1:] if arguments[:1] == ["--show"] else arguments
    for group, cases in (("made", made(600)), ("files", files(arguments))):
        counts = Counter[str]()
        for (name, body, moments), viewer in itertools.product(cases, VIEWERS):
            for now in moments:
                zone = ZoneInfo(viewer)
                try:
                    expected = theirs(body, now, zone)
                except Exception as error:  # noqa: BLE001 - it is no measure then
                    counts[f"not measured: {type(error).__name__}"] += 1
                    continue
                counts["cases"] += 1
                try:
                    read_here = ours(body, now, zone)
                except ValueError:
                    read_here = Counter[tuple[str, str]]()
                if set(read_here) == set(expected):
                    counts["agree"] += 1
                elif (shown := shown - 1) >= 0:
                    print(f"{name} at {now:%Y-%m-%d} in {viewer}")
                    print("  only here: ", sorted(read_here - expected)[:4])
                    print("  only there:", sorted(expected - read_here)[:4])
        print(group, dict(counts))


if __name__ == "__main__":
    main()
