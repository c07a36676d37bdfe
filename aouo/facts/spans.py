"""Reads lengths of time as settings and packs write them: `90s`, `30m`, `24h`, `2d`."""

from __future__ import annotations

import re

_SPAN = re.compile(r"([1-9][0-9]{0,6})([smhd])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def span_s(text: str) -> int:
    """Return the seconds of a length of time.

    Raises:
        ValueError: it is none; the message says what to write.
    """
    found = _SPAN.fullmatch(text)
    if not found:
        raise ValueError("write it like 90s, 30m, 24h or 2d")
    return int(found[1]) * _UNIT_S[found[2]]
