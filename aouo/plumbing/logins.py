"""The login that an address may hold, as something to hide."""

from __future__ import annotations

import re
from urllib.parse import unquote

_LOGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^/\s:]*:([^/\s]+)@)", re.IGNORECASE)
SHORTEST_SECRET = 6
"""A shorter one would blank out ordinary words."""


def secrets_in(address: str) -> tuple[str, ...]:
    """The password of an address, as it is written and as it is meant; with one that is too short
    to be known by itself also all that stands before the host."""
    found = _LOGIN.match(address)
    if not found:
        return ()
    login, password = found[1], found[2]
    whole = (login,) if len(unquote(password)) < SHORTEST_SECRET else ()
    return password, unquote(password), *whole
