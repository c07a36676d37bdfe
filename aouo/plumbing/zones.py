"""Time zones by name, and the one of this machine."""

from __future__ import annotations

import functools
import os
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

_LOCALTIME = Path("/etc/localtime")


def zone_of(name: str, default: str = "") -> tzinfo:
    """The zone of an IANA name, or else of `default`, or else of this machine.

    A name that this machine does not know any more is passed over too.
    """
    for wanted in (name, default):
        if wanted and (found := _named(wanted)):
            return found
    return _of_this_machine()


def _named(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


@functools.cache
def _of_this_machine() -> tzinfo:
    """With its changes of the clock, which `astimezone()` alone would not know in advance."""
    if found := _named(os.environ.get("TZ", "").removeprefix(":")):
        return found
    try:
        with _LOCALTIME.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC
