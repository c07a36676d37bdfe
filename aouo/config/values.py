"""Defines the kinds of values that keys of the configuration have, a bot token among them."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from aouo.facts.quiet_hours import QuietHours, parse_time

NO_SECRET = SecretStr("")


HARMLESS: Final = "harmless"
"""Marks a text that names no program, no path and no address: the local page may change it.

Numbers, switches and choices need no mark. A text without one is changed by `aouo config set`
only, so that a new key of that kind is closed until somebody has thought about it.
"""

Name: TypeAlias = Annotated[str, HARMLESS]
"""What a service, a tool or a person is called."""
Count: TypeAlias = Annotated[int, Field(ge=0)]
"""A whole number; 0 means off wherever the field says so."""
Positive: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(gt=0)]
Usd: TypeAlias = Annotated[float, Field(ge=0)]
Span: TypeAlias = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,6}[smhd]$"), HARMLESS]
"""A length of time such as `30m`, `24h` or `2d`."""
CountOrNone: TypeAlias = Annotated[
    Count, BeforeValidator(lambda value: 0 if value is None else value)
]


def _address(value: str) -> str:
    try:
        parts = urlsplit(value)
        complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port above 65535, half of an IPv6 address
        complete = False
    if not complete:
        raise ValueError("write it whole, such as http://127.0.0.1:11434/v1")
    return value


Address: TypeAlias = Annotated[str, AfterValidator(_address)]
"""Where a service answers."""


def _hours(value: str) -> str:
    QuietHours.parse(value)
    return value


def _time_of_day(value: str) -> str:
    parse_time(value)
    return value


Hours: TypeAlias = Annotated[str, AfterValidator(_hours), HARMLESS]
"""Quiet hours such as `22:00-08:00`, empty = none."""
TimeOfDay: TypeAlias = Annotated[str, AfterValidator(_time_of_day), HARMLESS]
"""Such as `08:00`."""


NO_BOT_TOKEN = "that is not a bot token; it looks like 123456:ABC…"
_TOKEN = re.compile(r"[0-9]{5,}:[A-Za-z0-9_-]{20,}")


def is_token(text: str) -> bool:
    """Whether a text has the form of a bot token."""
    return _TOKEN.fullmatch(text) is not None


def names_variable(text: str) -> bool:
    """Whether a value names an environment variable: `${NAME}`."""
    return text.startswith("${") and text.endswith("}")
