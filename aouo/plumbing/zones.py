"""Finds time zones by name, and that of this machine."""

from __future__ import annotations

import functools
import os
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

_LOCALTIME = Path("/etc/localtime")


def zone_of(name: str, default: str = "") -> tzinfo:
    """Return the zone of an IANA name, else of `default`, else of this machine.

    A name that this machine does not know is skipped.
    """
    for wanted in (name, default):
        if wanted and (found := _named(wanted)):
            return found
    return _of_this_machine()


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
        with _LOCALTIME.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC
