"""Finds time zones by name, and that of this machine; and when days begin in them."""

from __future__ import annotations

import difflib
import functools
import os
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from aouo.facts.ports import iso

_LOCALTIME = Path("/etc/localtime")
_SHOWN_CHARS = 60


def zone_of(name: str, default: str = "") -> tzinfo:
    """Return the zone of an IANA name, else of `default`, else of this machine.

    A name that this machine does not know is skipped.
    """
    for wanted in (name, default):
        if wanted and (found := _named(wanted)):
            return found
    return _of_this_machine()


def moments(first: date | None, last: date | None, zone: tzinfo) -> tuple[str, str]:
    """Return the moments at which some local days begin and are over, as they are stored; "" where
    there is no first or no last one."""
    over = last + timedelta(days=1) if last and last < date.max else last
    return _begin(first, zone), _begin(over, zone)


def _begin(day: date | None, zone: tzinfo) -> str:
    if day is None:
        return ""
    try:
        return iso(datetime.combine(day, time(), zone))
    except OverflowError:  # the first day of the calendar, or the last one
        return iso(datetime.combine(day, time(), UTC))


def known_zone(name: str) -> str:
    """Return the IANA name that `name` means, in any case, also a city alone if there is one.

    Raises:
        ValueError: it means none, or several.
    """
    wanted = "_".join(name.split()).casefold()
    names = _all_names()
    by_city = [each for each in names if not each.startswith("Etc/")]  # GMT+2 is west there
    same = [each for each in names if each.casefold() == wanted]
    same = same or [each for each in by_city if _city(each) == wanted]
    if len(same) == 1:
        return same[0]
    known = {each.casefold(): each for each in by_city} | {_city(each): each for each in by_city}
    near = same or [known[each] for each in difflib.get_close_matches(wanted, known, 3, 0.75)]
    shown = name.strip() if len(name.strip()) <= _SHOWN_CHARS else f"{name.strip()[:59]}…"
    named = " or ".join(dict.fromkeys(near[:3]))
    hint = f"Did you mean {named}?" if named else "Write one like Europe/Berlin."
    raise ValueError(f'There is no time zone "{shown}". {hint}')


@functools.cache
def _all_names() -> tuple[str, ...]:
    return tuple(sorted(available_timezones() - {"localtime", "Factory"}))


def _city(name: str) -> str:
    return name.rpartition("/")[2].casefold()


def is_known(name: str) -> bool:
    """Whether this machine knows an IANA name."""
    return _named(name) is not None


def _named(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


@functools.cache
def _of_this_machine() -> tzinfo:
    """Return this machine's zone with its daylight saving rules, which `astimezone()` lacks."""
    if found := _named(os.environ.get("TZ", "").removeprefix(":")):
        return found
    try:
        name = str(_LOCALTIME.resolve()).partition("/zoneinfo/")[2]
        with _LOCALTIME.open("rb") as file:
            return _named(name) or ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC
